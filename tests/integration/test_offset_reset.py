"""`twinlog reset-offsets` on a real broker: planned first, written on demand, refused for a group that is at work."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition
from tests.kit.ends import Ends
from tests.kit.waiting import wait_until
from typer.testing import CliRunner, Result

from twinlog.errors import GroupActive, UsageError
from twinlog.surface.cli.main import app

MakeEnds = Callable[..., Ends]


def twinlog(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def committed(ends: Ends, group: str, topic: str, partitions: int) -> list[int]:
    servers, client = ends.source_logs
    consumer = Consumer({**client, "bootstrap.servers": servers, "group.id": group})
    try:
        return [p.offset for p in consumer.committed([TopicPartition(topic, n) for n in range(partitions)], 20)]
    finally:
        consumer.close()


@pytest.mark.proves("R14")
def test_positions_are_planned_written_exported_and_put_back(make_ends: MakeEnds, tmp_path: Path) -> None:
    ends = make_ends()
    topic = ends.create("orders", 2)
    ends.load(topic, 2).produce(100)
    ends.delete_records(topic, 1, 20)
    file = str(ends.write_file(tmp_path))
    of = ("reset-offsets", "--cluster", ends.alias, "-c", file, "--group", "billing")

    plan = twinlog(*of, "--topic", topic, "--to-offset", "10", "-o", "json")
    assert plan.exit_code == 0, plan.exception
    rows = json.loads(plan.stdout)["resets"]
    assert [(row["partition"], row["offset"], row["new_offset"]) for row in rows] == [(0, None, 10), (1, None, 20)]
    assert "10 is before the log" in rows[1]["note"]
    assert committed(ends, "billing", topic, 2) == [-1001, -1001]

    assert twinlog(*of, "--topic", topic, "--to-offset", "10", "--execute").exit_code == 0
    assert committed(ends, "billing", topic, 2) == [10, 20]
    saved = tmp_path / "saved.csv"
    saved.write_text(twinlog(*of, "--all-topics", "--to-current", "--export").stdout)
    assert saved.read_text() == f"{topic},0,10\n{topic},1,20\n"
    assert twinlog(*of, "--topic", f"{topic}:0", "--by-duration", "PT0S", "--execute").exit_code == 0
    assert committed(ends, "billing", topic, 2) == [50, 20]
    assert twinlog(*of, "--from-file", str(saved), "--execute").exit_code == 0
    assert committed(ends, "billing", topic, 2) == [10, 20]

    servers, client = ends.source_logs
    consumer = Consumer({**client, "bootstrap.servers": servers, "group.id": "billing", "client.id": "till-7"})
    try:
        consumer.subscribe([topic])
        wait_until(lambda: consumer.poll(0.1), lambda _: bool(consumer.assignment()), within_s=30, what="a member")
        refused = twinlog(*of, "--topic", topic, "--to-earliest", "--execute")
    finally:
        consumer.close()
    assert isinstance(refused.exception, GroupActive)
    assert f"billing: it is active on {ends.alias}" in str(refused.exception)
    assert "till-7 on" in str(refused.exception)
    unclear = twinlog(*of, "--topic", topic, "--to-earliest", "--to-latest")
    assert isinstance(unclear.exception, UsageError)
    assert "--to-earliest and --to-latest" in str(unclear.exception)
