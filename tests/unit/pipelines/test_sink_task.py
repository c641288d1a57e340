"""Writing for a sink, with a target that fails whenever it likes: each record is there once, in order."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar
from unittest import mock

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twinlog.config.settings import ClientSettings
from twinlog.errors import ClusterUnreachable
from twinlog.model.names import TopicPartition
from twinlog.pipelines import sink_task
from twinlog.pipelines.api import Owner, Rejected, Retriable, SinkBatch, Superseded
from twinlog.pipelines.run import Converters, ErrorSettings, SinkRun
from twinlog.pipelines.settings import read_settings
from twinlog.pipelines.sink_task import SinkTask
from twinlog.pipelines.task_line import LineAddress

HEADERS: Any = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
ERROR: Any = pa.struct([(name, pa.string()) for name in ("stage", "class", "exception", "message")])
BAD = "bad"
CLUSTER = ClientSettings(cluster="kafka", bootstrap_servers=("x:1",))
PARTITIONS = [TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)]
PLANNED = "refused by the plan"


@dataclass
class Target:
    """A system with transactions: what is in it, and its positions."""

    rows: list[tuple[TopicPartition, int]] = field(default_factory=list)
    positions: dict[TopicPartition, int] = field(default_factory=dict)
    generation: int = 0


@dataclass
class PaperSink:
    """Fails as the random numbers say: before or after its transaction is committed."""

    target: Target
    chance: random.Random
    trouble: float
    delivery: ClassVar[str] = "exactly-once"
    _open: list[tuple[TopicPartition, int]] = field(default_factory=list)
    _owner: Owner | None = None

    def _maybe(self) -> None:
        if self.chance.random() < self.trouble:
            raise Retriable("out of order", 0)

    def open(self, owner: Owner, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        if owner.generation < self.target.generation:
            raise Superseded
        self.target.generation = owner.generation
        self._owner, self._open = owner, []
        return {p: self.target.positions[p] for p in partitions if p in self.target.positions}

    def put(self, batch: SinkBatch) -> Sequence[Rejected]:
        self._maybe()
        refused = []
        for row, one in enumerate(batch.rows.to_pylist()):
            if one["value"] == BAD:
                refused.append(Rejected(row, "is bad"))
            else:
                self._open.append((TopicPartition(one["topic"], one["partition"]), one["offset"]))
        return refused

    def flush(self, positions: Mapping[TopicPartition, int]) -> None:
        self._maybe()
        assert self._owner is not None
        if self._owner.generation < self.target.generation:
            raise Superseded
        self.target.rows += self._open
        self.target.positions.update(positions)
        self._open = []
        self._maybe()  # the answer got lost

    def close(self) -> None:
        self._open = []


class PaperLine:
    """Takes reports."""

    def __init__(self) -> None:
        self.reports: list[dict[str, Any]] = []
        self.stopping = False

    def send(self, **facts: Any) -> None:
        self.reports.append(facts)


class PaperGroup:
    """Takes positions, or is away."""

    def __init__(self, *_: Any) -> None:
        self.positions: dict[TopicPartition, int] = {}

    def commit(self, _: Mapping[TopicPartition, int]) -> None:
        raise ClusterUnreachable("kafka", "it is away")

    def close(self) -> None:
        pass


def run_of(starts: dict[TopicPartition, int], tolerance: str, generation: int = 1) -> SinkRun:
    errors = read_settings(ErrorSettings, {"errors.tolerance": tolerance})
    return SinkRun(
        Owner("c", generation), "PaperSink", {}, CLUSTER, "connect-c",
        Converters("", {}, "", {}), {}, ((None, None),), (starts,), errors,
        LineAddress("", 0, ""), "live", 1000, flush_ms=0, flush_rows=7,
    )  # fmt: skip


def batch_of(records: list[tuple[TopicPartition, int, str]], *, caught_up: bool) -> pa.RecordBatch:
    count = len(records)
    errors = [
        {"stage": "TRANSFORMATION", "class": "x", "exception": "e", "message": "m"} if value == PLANNED else None
        for _, _, value in records
    ]
    pad = 2 if caught_up else 0
    return pa.RecordBatch.from_pydict(
        {
            "from_topic": pa.array([p.topic for p, _, _ in records] + [None] * pad, pa.string()),
            "partition": pa.array([p.partition for p, _, _ in records] + [1] * pad, pa.int32()),
            "offset": pa.array([offset for _, offset, _ in records] + [None] * pad, pa.int64()),
            "timestamp": pa.array([0] * count + [None] * pad, pa.int64()),
            "topic": pa.array([p.topic for p, _, _ in records] + [None] * pad, pa.string()),
            "branch": pa.array([0] * count + [None] * pad, pa.int32()),
            "headers": pa.nulls(count + pad, HEADERS),
            "error": pa.array(errors + [None] * pad, ERROR),
            "drop": pa.array([value == "drop" for _, _, value in records] + [False] * pad, pa.bool_()),
            "key": pa.nulls(count + pad, pa.string()),
            "value": pa.array([value for _, _, value in records] + [None] * pad, pa.string()),
        }
    )


def written(
    target: Target, batches: list[pa.RecordBatch], tolerance: str, *, seed: int, trouble: float, generation: int = 1
) -> PaperLine:
    """One run of a task from the positions that the target stores. A crash ends it anywhere."""
    line, chance = PaperLine(), random.Random(seed)
    starts = {p: target.positions.get(p, 0) for p in PARTITIONS}
    with (
        mock.patch.object(sink_task, "connector", return_value=PaperSink(target, chance, trouble)),
        mock.patch.object(sink_task, "GroupOffsets", PaperGroup),
        mock.patch("time.sleep"),
    ):
        task = SinkTask(run_of(starts, tolerance, generation), 0, line)  # type: ignore[arg-type]
        with mock.patch.object(task.dead, "park"):
            task.write(batches)
    return line


PLACES = st.sampled_from(PARTITIONS)
VALUES = st.sampled_from(["x", "x", "x", "x", "drop", BAD, PLANNED])


@pytest.mark.proves("R30", "R31")
@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(PLACES, VALUES), max_size=40), st.integers(0, 999), st.sampled_from([0.0, 0.3]), st.data())
def test_each_good_record_is_there_once(
    records: list[tuple[TopicPartition, str]], seed: int, trouble: float, data: st.DataObject
) -> None:
    tolerance = data.draw(st.sampled_from(["all", "none"]))
    offsets: dict[TopicPartition, int] = {}
    log = []
    for place, value in records:
        offsets[place] = offsets.get(place, -1) + 1
        log.append((place, offsets[place], value))
    cuts = sorted(data.draw(st.sets(st.integers(0, len(log)), max_size=5)) | {0, len(log)})
    batches = [batch_of(log[a:b], caught_up=data.draw(st.booleans())) for a, b in itertools.pairwise(cuts)]
    target = Target()
    # A first run that ends anywhere, then one that reads everything again from the start.
    written(target, batches[: data.draw(st.integers(0, len(batches)))], tolerance, seed=seed, trouble=trouble)
    written(target, batches, tolerance, seed=seed + 1, trouble=trouble, generation=2)
    first_bad = {
        place: min((offset for p, offset, value in log if p == place and value in {BAD, PLANNED}), default=None)
        for place in offsets
    }
    expected = [
        (place, offset)
        for place, offset, value in log
        if value == "x" and (tolerance == "all" or first_bad[place] is None or offset < (first_bad[place] or 0))
    ]
    assert sorted(target.rows) == sorted(expected)
    for place in offsets:
        mine = [offset for p, offset in target.rows if p == place]
        assert mine == sorted(mine)
        if tolerance == "none" and first_bad[place] is not None:
            assert target.positions.get(place, 0) <= (first_bad[place] or 0)


def test_what_was_flushed_stays_so_when_the_target_has_lost_its_positions() -> None:
    """Somebody deletes them, or the sink stores none: only the group hears them."""
    target, told = Target(), list[dict[TopicPartition, int]]()

    class Forgetful(PaperSink):
        def flush(self, positions: Mapping[TopicPartition, int]) -> None:
            super().flush(positions)
            self.target.positions.clear()
            if len(self.target.rows) == 2:
                self.target.rows.append((PARTITIONS[1], 99))
                raise Retriable("the positions are gone", 0)

    class Group(PaperGroup):
        def commit(self, positions: Mapping[TopicPartition, int]) -> None:
            told.append(dict(positions))

    batches = [
        batch_of([(PARTITIONS[place], offset, "x")], caught_up=True) for place, offset in ((0, 0), (1, 0), (0, 1))
    ]
    with (
        mock.patch.object(sink_task, "connector", return_value=Forgetful(target, random.Random(1), 0)),
        mock.patch.object(sink_task, "GroupOffsets", Group),
        mock.patch.object(sink_task, "_GROUP_EVERY_S", 0),
        mock.patch("time.sleep"),
    ):
        SinkTask(run_of(dict.fromkeys(PARTITIONS, 0), "all"), 0, PaperLine()).write(batches)  # type: ignore[arg-type]
    assert [one[PARTITIONS[0]] for one in told] == sorted(one[PARTITIONS[0]] for one in told)
    assert told[-1][PARTITIONS[0]] == 2


def test_a_stopped_partition_is_told_with_offset_stage_and_cause() -> None:
    a, b = TopicPartition("a", 0), TopicPartition("b", 0)
    log = [(a, 0, "x"), (a, 1, PLANNED), (a, 2, "x"), (b, 0, "x")]
    target = Target()
    line = written(target, [batch_of(log, caught_up=True)], "none", seed=1, trouble=0.0)
    (fault,) = [one["fault"] for one in line.reports if "fault" in one]
    assert (fault["topic"], fault["offset"], fault["stage"], fault["message"]) == ("a", 1, "TRANSFORMATION", "m")
    assert sorted(target.rows) == [(a, 0), (b, 0)]


def test_an_older_task_stops_and_writes_nothing() -> None:
    target = Target(generation=5)
    with pytest.raises(Superseded):
        written(
            target,
            [batch_of([(TopicPartition("a", 0), 0, "x")], caught_up=True)],
            "all",
            seed=1,
            trouble=0.0,
            generation=4,
        )
    assert target.rows == []


class AbortedSink(PaperSink):
    """A database whose transaction failed at the first statement: the connection takes nothing until it is closed."""

    denied = 2
    broken = False

    def open(self, owner: Owner, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        if self.broken:
            raise Retriable("current transaction is aborted", 0)
        if self.denied:
            self.denied, self.broken = self.denied - 1, True
            raise Retriable("permission denied for schema public", 0)
        return super().open(owner, partitions)

    def close(self) -> None:
        self.broken = False
        super().close()


def test_each_try_to_open_has_a_connection_of_its_own_so_that_the_true_cause_stays() -> None:
    target, line = Target(), PaperLine()
    with (
        mock.patch.object(sink_task, "connector", return_value=AbortedSink(target, random.Random(1), 0.0)),
        mock.patch.object(sink_task, "GroupOffsets", PaperGroup),
        mock.patch("time.sleep"),
    ):
        SinkTask(run_of({PARTITIONS[0]: 0}, "none"), 0, line).write([])  # type: ignore[arg-type]
    told = [one["waiting"] for one in line.reports if "kafka" not in one.get("waiting", "kafka")]
    assert told == ["permission denied for schema public"] * 2 + [""], "and that it is over, though nothing was written"


@pytest.mark.parametrize(("flush_s", "least", "most"), [(0.0, 99, 101), (0.1, 2, 4)])
def test_flushes_are_as_frequent_as_they_are_cheap(flush_s: float, least: int, most: int) -> None:
    clock, flushes = [100.0], [0]

    class Slow(PaperSink):
        def flush(self, positions: Mapping[TopicPartition, int]) -> None:
            clock[0] += flush_s
            flushes[0] += 1
            super().flush(positions)

    def batches() -> Any:
        for offset in range(100):
            clock[0] += 0.01
            yield batch_of([(PARTITIONS[0], offset, "x")], caught_up=True)

    run = replace(run_of({PARTITIONS[0]: 0}, "none"), flush_ms=5, flush_rows=1_000_000)
    sink = Slow(Target(), random.Random(1), 0)
    with (
        mock.patch.object(sink_task, "connector", return_value=sink),
        mock.patch.object(sink_task, "GroupOffsets", PaperGroup),
        mock.patch("time.monotonic", side_effect=lambda: clock[0]),
    ):
        SinkTask(run, 0, PaperLine()).write(batches())  # type: ignore[arg-type]
    assert least <= flushes[0] <= most
    assert len(sink.target.rows) == 100


def test_a_small_parcel_is_flushed_when_it_comes() -> None:
    """The empty row behind it comes with the next parcel: nobody may wait for that."""
    place, target, line = PARTITIONS[0], Target(), PaperLine()
    run = replace(run_of({place: 0}, "none"), plain=("text", "text"), flush_rows=1_000_000)
    seen: list[dict[TopicPartition, int]] = []

    def batches() -> Any:
        for offset in range(3):
            yield batch_of([(place, offset, "x")], caught_up=False)
            seen.append(dict(target.positions))

    with (
        mock.patch.object(sink_task, "connector", return_value=PaperSink(target, random.Random(1), 0.0)),
        mock.patch.object(sink_task, "GroupOffsets", PaperGroup),
        mock.patch.object(sink_task, "_PAUSES", 0),
    ):
        SinkTask(run, 0, line).write(batches())  # type: ignore[arg-type]
    assert seen == [{place: 1}, {place: 2}, {place: 3}]
