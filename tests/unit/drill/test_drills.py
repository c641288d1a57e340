"""Drills: whose topics they are, what they conclude, where their reports go, when they are repeated."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.kit.settings_text import link, resolved
from typer.testing import CliRunner

from twinlog.config.pair import resolve_pair
from twinlog.doctor.answers import Diagnosis
from twinlog.drill.canary import canary_pair
from twinlog.drill.outcome import DrillOutcome, report_of
from twinlog.drill.paper import paper_outcome
from twinlog.drill.reports import Reports
from twinlog.drill.run import shadow_outcome
from twinlog.drill.shadow import ShadowResult
from twinlog.errors import EvidenceBroken
from twinlog.model.drills.shadow import ShadowVerdict
from twinlog.model.health.objectives import Objective, Objectives
from twinlog.model.ledger.records import ledger_topic, transactional_id
from twinlog.model.names import LinkName, TopicPartition
from twinlog.model.selection import Internal, Patterns, replicates, verdict
from twinlog.model.switch.plan import AtRisk, Plan, PlannedStep
from twinlog.surface.cli.commands.drill import _print
from twinlog.surface.cli.main import app
from twinlog.surface.cli.output import Output

FILE = b"""\
clusters = A, B
A.bootstrap.servers = a:9092
B.bootstrap.servers = b:9092
A->B.enabled = true
A->B.redirects = tell
A->B.redirects.tell.type = command
A->B.redirects.tell.command = /bin/true
"""
PLACE = TopicPartition("orders", 0)


def diagnosis(name: str, verdict_: str) -> Diagnosis:
    return Diagnosis(name, "theme", verdict_, "seen", "why", "mend")  # type: ignore[arg-type]


# --- the canary is nobody else's --------------------------------------------------------------------------------------


def test_the_topic_of_a_drill_is_mirrored_by_the_drill_and_by_nobody_else() -> None:
    production = link("topics = .*")
    drills = canary_pair(resolve_pair(FILE, "f", "A->B", {}), "twinlog-drill-1").link
    for name in ("twinlog-drill-1", "twinlog-drill-other"):
        why = verdict(name, production.source, production.target, production.topics, production.naming)
        assert why == Internal("Twinlog")
    assert replicates("twinlog-drill-1", drills.source, drills.target, drills.topics, drills.naming)
    assert not replicates("orders", drills.source, drills.target, drills.topics, drills.naming)


def test_a_canary_shares_nothing_with_production_but_the_clusters() -> None:
    pair = resolve_pair(FILE, "f", "A->B", {})
    canary = canary_pair(pair, "twinlog-drill-1")
    assert pair.link.switch.redirects
    for one, real in ((canary.link, pair.link), (canary.back, pair.back)):
        assert one.clients.source_consumer == real.clients.source_consumer
        assert one.clients.target_producer == real.clients.target_producer
        assert ledger_topic(one.source) != ledger_topic(real.source)
        assert transactional_id(one.source, one.target, 0) != transactional_id(real.source, real.target, 0)
        assert one.naming.remote(one.source, "twinlog-drill-1") == "twinlog-drill-1"
        assert not one.groups.matches("billing")
        assert one.switch.redirects == ()
    assert (canary.link.source, canary.link.target) == (canary.back.target, canary.back.source)
    assert resolved().links[0].name == "A->B"


# --- conclusions ------------------------------------------------------------------------------------------------------


def test_a_paper_drill_fails_on_a_refused_plan_and_on_what_the_doctor_fails() -> None:
    plan = Plan(
        "failover-planned",
        LinkName("A", "B"),
        (PlannedStep("fence", "Shut producers out"),),
        AtRisk(3, 300, 1.5, 2),
        warnings=("no redirect is set",),
    )
    checks = [diagnosis("one", "ok"), diagnosis("two", "fail"), diagnosis("three", "warn"), diagnosis("four", "ok")]
    found = paper_outcome({"failover-planned": plan, "failover-unplanned": "the link never ran"}, checks)
    assert found.verdict == "failed"
    assert found.failures == ["failover-unplanned would be refused: the link never ran", "two: seen; try: mend"]
    assert found.remarks == ["failover-planned: no redirect is set", "three: seen; try: mend"]
    assert found.facts["readiness"] == 50
    assert found.facts["failover-planned"]["at_risk"]["records"] == 3
    assert paper_outcome({"failover-planned": plan}, checks[:1]).verdict == "passed with remarks"


def test_a_shadow_drill_fails_on_a_group_that_would_not_go_on_where_it_stopped() -> None:
    good = ShadowVerdict("g", PLACE, PLACE, 5, 5, compared=7)
    bad = ShadowVerdict("h", PLACE, PLACE, 5, 6, skipped=[5])
    assert shadow_outcome(ShadowResult([good], steps=[("read", 0.5)])).verdict == "passed"
    found = shadow_outcome(ShadowResult([good, bad], ["x: no place"], [("read", 0.5), ("written", 0.25)]))
    assert (found.verdict, found.rto_seconds, found.remarks) == ("failed", 0.75, ["x: no place"])
    assert found.failures == [bad.says()]


def test_a_shadow_drill_that_tried_nothing_failed_and_measured_no_recovery() -> None:
    nothing = shadow_outcome(ShadowResult(findings=["g: orders-0: no place on the target"]))
    assert (nothing.verdict, nothing.rto_seconds) == ("failed", None)
    assert not ShadowResult().passed


def test_a_paper_drill_shows_its_readiness_in_percent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outcome = paper_outcome({}, [diagnosis("one", "ok"), diagnosis("two", "warn")])
    report = Reports(tmp_path / "drills.jsonl").append(report_of(outcome, "A->B", None, Objectives(()), 0))
    _print(report, tmp_path / "drills.jsonl", Output.TABLE)
    assert "readiness: 50% (1 of 2 checks are in order)" in capsys.readouterr().out


@pytest.mark.proves("R7")
def test_a_report_never_tells_unknown_as_nothing() -> None:
    objectives = Objectives((), Objective("default", Patterns((".*",)), None, 60))
    report = report_of(DrillOutcome("paper"), "A->B", None, objectives, 0)
    assert (report["rpo"]["records"], report["rpo"]["seconds"]) == (None, None)
    assert (report["rto_seconds"], report["rto_kept"]) == (None, "unknown")


def test_a_drill_that_could_not_begin_is_told_with_its_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outcome = DrillOutcome("shadow", failures=["A->B: the link never ran"])
    report = Reports(tmp_path / "drills.jsonl").append(report_of(outcome, "A->B", None, Objectives(()), 0))
    _print(report, tmp_path / "drills.jsonl", Output.TABLE)
    assert "the link never ran" in capsys.readouterr().out


# --- reports ----------------------------------------------------------------------------------------------------------


def test_reports_are_chained_and_a_broken_chain_is_not_gone_on_with(tmp_path: Path) -> None:
    reports = Reports(tmp_path / "deep" / "drills.jsonl")
    first, second = reports.append({"verdict": "passed"}), reports.append({"verdict": "failed"})
    assert second["previous"] == first["hash"]
    assert reports.breaks(second["hash"]) == []
    reports.path.write_text(reports.path.read_text().replace("failed", "passed"))
    with pytest.raises(EvidenceBroken, match="line 2: it was changed"):
        reports.append({"verdict": "passed"})
    assert len(reports.read()) == 2


def test_the_chain_is_checked_without_any_cluster(tmp_path: Path) -> None:
    path = tmp_path / "drills.jsonl"
    check = ["drill", "--check", "--report", str(path)]
    assert CliRunner().invoke(app, check).exit_code == 1
    Reports(path).append({"verdict": "passed"})
    good = CliRunner().invoke(app, check)
    assert (good.exit_code, "1 reports, an unbroken chain" in good.stdout) == (0, True)
    path.write_text(path.read_text().replace("passed", "failed"))
    bad = CliRunner().invoke(app, [*check, "-o", "json"])
    assert (bad.exit_code, json.loads(bad.stdout)["breaks"][0]["line"]) == (1, 1)


# --- schedules --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cron", ["0 4 * * 1", "*/15 0-6 1,15 * MON-FRI", "@daily"])
def test_a_schedule_becomes_a_line_for_crontab(cron: str, tmp_path: Path) -> None:
    file = tmp_path / "my links.properties"
    words = ["drill", "A->B", "-c", str(file), "--shadow", "--report", str(tmp_path / "r%"), "--schedule", cron]
    answer = CliRunner().invoke(app, words)
    assert answer.exit_code == 0
    assert answer.stdout.startswith(f"{cron} twinlog drill 'A->B' -c '{file}' --shadow --report ")
    assert r"r\%" in answer.stdout


@pytest.mark.parametrize(
    "words",
    [
        ["drill"],
        ["drill", "A->B", "-c", "f"],
        ["drill", "A->B", "-c", "f", "--paper", "--shadow"],
        ["drill", "A->B", "-c", "f", "--paper", "--schedule", "now; rm -rf /"],
        ["drill", "A->B", "-c", "f", "--paper", "--schedule", "0 4 * *"],
        ["drill", "A->B", "-c", "f", "--shadow", "--groups", "("],
    ],
)
def test_a_wrong_command_starts_nothing(words: list[str]) -> None:
    answer = CliRunner().invoke(app, words)
    assert type(answer.exception).__name__ == "UsageError"
