"""Writing for a source: records and their position in one transaction, nothing from a reader that began elsewhere."""

from __future__ import annotations

import json
from typing import Any
from unittest import mock

import pyarrow as pa
import pytest

from twinlog.config.settings import ClientSettings
from twinlog.pipelines import write_kafka
from twinlog.pipelines.api import Owner
from twinlog.pipelines.offsets_topic import StoredOffset
from twinlog.pipelines.run import ErrorSettings, SourceRun
from twinlog.pipelines.settings import read_settings
from twinlog.pipelines.task_line import LineAddress
from twinlog.pipelines.topic_creation import TopicCreation
from twinlog.pipelines.write_kafka import RecordRefused, SourceWriter, StaleStart

KEY = '["c",{"filename":"f"}]'
CLUSTER = ClientSettings(cluster="kafka", bootstrap_servers=("x:1",))
HEADERS: Any = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
ERROR: Any = pa.struct([(name, pa.string()) for name in ("stage", "class", "exception", "message")])


class PaperLog:
    """Transactions: what was committed, and what is open."""

    def __init__(self) -> None:
        self.committed: list[list[tuple[str, bytes | None, bytes | None]]] = []
        self.open_one: list[tuple[str, bytes | None, bytes | None]] | None = None
        self.opened = False

    def open(self) -> None:
        self.opened = True

    def begin(self) -> None:
        assert self.open_one is None
        self.open_one = []

    def send(self, topic: str, key: bytes | None, value: bytes | None, **_: Any) -> None:
        assert self.open_one is not None
        self.open_one.append((topic, key, value))

    def send_all(self, topic: str, count: int, keys: Any, values: Any, times_ms: Any) -> None:
        del times_ms
        for key, value in zip(keys or [None] * count, values or [None] * count, strict=True):
            self.send(topic, key, value)

    def serve(self) -> None:
        pass

    def flush(self) -> dict[Any, Any]:
        return {}

    def commit(self) -> None:
        assert self.open_one is not None
        self.committed.append(self.open_one)
        self.open_one = None

    def abort(self) -> None:
        self.open_one = None


class PaperLine:
    """Takes reports."""

    def __init__(self) -> None:
        self.reports: list[dict[str, Any]] = []

    def send(self, **facts: Any) -> None:
        self.reports.append(facts)


def run_of(**errors: str) -> SourceRun:
    return SourceRun(
        Owner("c", 1), "x", {}, CLUSTER, "g", "offsets", 1, (), ((),),
        {}, read_settings(ErrorSettings, {key.replace("_", "."): value for key, value in errors.items()}),
        LineAddress("", 0, ""), 1000, 100, commit_ms=3_600_000,
    )  # fmt: skip


def rows_of(*rows: Any) -> pa.RecordBatch:
    """Text is a record, a mapping is a mark, an exception is a record that the plan refuses, None is an empty row."""
    is_record = [isinstance(one, str | Exception) for one in rows]
    refused = {"stage": "TRANSFORMATION", "class": "x", "exception": "e"}
    errors = [{**refused, "message": str(one)} if isinstance(one, Exception) else None for one in rows]
    return pa.RecordBatch.from_pydict(
        {
            "topic": pa.array(["t" if one else None for one in is_record], pa.string()),
            "timestamp": pa.nulls(len(rows), pa.int64()),
            "headers": pa.nulls(len(rows), HEADERS),
            "mark": pa.array([json.dumps(one) if isinstance(one, dict) else None for one in rows], pa.string()),
            "error": pa.array(errors, ERROR),
            "drop": pa.array([one == "drop" for one in rows], pa.bool_()),
            "key": pa.nulls(len(rows), pa.binary()),
            "value": pa.array([one.encode() if isinstance(one, str) else None for one in rows], pa.binary()),
        }
    )


def written(
    log: PaperLog, *batches: pa.RecordBatch, stored: dict[str, Any] | None = None, **errors: str
) -> tuple[dict[str, Any], PaperLine]:
    line = PaperLine()
    kept = [] if stored is None else [StoredOffset(KEY.encode(), {"filename": "f"}, stored)]
    topic = mock.Mock(read=lambda *_: kept)
    with (
        mock.patch.object(write_kafka, "RecordWriter", return_value=log),
        mock.patch.object(write_kafka, "OffsetsTopic", return_value=topic),
        mock.patch.object(TopicCreation, "ensure"),
        mock.patch.object(write_kafka, "ensure_topic"),
    ):
        return SourceWriter(run_of(**errors), 0, line).write(batches), line  # type: ignore[arg-type]


def mark(start: Any, after: int) -> dict[str, Any]:
    return {"key": KEY, "start": start, "next": {"position": after}}


@pytest.mark.proves("R30")
def test_records_and_their_position_are_in_one_transaction() -> None:
    log = PaperLog()
    batch = rows_of("a", "drop", "b", mark(None, 2), "c", mark({"position": 2}, 3), {"caught_up": True}, None)
    ends, line = written(log, batch)
    assert log.committed == [
        [("t", None, b"a"), ("t", None, b"b"), ("t", None, b"c"), ("offsets", KEY.encode(), b'{"position":3}')]
    ]
    assert ends == {KEY: {"position": 3}}
    (counts,) = [one["counts"] for one in line.reports if "counts" in one]
    assert counts == {"written": 3, "dropped": 1}


def test_records_without_a_position_behind_them_are_given_up() -> None:
    log = PaperLog()
    written(log, rows_of("a", mark(None, 1), {"caught_up": True}), rows_of("b"))
    assert [[value for _, _, value in one] for one in log.committed] == [[b"a", b'{"position":1}']]
    assert log.open_one is None


@pytest.mark.proves("R30")
def test_a_reader_that_began_before_an_older_writer_ended_is_refused() -> None:
    log = PaperLog()
    with pytest.raises(StaleStart):
        written(log, rows_of("a", mark(None, 1), {"caught_up": True}), stored={"position": 1})
    assert log.opened
    assert log.committed == []


@pytest.mark.proves("R31")
def test_a_refused_record_stops_the_task_or_is_parked_in_the_same_transaction() -> None:
    batch = rows_of("a", ValueError("bad"), "b", mark(None, 3), {"caught_up": True})
    log = PaperLog()
    with pytest.raises(RecordRefused, match="bad"):
        written(log, batch)
    assert (log.committed, log.open_one) == ([], None)
    written(log, batch, errors_tolerance="all", errors_deadletterqueue_topic_name="dead")
    assert [topic for topic, _, _ in log.committed[0]] == ["t", "dead", "t", "offsets"]
