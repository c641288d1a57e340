"""Drills on real brokers: they find what is wrong, touch nothing of production, and leave evidence."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.kit.drills import drill
from tests.kit.ends import Ends
from tests.kit.switches import commit_at, produce
from tests.kit.threads import engine_running
from typer.testing import CliRunner

from twinlog.errors import SelectionEmpty
from twinlog.ledger.reading import read_ledger
from twinlog.ledger.view import LedgerView
from twinlog.model.naming import DRILL_PREFIX
from twinlog.surface.cli.main import app

QUICK = {
    "emit_checkpoints_interval_seconds": "1",
    "sync_group_offsets_interval_seconds": "1",
    "refresh_groups_interval_seconds": "1",
    "rto_seconds": "100",
}


@pytest.mark.proves("R5")
def test_a_group_ahead_of_the_copy_passes_though_the_copy_goes_on_meanwhile(
    make_ends: Callable[..., Ends], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = make_ends()
    here, topic, group = ends.source_cluster.bootstrap_servers, ends.create("orders"), f"g{ends.alias}"
    ends.set(groups=group)
    produce(here, topic, range(100))
    with engine_running(ends.link, tmp_path):
        ends.await_copied()
        then = asyncio.run(read_ledger(ends.link))
        produce(here, topic, range(20))
        commit_at(here, group, topic, 115)
        ends.await_copied()

        async def ledger_of_then(_: object) -> LedgerView:
            return then

        # The position is translated while the copy ends at 100; the copy reaches 120 before the shadow reads.
        monkeypatch.setattr("twinlog.sync.answers.group_report.read_ledger", ledger_of_then)
        code, found = drill(ends, tmp_path, "--shadow")
    assert (code, found["verdict"], found["failures"], found["remarks"]) == (0, "passed", [], [])
    assert found["facts"]["records_compared"] == 5  # 115..119, behind what the group had read


def drill_groups(ends: Ends) -> list[str]:
    """Groups that a drill left behind."""
    listed = ends.target.ask(lambda client, timeout_s: {"": client.list_consumer_groups(request_timeout=timeout_s)})
    return [group.group_id for group in listed[""].valid if group.group_id.startswith(DRILL_PREFIX)]


@pytest.mark.proves("R5", "R7")
def test_shadows_of_groups_start_where_these_stopped_and_the_reports_are_chained(
    make_ends: Callable[..., Ends], tmp_path: Path
) -> None:
    ends = make_ends(**QUICK)
    here = ends.source_cluster.bootstrap_servers
    topic = ends.create("orders")
    group, other = f"g{ends.alias}", f"h{ends.alias}"
    ends.set(groups=f"{group},{other}")
    produce(here, topic, range(100))
    commit_at(here, group, topic, 60)
    commit_at(here, other, topic, 100)
    with engine_running(ends.link, tmp_path, with_chores=True):
        ends.await_copied()
        code, passed = drill(ends, tmp_path, "--shadow")
        assert (code, passed["failures"], passed["remarks"]) == (0, [], [])
        assert passed["facts"]["groups"] == 2
        assert passed["facts"]["records_compared"] == 40
        assert passed["rto_kept"] == "kept"
        assert drill_groups(ends) == []

        # A record that somebody else wrote into the copy is what no lag shows.
        assert produce(ends.target_cluster.bootstrap_servers, ends.remote(topic), range(1)) == []
        code, remarked = drill(ends, tmp_path, "--shadow", "--groups", group)
        assert (code, remarked["verdict"]) == (0, "passed with remarks")
        assert remarked["remarks"] == [f"{group}: {topic}-0: 1 of the records it reads were not written by this link"]

        reports_before = (tmp_path / "drills.jsonl").read_text()
        for arguments in (
            ["drill", "--shadow", "--groups", f"{group[:-1]}", "--report", str(tmp_path / "drills.jsonl")],
            ["rpo", "--topics", topic[:-1]],
            ["diff", "--topic", topic[:-1]],
            ["groups", "--group", group[:-1]],
            ["verify", "--topics", topic[:-1]],
        ):
            command, *rest = arguments
            answer = CliRunner().invoke(app, [command, ends.link.name, "-c", str(ends.write_file(tmp_path)), *rest])
            assert isinstance(answer.exception, SelectionEmpty), (arguments, answer.output)
            assert {"drill": group, "groups": group}.get(command, topic) in str(answer.exception)
        assert (tmp_path / "drills.jsonl").read_text() == reports_before  # a drill of nothing is no evidence

        code, paper = drill(ends, tmp_path, "--paper")
        assert "failover-planned" in paper["facts"]
        assert paper["facts"]["readiness"] > 50
        assert (paper["number"], paper["previous"]) == (3, remarked["hash"])

    answer = CliRunner().invoke(app, ["rpo", ends.link.name, "-c", str(ends.write_file(tmp_path)), "-o", "json"])
    assert json.loads(answer.stdout)["last_drill"]["hash"] == paper["hash"]
    assert drill(ends, tmp_path, "--check")[0] == 0
    reports = tmp_path / "drills.jsonl"
    whole = reports.read_text()
    reports.write_text(whole.splitlines()[0] + "\n")
    code, cut = drill(ends, tmp_path, "--check")
    assert (code, [one["problem"] for one in cut["breaks"]]) == (
        1,
        ["the last report that the ledger knows of is missing"],
    )
    reports.write_text(whole.replace('"records_compared": 40', '"records_compared": 41'))
    assert drill(ends, tmp_path, "--check")[1]["breaks"][0]["problem"] == "it was changed after it was written"
