"""Reading for a sink: the catch-up gear ends behind the backlog, and not before its first record has come."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar
from unittest import mock

import pytest

from twinlog.config.settings import ClientSettings
from twinlog.model.names import TopicPartition
from twinlog.model.pace import Limits
from twinlog.pipelines import read_kafka
from twinlog.pipelines.api import Owner
from twinlog.pipelines.plan import BranchKey
from twinlog.pipelines.run import Converters, ErrorSettings, Gear, SinkRun
from twinlog.pipelines.settings import read_settings
from twinlog.pipelines.task_line import LineAddress

PLACE = TopicPartition("t", 0)


class PaperMessage:
    """A record of librdkafka."""

    def __init__(self, offset: int) -> None:
        self.number = offset


class PaperReader:
    """Brings what it was given, one list for each call; then nothing."""

    def __init__(self, answers: list[list[PaperMessage]]) -> None:
        self.answers: Iterator[list[PaperMessage]] = iter(answers)
        self.calls = 0

    def take(self, *_: Any) -> list[PaperMessage]:
        self.calls += 1
        return next(self.answers, [])

    def positions(self, _: Any) -> dict[TopicPartition, int]:
        return {}

    def close(self) -> None:
        pass


class PaperLine:
    """Takes reports; asks for the end after so many calls."""

    def __init__(self, reader: PaperReader, calls: int) -> None:
        self.reports: list[dict[str, Any]] = []
        self.reader, self.calls = reader, calls

    def send(self, **facts: Any) -> None:
        self.reports.append(facts)

    @property
    def stopping(self) -> bool:
        return self.reader.calls >= self.calls


def run_of(gear: Gear) -> SinkRun:
    text = Converters("StringConverter", {}, "StringConverter", {})
    return SinkRun(
        Owner("c", 1), "x", {}, ClientSettings(cluster="k", bootstrap_servers=("x:1",)), "g", text,
        {BranchKey(None, None, None): 0}, ((None, None),), ({PLACE: 0},), read_settings(ErrorSettings, {}),
        LineAddress("", 0, ""), gear, 60_000,
    )  # fmt: skip


def read(gear: Gear, answers: list[list[PaperMessage]], calls: int = 100) -> tuple[list[int], PaperLine]:
    reader = PaperReader(answers)
    line = PaperLine(reader, calls)
    parts: dict[str, Any] = {
        "KEY": lambda _: None, "VALUE": lambda _: b"v", "PARTITION": lambda _: 0, "HEADERS": lambda _: None,
        "OFFSET": lambda message: message.number, "TIMESTAMP": lambda _: (1, 7),
    }  # fmt: skip
    with mock.patch.object(read_kafka, "RecordReader", return_value=reader), mock.patch.multiple(read_kafka, **parts):
        batches = list(read_kafka.read_batches(run_of(gear), 0, line))  # type: ignore[arg-type]
    offsets = [offset for batch in batches for offset in batch.column("offset").to_pylist() if offset is not None]
    return offsets, line


def test_a_backlog_that_comes_late_is_read() -> None:
    offsets, line = read("catch-up", [[], [], [], [], [], [PaperMessage(0)], [], [PaperMessage(1)]])
    assert offsets == [0, 1]
    assert {"end": "caught up"} in line.reports
    assert line.reader.calls < 20


@pytest.mark.parametrize("gear", ["live", "catch-up"])
def test_a_reader_without_any_record_tells_of_its_end_only_in_the_catch_up_gear(gear: Gear) -> None:
    offsets, line = read(gear, [])
    assert offsets == []
    assert ({"end": "caught up"} in line.reports) is (gear == "catch-up")


def test_an_idle_reader_wakes_the_writer_up_now_and_then() -> None:
    reader = PaperReader([])
    line = PaperLine(reader, 60)
    with mock.patch.object(read_kafka, "RecordReader", return_value=reader):
        pushes = list(read_kafka.read_batches(run_of("live"), 0, line))  # type: ignore[arg-type]
    assert 10 <= len(pushes) <= 20


def test_a_limit_makes_small_takes_with_pauses_and_loses_nothing() -> None:
    class Backlog(PaperReader):
        asked: ClassVar[list[int]] = []

        def take(self, rows: int, *_: Any) -> list[PaperMessage]:
            first = sum(self.asked)
            self.asked.append(rows)
            self.calls += 1
            return [PaperMessage(first + number) for number in range(rows)]

    reader = Backlog([])
    line = PaperLine(reader, 4)
    parts: dict[str, Any] = {
        "KEY": lambda _: None, "VALUE": lambda _: b"v", "PARTITION": lambda _: 0, "HEADERS": lambda _: None,
        "OFFSET": lambda message: message.number, "TIMESTAMP": lambda _: (1, 7),
    }  # fmt: skip
    run = replace(run_of("live"), limits=Limits(records_per_second=400))
    began = time.monotonic()
    with mock.patch.object(read_kafka, "RecordReader", return_value=reader), mock.patch.multiple(read_kafka, **parts):
        batches = list(read_kafka.read_batches(run, 0, line))  # type: ignore[arg-type]
    took_s = time.monotonic() - began
    offsets = [offset for batch in batches for offset in batch.column("offset").to_pylist() if offset is not None]
    assert (reader.asked, offsets) == ([100] * 4, list(range(400)))
    assert took_s >= 0.7, "three pauses of a quarter of a second"
