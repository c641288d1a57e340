"""How long records take, stage by stage, as anybody can see it who looks at a link from outside."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Producer
from tests.kit.ends import Ends
from tests.kit.threads import engine_running
from tests.kit.waiting import wait_until
from typer.testing import CliRunner

from twinlog.model.health.states import LinkStatus
from twinlog.model.ledger.stage_times import STAGES
from twinlog.service import observer
from twinlog.surface.cli.main import app
from twinlog.watch.observe import Observer


def look(observers: Observer) -> LinkStatus:
    return asyncio.run(observers.look())


def send(ends: Ends, topic: str, records: int) -> None:
    producer = Producer({"bootstrap.servers": ends.link.clients.source_admin.bootstrap_servers[0]})
    for number in range(records):
        producer.produce(topic, f"{number}".encode())
    assert producer.flush(30) == 0


def await_whole(observers: Observer, records: int) -> LinkStatus:
    """Until so many records are counted from their own time to the ledger."""
    return wait_until(
        lambda: look(observers),
        lambda seen: "whole" in seen.stage_totals and seen.stage_totals["whole"].count >= records,
        within_s=30,
        what=f"{records} records through all stages",
    )


def asked(ends: Ends, folder: Path, form: str) -> str:
    answer = CliRunner().invoke(app, ["status", "-c", str(ends.write_file(folder)), "-o", form])
    assert answer.exit_code == 0, answer.output
    return answer.stdout


@pytest.mark.proves("R7")
def test_every_new_record_is_counted_in_every_stage_and_history_is_not(
    make_ends: Callable[..., Ends], tmp_path: Path
) -> None:
    ends = make_ends()
    topic = ends.create("timed")
    send(ends, topic, 50)  # before the link begins: their age says nothing of it
    observers = observer(ends.link)
    with engine_running(ends.link, tmp_path):
        ends.await_copied(topic)
        send(ends, topic, 30)
        status = await_whole(observers, 30)
        assert set(status.stage_totals) == set(STAGES)
        counts = {stage: durations.count for stage, durations in status.stage_totals.items()}
        assert counts["fetch"] == counts["copied"] == counts["whole"] == 30
        assert counts["parcel"] == counts["queue"] == counts["produce"] == counts["note"] >= 80
        # Stages follow each other: none is longer than the way it is a part of.
        parts = [status.stage_totals[stage].total_us / counts[stage] for stage in ("copied", "whole")]
        assert 0 < parts[0] <= parts[1]
        told = json.loads(asked(ends, tmp_path, "json"))[0]["stages"]
        assert list(told) == list(STAGES)
        assert told["copied"]["records"] == 30
        assert 0 < told["copied"]["p50_ms"] <= told["copied"]["p99_ms"]
        assert "ms (p50 / p99)" in asked(ends, tmp_path, "wide")
    with engine_running(ends.link, tmp_path):
        send(ends, topic, 5)
        after = await_whole(observers, 35)  # what the owners before had counted is not forgotten
        assert after.stage_totals["copied"].count == 35
        assert look(observer(ends.link)).stages["copied"].count == 5
