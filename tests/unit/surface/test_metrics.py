"""What Prometheus reads: names, numbers, bounded labels; and that dashboards and alerts use nothing else."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families
from tests.kit.observed_state import app_state_of
from tests.kit.paper_backend import PaperBackend
from tests.kit.paper_pipelines import paper_engine

from twinlog.control.states import ConnectorStatus
from twinlog.model.ledger.stage_times import STAGES
from twinlog.model.switch.log import StateEntry
from twinlog.recovery.switching import Standing
from twinlog.surface.answers.links import summary_of
from twinlog.surface.answers.lists import group_part, partition_part
from twinlog.surface.answers.rows import topics_of
from twinlog.surface.answers.tables import Wish
from twinlog.surface.http.app_state import AppState
from twinlog.surface.metrics import prometheus as metrics
from twinlog.surface.metrics.prometheus import MetricsWish, render

DEPLOY = Path(__file__).parents[3] / "deploy"
RULES = DEPLOY / "prometheus" / "twinlog-alerts.yml"
TESTS = DEPLOY / "prometheus" / "twinlog-alerts.test.yml"
ALWAYS = {"up", "ALERTS"}
NAME = re.compile(r"\b(?:twinlog|process|kafka|up|ALERTS)\w*\b(?=[{\[\s)=<>]|$)")


def samples(app_state: AppState, **wish: bool) -> dict[str, list[tuple[dict[str, str], float]]]:
    found: dict[str, list[tuple[dict[str, str], float]]] = {}
    for family in text_string_to_metric_families(render(app_state, MetricsWish(**wish)).decode()):
        for sample in family.samples:
            found.setdefault(sample.name, []).append((sample.labels, sample.value))
    return found


def series(app_state: AppState, **wish: bool) -> int:
    return sum(not line.startswith(b"#") for line in render(app_state, MetricsWish(**wish)).splitlines())


@pytest.fixture(scope="module")
def app_state() -> AppState:
    return app_state_of(PaperBackend())


def value(found: dict[str, list[tuple[dict[str, str], float]]], name: str, **labels: str) -> float:
    (one,) = [number for have, number in found[name] if labels.items() <= have.items()]
    return one


def test_numbers_are_those_of_the_link(app_state: AppState) -> None:
    found = samples(app_state)
    status = app_state.snapshot("east->west").status
    assert status is not None
    link = {"link": "east->west"}
    assert value(found, "twinlog_link_state", state="DEGRADED", **link) == 1
    assert value(found, "twinlog_link_state", state="RUNNING", **link) == 0
    assert value(found, "twinlog_replication_lag_records", **link) == status.lag
    assert value(found, "twinlog_records_total", **link) == sum(part.records for part in status.partitions)
    assert value(found, "twinlog_faults", code="OFFSET_GAP", **link) == 1
    assert value(found, "twinlog_partitions", state="FAULTED", **link) == 1
    assert value(found, "twinlog_rpo_seconds", **link) == pytest.approx(0.8, abs=0.3)
    assert value(found, "twinlog_group_positions", translation="untranslatable", **link) == 1
    assert value(found, "twinlog_translation_reread_records", **link) == 6 * 7
    assert value(found, "twinlog_canary_latency_seconds_count", **link) == 1
    assert value(found, "twinlog_active", cluster="east", **link) == 1
    assert found["process_resident_memory_bytes"]


def test_what_nobody_knows_has_no_series() -> None:
    app_state = app_state_of(PaperBackend())
    app_state.monitor.snapshots["east->west"].trouble = "west: no broker answers"
    found = samples(app_state)
    assert value(found, "twinlog_link_state", link="east->west", state="UNKNOWN") == 1
    for name in ("twinlog_replication_lag_records", "twinlog_rpo_seconds"):
        assert [labels["link"] for labels, _ in found[name]] == ["east->archive", "west->east"]
    for name in ("twinlog_partitions", "twinlog_faults"):
        assert "east->west" not in {labels["link"] for labels, _ in found.get(name, [])}
    for name in ("record_rate", "replication_latency_ms"):
        rates = found[f"kafka_connect_mirror_mirrorsourceconnector_{name}"]
        assert {(have["source"], have["target"]) for have, _ in rates} == {("east", "archive"), ("west", "east")}
    assert value(found, "twinlog_records_total", link="east->west") > 0  # what was copied stays copied


@pytest.mark.proves("R14")
def test_a_link_that_was_switched_has_no_lag_and_nothing_at_risk() -> None:
    """That the side which was left is copied must not look as if the active side had a copy."""
    app_state = app_state_of(PaperBackend())
    snapshot = app_state.monitor.snapshots["east->west"]
    assert snapshot.status is not None
    assert snapshot.status.engine is not None
    engine = snapshot.status.engine.model_copy(update={"phase": "switched"})
    snapshot.take(dataclasses.replace(snapshot.status, engine=engine))
    found = samples(app_state)
    assert value(found, "twinlog_link_state", link="east->west", state="SWITCHED") == 1
    for name in ("replication_lag_records", "rpo_seconds", "rpo_records", "objectives_broken", "topic_lag_records"):
        assert "east->west" not in {labels["link"] for labels, _ in found.get(f"twinlog_{name}", [])}, name
    assert (summary_of(snapshot).rpo, summary_of(snapshot).lag_records) == (None, None)
    assert snapshot.switches is not None
    assert "twinlog_without_copy" not in found  # east is active: a switch has only begun
    decided = StateEntry(pair="east<->west", generation=2, active="west", links={})
    snapshot.switches = Standing(decided, None, ())
    backward = app_state.monitor.snapshots["west->east"]
    backward.trouble = "west: no broker answers"
    assert value(samples(app_state), "twinlog_without_copy", link="east->west", cluster="west") == 1
    backward.trouble = None
    assert "twinlog_without_copy" not in samples(app_state)  # the way back copies
    assert {row.state for row in topics_of(snapshot)} == {"SWITCHED", "FAULTED"}
    assert {row.state for row in partition_part(app_state, "east->west", Wish(), None).rows} == {"SWITCHED", "FAULTED"}
    assert {row.movement for row in group_part(app_state, "east->west", Wish()).rows} == {"SWITCHED"}


def test_mirrormakers_names_have_its_labels(app_state: AppState) -> None:
    prefix = "kafka_connect_mirror_mirrorsourceconnector"
    found = samples(app_state)
    for name in (
        "record_count",
        "record_rate",
        "byte_count",
        "byte_rate",
        "record_age_ms_max",
        "replication_latency_ms",
    ):
        labels = [have for have, _ in found[f"{prefix}_{name}"]]
        assert {frozenset(have) for have in labels} == {frozenset({"source", "target", "topic", "partition"})}
    by_partition = samples(app_state, partitions=True)
    where = {"source": "east", "target": "west", "topic": "east.payments", "partition": "3"}
    assert value(by_partition, f"{prefix}_record_count", **where) > 0
    lag = "kafka_consumer_fetch_manager_records_lag"
    client = '"east->west|east->west.MirrorSourceConnector-0|replication-consumer"'
    assert value(by_partition, lag, clientid=client, topic="payments", partition="3") == 151
    assert not any(name.startswith("kafka_") for name in samples(app_state, mirrormaker=False))


OF_STRIMZI = {
    "by JMX": [
        "kafka_connect_worker_connector_count",
        "kafka_connect_worker_task_count",
        "kafka_connect_worker_rebalance_rebalancing",
        "kafka_connect_coordinator_assigned_connectors",
        "kafka_connect_coordinator_assigned_tasks",
        ("kafka_consumer_fetch_manager_records_lag", "clientid", r'.*replication-consumer"'),
        "kafka_consumer_incoming_byte_total",
        "kafka_producer_outgoing_byte_total",
        ("kafka_connect_connector_status", "connector", r'".*SourceConnector"'),
        "kafka_connect_worker_connector_failed_task_count",
    ],
    "by its reporter": [
        "kafka_connect_connect_worker_metrics_connector_count",
        "kafka_connect_connect_worker_metrics_task_count",
        "kafka_connect_connect_worker_rebalance_metrics_rebalancing",
        "kafka_connect_connect_coordinator_metrics_assigned_connectors",
        "kafka_connect_connect_coordinator_metrics_assigned_tasks",
        ("kafka_consumer_consumer_fetch_manager_metrics_records_lag", "client_id", r".*replication-consumer"),
        "kafka_consumer_consumer_metrics_incoming_byte",
        "kafka_producer_producer_metrics_outgoing_byte",
    ],
}
"""What the expressions of its dashboards and alerts choose, apart from the JVM, Java's buffers and offset commits."""


@pytest.mark.parametrize("dialect", OF_STRIMZI)
def test_the_dashboards_of_strimzi_find_all_that_has_a_meaning_here(app_state: AppState, dialect: str) -> None:
    found = samples(app_state)
    for wanted in OF_STRIMZI[dialect]:
        name, label, pattern = (wanted, "", "") if isinstance(wanted, str) else wanted
        chosen = [have for have, _ in found[name] if not label or re.fullmatch(pattern, have[label])]
        assert chosen, (name, found[name])
    for prefix in ("record_age_ms", "replication_latency_ms"):
        for part in ("", "_avg", "_min", "_max"):
            assert found[f"kafka_connect_mirror_mirrorsourceconnector_{prefix}{part}"]


def test_mirrormakers_numbers_are_ours(app_state: AppState) -> None:
    found = samples(app_state)
    for part in ("", "_avg", "_min", "_max"):
        name = f"kafka_connect_mirror_mirrorcheckpointconnector_checkpoint_latency_ms{part}"
        assert value(found, name, source="east", target="west") == 120  # a round is counted once, not once a group
    copied = value(found, "twinlog_bytes_total", link="east->west")
    client = "east->west|east->west.MirrorSourceConnector-0|replication-"
    for end, byte in (("consumer", "incoming"), ("producer", "outgoing")):
        assert value(found, f"kafka_{end}_{byte}_byte_total", clientid=f'"{client}{end}"') == copied
        assert value(found, f"kafka_{end}_{end}_metrics_{byte}_byte", client_id=f"{client}{end}") == copied


def test_connectors_are_counted_as_they_are_listed() -> None:
    backend = PaperBackend()
    backend.connectors = lambda: {  # type: ignore[method-assign]
        "east->west.MirrorSourceConnector": ConnectorStatus("RUNNING", None, 2, "RUNNING"),
        "plain": ConnectorStatus("PAUSED", None, 1, "PAUSED"),
        "stopped": ConnectorStatus("STOPPED"),
        "broken": ConnectorStatus("FAILED", "no such file", 0),
    }
    found = samples(app_state_of(backend))
    assert value(found, "kafka_connect_worker_connector_count") == 4
    assert value(found, "kafka_connect_coordinator_assigned_tasks") == 4
    states = {(have["connector"], have["task"], have["status"]) for have, _ in found["kafka_connect_connector_status"]}
    assert states == {
        ('"east->west.MirrorSourceConnector"', "0", "running"),
        ('"east->west.MirrorSourceConnector"', "1", "running"),
        ("plain", "0", "paused"),
        ("broken", "0", "failed"),
    }
    failed = "kafka_connect_worker_connector_failed_task_count"
    assert {have["connector"]: number for have, number in found[failed] if number} == {"broken": 1}


def test_ten_thousand_partitions_have_no_more_series_than_their_topics() -> None:
    few, many = (app_state_of(PaperBackend(topics=100, partitions=number)) for number in (1, 100))
    faults = 1  # payments-3, which is not there with one partition each
    assert series(many) - series(few) == faults


def test_series_per_partition_are_there_when_asked_for(app_state: AppState) -> None:
    partitions = 8 * 6 * 3
    grown = series(app_state, partitions=True) - series(app_state)
    assert grown == 14 * (partitions - 8 * 3)  # records, bytes, rates, ages, latencies and lag, less those per topic


def test_stages_are_histograms_of_records(app_state: AppState) -> None:
    found = samples(app_state)
    for stage in STAGES:
        where = {"link": "east->west", "stage": stage}
        assert value(found, "twinlog_stage_latency_seconds_count", **where) == 200
        assert value(found, "twinlog_stage_latency_seconds_bucket", le="+Inf", **where) == 200
    where = {"link": "east->west", "stage": "copied"}
    assert value(found, "twinlog_stage_latency_seconds_bucket", le="0.01", **where) == 196
    assert value(found, "twinlog_stage_latency_seconds_sum", **where) == pytest.approx(196 * 0.009 + 4 * 0.036)
    assert value(found, "twinlog_epochs_total", link="east->west") == 12


def test_series_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "MOST_TOPICS", 20)
    app_state = app_state_of(PaperBackend(topics=25, partitions=1))
    found = samples(app_state, mirrormaker=False)
    per_link = len(found["twinlog_topic_lag_records"]) / 3
    mirrored = render(app_state, MetricsWish(topics=False)).count(
        b"\nkafka_connect_mirror_mirrorsourceconnector_byte_rate{"
    )
    assert mirrored / 3 == 20 + 1
    assert per_link == 20 + 1
    assert value(found, "twinlog_topic_records_total", link="east->west", topic="(others)") > 0
    assert "twinlog_topic_lag_records" not in samples(app_state, topics=False, mirrormaker=False)


def names_in(expression: str) -> set[str]:
    return set(NAME.findall(re.sub(r'"[^"]*"', '""', expression))) - ALWAYS


def known_names(app_state: AppState) -> set[str]:
    orders = paper_engine(failed=1)
    orders.progress.moved_at = 1.0
    cast("PaperBackend", app_state.backend).pipelines.running.append(orders)
    asyncio.run(app_state.pipeline_watch.look())
    meter = app_state.pipeline_watch.meter("orders")
    meter.records_per_second, meter.lag_records, meter.lag_seconds = 1.0, 1, 1.0
    # Of a cluster that returns, of one without a copy, and of a collector; the paper has none of them.
    return {*samples(app_state), "twinlog_fence_pending", "twinlog_without_copy", "twinlog_otel_failures"}


def test_alerts_and_dashboard_use_only_what_is_exported(app_state: AppState) -> None:
    known = known_names(app_state)
    for rule in rules():
        assert names_in(rule["expr"]) - known == set(), rule["alert"]
    panels = json.loads((DEPLOY / "grafana" / "twinlog.json").read_text())["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    for panel in panels:
        for target in panel.get("targets", ()):
            assert names_in(target["expr"]), target
            assert names_in(target["expr"]) - known == set(), panel["title"]


def rules() -> Iterator[dict[str, Any]]:
    for group in yaml.safe_load(RULES.read_text())["groups"]:
        yield from group["rules"]


def test_every_rule_has_a_test_in_which_it_fires() -> None:
    fired = {
        case["alertname"]
        for test in yaml.safe_load(TESTS.read_text())["tests"]
        for case in test["alert_rule_test"]
        if case["exp_alerts"]
    }
    assert fired == {rule["alert"] for rule in rules()}
    assert all(rule["labels"]["severity"] in {"critical", "warning"} for rule in rules())


def promtool() -> str | None:
    unpacked = DEPLOY.parent / ".state" / "promtool" / "promtool"
    return os.environ.get("PROMTOOL") or shutil.which("promtool") or (str(unpacked) if unpacked.exists() else None)


@pytest.mark.skipif(promtool() is None, reason="no promtool; `make promtool` unpacks Debian's")
def test_every_rule_fires_in_prometheus_own_judgement() -> None:
    tool = promtool() or ""
    done = subprocess.run(
        [tool, "test", "rules", TESTS.name], cwd=TESTS.parent, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(promtool() is None, reason="no promtool; `make promtool` unpacks Debian's")
def test_prometheus_finds_nothing_wrong_with_our_own_names(app_state: AppState) -> None:
    text = render(app_state, MetricsWish(mirrormaker=False))
    done = subprocess.run([promtool() or "", "check", "metrics"], input=text, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
