"""Reading for a source: a system that is away is waited for, visibly, and nothing is read twice."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from unittest import mock

import pyarrow as pa

from twinlog.config.settings import ClientSettings
from twinlog.model.pace import Limits
from twinlog.pipelines import source_task
from twinlog.pipelines.api import Chunk, Owner, Retriable, SourcePartition
from twinlog.pipelines.run import ErrorSettings, SourceRun
from twinlog.pipelines.schemas import Schema, struct
from twinlog.pipelines.settings import read_settings
from twinlog.pipelines.source_task import SourceTask
from twinlog.pipelines.task_line import LineAddress

PLACE = SourcePartition({"table": "t"})
VALUE = struct(("n", Schema("int64")))


class PaperSource:
    """Goes away behind its first row, and comes back."""

    def __init__(self) -> None:
        self.starts: list[Any] = []

    def read(self, at: SourcePartition, start: Any, _: Any) -> Iterator[Chunk]:
        self.starts.append(start)
        if start is None:
            yield Chunk("t", [{"n": 1}], at, {"n": 1}, schema=VALUE)
            raise Retriable("it is away", 0)
        if start == {"n": 1} and len(self.starts) > 2:
            yield Chunk("t", [{"n": 2}], at, {"n": 2}, schema=VALUE)
        elif start == {"n": 1}:
            raise Retriable("it is still away", 0)


class PaperLine:
    """Takes reports; asks for the end once it was told that the source is back."""

    def __init__(self) -> None:
        self.reports: list[dict[str, Any]] = []

    def send(self, **facts: Any) -> None:
        self.reports.append(facts)

    @property
    def stopping(self) -> bool:
        return {"waiting": ""} in self.reports


def run_of(**more: Any) -> SourceRun:
    return SourceRun(
        Owner("c", 1), "x", {}, ClientSettings(cluster="k", bootstrap_servers=("x:1",)), "g", "offsets", 1,
        more.pop("streams", (("t", None, VALUE),)), ((PLACE,),), {}, read_settings(ErrorSettings, {}),
        LineAddress("", 0, ""), 600_000, 1, **more,
    )  # fmt: skip


def rows_of(run: SourceRun, source: Any, line: Any) -> list[Any]:
    with (
        mock.patch.object(source_task, "connector", return_value=source),
        mock.patch("twinlog.pipelines.source_task.OffsetsTopic.read", return_value=[]),
        mock.patch("time.sleep"),
    ):
        return [one for batch in SourceTask(run, 0, line).batches() for one in batch.to_pylist()]


def test_a_source_that_is_away_is_waited_for_and_read_on() -> None:
    source, line = PaperSource(), PaperLine()
    rows = rows_of(run_of(), source, line)
    assert [one["value_0"]["n"] for one in rows if one["topic"] is not None] == [1, 2]
    marks = [json.loads(one["mark"]) for one in rows if one["mark"] is not None]
    assert [(one["start"], one["next"]) for one in marks if "next" in one] == [(None, {"n": 1}), ({"n": 1}, {"n": 2})]
    assert [one["waiting"] for one in line.reports if "waiting" in one] == ["it is away", "it is still away", ""]


def test_a_source_that_is_away_is_not_taken_for_read_to_its_end() -> None:
    rows = rows_of(run_of(until_caught_up=True), PaperSource(), PaperLine())
    assert [one["value_0"]["n"] for one in rows if one["topic"] is not None] == [1, 2]


def test_an_epoch_that_ends_by_time_says_that_it_has_not_read_to_the_end() -> None:
    line = PaperLine()
    assert rows_of(replace(run_of(until_caught_up=True), longest_ms=-1), PaperSource(), line) == []
    assert line.reports == [{"unfinished": True}]


def test_what_was_read_is_written_before_a_limit_makes_the_source_wait() -> None:
    class Fast(PaperSource):
        def read(self, at: SourcePartition, start: Any, _: Any) -> Iterator[Chunk]:
            if start is None:
                for number in (1, 2):
                    yield Chunk("t", [{"n": number}], at, {"n": number}, schema=VALUE)

    run = run_of(until_caught_up=True, limits=Limits(records_per_second=0.001))
    rows = rows_of(replace(run, longest_ms=50), Fast(), PaperLine())
    told = [
        row["value_0"]["n"] if row["topic"] else json.loads(row["mark"]) for row in rows if row["topic"] or row["mark"]
    ]
    assert told[:3] == [1, {"key": '["c",{"table":"t"}]', "start": None, "next": {"n": 1}}, {"caught_up": True}]
    assert 2 not in told, "the epoch ended while it waited"


KEY = struct(("k", Schema("int64")))


class Together:
    """Hands on changes of two tables that share one position."""

    def read(self, at: SourcePartition, start: Any, _: Any) -> Iterator[Chunk]:
        if start is None:
            rows = pa.RecordBatch.from_pydict({"k": [1, 2, 3], "n": [1, 2, 3]})
            headers = [{"h": b"1"}, {}, {"h": b"3"}]
            other = Chunk("u", [{"n": 9}], at, {}, schema=VALUE)
            yield Chunk(
                "t", rows, at, {"n": 1}, key=("k",), key_apart=True, schema=VALUE, key_schema=KEY, headers=headers,
                tombstones=pa.array([False, True, True]), others=(other,),
            )  # fmt: skip


def test_tombstones_stand_behind_their_rows_and_tables_share_a_position() -> None:
    run = run_of(streams=(("t", KEY, VALUE), ("u", None, VALUE)), until_caught_up=True)
    rows = rows_of(run, Together(), PaperLine())
    found = [
        (one["topic"], one["key_0"], one["value_0"] or one["value_1"], one["headers"]) for one in rows if one["topic"]
    ]
    headers = {n: [{"key": "h", "value": str(n).encode()}] for n in (1, 3)}
    assert found == [
        ("t", {"k": 1}, {"n": 1}, headers[1]), ("t", {"k": 2}, {"n": 2}, []), ("t", {"k": 2}, None, []),
        ("t", {"k": 3}, {"n": 3}, headers[3]), ("t", {"k": 3}, None, headers[3]), ("u", None, {"n": 9}, []),
    ]  # fmt: skip
    marks = [json.loads(one["mark"]) for one in rows if one["mark"]]
    assert [one["next"] for one in marks if "next" in one] == [{"n": 1}]


def test_nothing_of_a_position_is_sent_while_one_of_its_schemas_is_unknown() -> None:
    line = PaperLine()
    rows = rows_of(run_of(streams=(("t", KEY, VALUE),), until_caught_up=True), Together(), line)
    assert [one for one in rows if one["topic"] or one["mark"]] == []
    assert [one["stream"]["topic"] for one in line.reports if "stream" in one] == ["u"]
