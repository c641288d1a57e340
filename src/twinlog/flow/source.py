"""The two ends of the stream as Spark sees them: Python data sources around `read_task` and `write_task`.

Where things run: `latestOffset` and `partitions` in a planning process beside the driver (one per query, it stays
alive), `read` and `write` in Python workers on the executors, `commit` in yet another process of the driver. None of
them is the service's own process; what they have in common is the ledger.

The stream's offset is the number of the epoch, nothing more: the Spark checkpoint may be lost at any time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
    InputPartition,
    WriterCommitMessage,
)

from twinlog.config.settings import LinkSettings
from twinlog.flow.pieces import in_pieces, joined
from twinlog.flow.plan import SchemasAt, TaskPlan, deal, tasks_for, weigh
from twinlog.flow.row import Row, from_arrow, to_arrow
from twinlog.flow.shared_payloads import resolved, shared
from twinlog.model.ledger.records import BROUGHT, SCHEMAS_AHEAD, TRUNCATIONS, shard_of
from twinlog.model.names import TopicPartition
from twinlog.model.routes.provenance import ClusterIds

if TYPE_CHECKING:
    from twinlog.ledger.view import LedgerView


@dataclass(frozen=True)
class LinkRun:
    """What the data sources of one engine run need. Travels pickled, never as options: it holds secrets (R12)."""

    link: LinkSettings
    generation: int
    shards: int
    cores: int
    clusters: ClusterIds


class Positions(WriterCommitMessage):
    """What one task reached, for Spark's progress; the ledger knows it already."""

    def __init__(self, positions: dict[str, int]) -> None:
        self.positions = positions


class EpochReader(DataSourceStreamReader):
    """Plans epochs and reads them."""

    def __init__(self, run: LinkRun) -> None:
        self.run = run
        self._view: LedgerView | None = None
        self._bytes_before: dict[TopicPartition, int] = {}

    def initialOffset(self) -> dict[str, int]:
        """Spark's name; the first epoch is 0."""
        return {"epoch": 0}

    def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:  # noqa: ARG002
        """Spark's name; there is always one more epoch."""
        return {"epoch": int(start["epoch"]) + 1}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        """Deal the shards to tasks by what they carried since the last plan."""
        if start == end:
            return []
        view = self._refreshed()
        run = self.run
        moved = {partition: state.bytes for partition, state in view.states.items()}
        weights = weigh(view.roster, self._bytes_before, moved, run.shards)
        self._bytes_before = moved
        partitions = sum(topic.partitions for topic in view.roster.values())
        hands = deal(weights, tasks_for(partitions, run.link.reading.tasks_max, run.cores), run.shards)
        return [self._plan(int(end["epoch"]), task, hand, view) for task, hand in enumerate(hands)]

    def _plan(self, epoch: int, task: int, shards: tuple[int, ...], view: LedgerView) -> TaskPlan:
        run, mine = self.run, set(shards)
        ledger_at = {0: view.positions[0]} | {1 + shard: view.positions[1 + shard] for shard in shards}
        states = {p: state for p, state in view.states.items() if shard_of(p, run.shards) in mine}
        known = (view.engine, dict(view.roster), states, dict(view.memos.get(TRUNCATIONS, {})))
        brought = view.memos.get(SCHEMAS_AHEAD, {}).get(BROUGHT)
        schemas = self._schemas_at(view)
        return TaskPlan(
            epoch, run.generation, task, shards, run.shards, ledger_at, *known, schemas, brought, view.control
        )

    def _schemas_at(self, view: LedgerView) -> SchemasAt | None:
        """What each task needs to follow the copy of the schemas, whoever copies it."""
        registry = self.run.link.registry
        if not registry.mirrored or not registry.gate_ms:
            return None
        partition = TopicPartition(registry.topic, 0)
        number = 1 + shard_of(partition, self.run.shards)
        return SchemasAt(number, view.positions[number], view.states.get(partition))

    def _refreshed(self) -> LedgerView:
        from twinlog.ledger.view import LedgerView  # noqa: PLC0415  only the planner needs it
        from twinlog.wire.connection import Cluster  # noqa: PLC0415

        if self._view is None:
            self._view = LedgerView(dict.fromkeys(range(1 + self.run.shards), 0))
        view = self._view

        async def read() -> None:
            link = self.run.link
            target = Cluster(link.clients.target_producer, f"twinlog|{link.name}|planner")
            try:
                await view.catch_up(target, link.source)
            finally:
                await target.close()

        asyncio.run(read())
        return view

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """On an executor: the parcels of one task, for as long as the epoch lasts."""
        if not isinstance(partition, TaskPlan):
            raise TypeError(f"{partition!r} is not a plan of ours")
        try:
            yield from self._batches(partition)
        except Exception as error:
            _leave_failure(self.run, partition.task, error)
            raise

    def _batches(self, partition: TaskPlan) -> Iterator[pa.RecordBatch]:
        from twinlog.flow.read import read_task  # noqa: PLC0415  the planning processes need not load it

        link = self.run.link
        rows = shared(read_task(link, self.run.clusters, partition), link.writing.max_bytes_in_flight)
        for row in in_pieces(rows):
            yield to_arrow(row)

    def __getstate__(self) -> dict[str, Any]:
        """Executors need the run only, not what the planner remembers."""
        return {"run": self.run, "_view": None, "_bytes_before": {}}


class RecordsReader(EpochReader):
    """The same for a link with transforms: batches of the topics that they concern are opened."""

    def _batches(self, partition: TaskPlan) -> Iterator[pa.RecordBatch]:
        from twinlog.flow.read import read_task  # noqa: PLC0415
        from twinlog.flow.record_rows import RecordRows  # noqa: PLC0415

        link = self.run.link
        yield from RecordRows(link.transforms.takes).batches(read_task(link, self.run.clusters, partition))


class _Rows:
    """Rows of the reader, which leaves its own failures."""

    def __init__(self, rows: Iterator[Row]) -> None:
        self._rows = rows
        self.failed = False

    def __iter__(self) -> Iterator[Row]:
        try:
            yield from self._rows
        except Exception:
            self.failed = True
            raise


def _leave_failure(run: LinkRun, task: int, error: Exception) -> None:
    from twinlog.flow.task_failures import leave_failure  # noqa: PLC0415  the planning processes need not load it

    context = TaskContext.get()
    leave_failure(run.link, run.generation, task, 0 if context is None else context.attemptNumber(), error)


class ParcelWriter(DataSourceStreamArrowWriter):
    """Writes the rows of an epoch."""

    def __init__(self, run: LinkRun) -> None:
        self.run = run

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:  # type: ignore[override]
        """On an executor: returns when the epoch's rows are acknowledged and noted."""
        from twinlog.flow.write import write_task  # noqa: PLC0415  the planning processes need not load it

        context = TaskContext.get()
        task = context.partitionId() if context is not None else 0
        rows = _Rows(joined(resolved(self._rows(iterator))))
        try:
            return Positions(write_task(self.run.link, self.run.clusters, rows, task))
        except Exception as error:
            if not rows.failed:
                _leave_failure(self.run, task, error)
            raise

    def _rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[Row]:
        return (row for batch in batches for row in from_arrow(batch))

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Nothing: the writers noted everything in the ledger."""

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Nothing: the next take-over reconciles."""


class RecordsWriter(ParcelWriter):
    """The same for a link with transforms: what comes out of them is sealed into batches again."""

    def _rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[Row]:
        from twinlog.flow.resealing import Resealing  # noqa: PLC0415

        link = self.run.link
        return Resealing(link.transforms.tolerant, link.writing.merge_target_bytes).rows(batches)


__all__ = ["EpochReader", "LinkRun", "ParcelWriter", "Positions", "RecordsReader", "RecordsWriter"]
