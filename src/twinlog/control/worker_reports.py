"""What each service of a group tells the others about the pipelines that it runs: one record per service.

    status topic, partition 0:  twinlog-worker-<instance>  {"holds": [...], "pipelines": {...}, "signature"}

`holds` is every connector that may still read or write there: it is told before a job starts and until it has ended.
With a secret of the group a report counts only when a service of the group signed it. Runs in the service's loop.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Final, Protocol, TypeAlias

from twinlog.control.group_trust import GroupTrust
from twinlog.control.states import EngineView
from twinlog.errors import ClusterError
from twinlog.logs.append import LogWriter
from twinlog.logs.table import LogTable
from twinlog.model.backoff import Backoff
from twinlog.pipelines.dead_letters import ensure_topic
from twinlog.pipelines.worker_settings import Worker
from twinlog.wire.connection import Cluster

log = logging.getLogger("twinlog.connectors")

_KEY: Final = b"twinlog-worker-"
_ATTEMPTS: Final = 5
_REASON: Final = 1_000
"""Characters of a reason; all of it is in the log and in the status at the service itself."""


@dataclass(frozen=True)
class PipelineReport:
    """One pipeline as the service sees it that runs it. `refused`: why it cannot run there."""

    refused: str | None = None
    phase: str | None = None  # None: it has no job, for it is paused or waits for its former service
    trouble: str | None = None
    tasks: int = 1
    task_troubles: Mapping[str, str] = field(default_factory=dict)
    topics: tuple[str, ...] = ()
    numbers: Mapping[str, float | None] = field(default_factory=dict)

    @classmethod
    def of(cls, view: EngineView | None, refused: str | None, numbers: Mapping[str, float | None]) -> PipelineReport:
        """What is told of a pipeline."""
        if view is None:
            return cls(refused)
        troubles = {str(task): _short(why) for task, why in view.task_troubles.items()}
        trouble = None if view.trouble is None else _short(view.trouble)
        return cls(refused, view.phase, trouble, view.tasks, troubles, view.topics, numbers)

    @property
    def view(self) -> EngineView | None:
        """The state of its job."""
        if self.phase is None:
            return None
        troubles = {int(task): why for task, why in self.task_troubles.items()}
        return EngineView(self.phase, self.trouble, self.tasks, troubles, self.topics)


@dataclass(frozen=True)
class WorkerReport:
    """All that one service tells."""

    holds: frozenset[str] = frozenset()
    pipelines: Mapping[str, PipelineReport] = field(default_factory=dict)

    def without_numbers(self) -> WorkerReport:
        """What others must hear of at once."""
        told = {name: replace(pipeline, numbers={}) for name, pipeline in self.pipelines.items()}
        return WorkerReport(self.holds, told)

    def text(self) -> str:
        """As it is written."""
        told = {name: asdict(pipeline) for name, pipeline in self.pipelines.items()}
        return json.dumps({"holds": sorted(self.holds), "pipelines": told}, separators=(",", ":"))

    @classmethod
    def parse(cls, text: str) -> WorkerReport | None:
        """As it was written; None for what no service of this version writes."""
        try:
            told = json.loads(text)
            pipelines = {
                str(name): PipelineReport(**{**its, "topics": tuple(its.get("topics", ()))})
                for name, its in told["pipelines"].items()
            }
            return cls(frozenset(map(str, told["holds"])), pipelines)
        except (ValueError, KeyError, TypeError, AttributeError):
            return None


def _short(reason: str) -> str:
    """All reasons of a service are one record, which Kafka limits to a megabyte."""
    return reason if len(reason) <= _REASON else f"{reason[:_REASON]}…"


class ReportTable(Protocol):
    """Where reports are kept (the status topic; in tests the memory)."""

    @property
    def rows(self) -> Mapping[bytes, bytes]:
        """All that was read."""

    async def open(self) -> None:
        """Read what is there, then follow it. Raises ClusterError."""

    async def put(self, pairs: Sequence[tuple[bytes, bytes | None]]) -> None:
        """Write rows; None deletes one. Raises ClusterError."""

    async def close(self) -> None:
        """Read no more."""


MakeTable: TypeAlias = Callable[[Callable[[], None]], ReportTable]
"""Makes a table of what to call when rows were read."""


class WorkerReports:
    """The reports of a group, read and written by one service of it."""

    def __init__(self, make_table: MakeTable, trust: GroupTrust, instance: str, on_change: Callable[[], None]) -> None:
        self._make_table = make_table
        self._trust = trust
        self._instance = instance
        self._on_change = on_change
        self._table: ReportTable | None = None
        self._reports: dict[str, WorkerReport] | None = None
        self._written: WorkerReport | None = None

    async def open(self) -> None:
        """Read what the others told; at first only. Raises ClusterError."""
        if self._table is None:
            table = self._make_table(self._changed)
            await table.open()
            self._table = table
            self._changed()

    def _changed(self) -> None:
        self._reports = None
        self._on_change()

    @property
    def of_services(self) -> Mapping[str, WorkerReport]:
        """The newest report of each service that told one."""
        if self._reports is None:
            rows = {} if self._table is None else dict(self._table.rows)
            told = {key.removeprefix(_KEY).decode(): value for key, value in rows.items() if key.startswith(_KEY)}
            read = {instance: self._read(instance, value) for instance, value in told.items()}
            self._reports = {instance: report for instance, report in read.items() if report is not None}
        return self._reports

    def _read(self, instance: str, value: bytes) -> WorkerReport | None:
        try:
            told = json.loads(value)
            text, signature = str(told["report"]), str(told.get("signature", ""))
        except (ValueError, KeyError, TypeError, AttributeError):
            return None
        return WorkerReport.parse(text) if self._trust.proves_report(instance, text, signature) else None

    async def write(self, report: WorkerReport) -> None:
        """Tell the others, unless they know it. Raises ClusterError."""
        if self._table is None or report == self._written:
            return
        text = report.text()
        value = json.dumps({"report": text, "signature": self._trust.sign_report(self._instance, text)})
        self._written = None
        await self._table.put([(_KEY + self._instance.encode(), value.encode())])
        self._written = report

    @property
    def written(self) -> WorkerReport | None:
        """What this service told last."""
        return self._written

    async def withdraw(self) -> None:
        """Tell nothing any more. Raises ClusterError."""
        if self._table is not None and self._written is not None:
            await self._table.put([(_KEY + self._instance.encode(), None)])
            self._written = None

    async def forget(self, living: set[str]) -> None:
        """Remove reports of services that are gone. Raises ClusterError."""
        gone = [
            key
            for key in (() if self._table is None else tuple(self._table.rows))
            if key.startswith(_KEY) and key.removeprefix(_KEY).decode() not in living
        ]
        if gone and self._table is not None:
            await self._table.put([(key, None) for key in gone])

    async def close(self) -> None:
        """Read no more."""
        if self._table is not None:
            await self._table.close()
            self._table = None


class StatusTopicTable:
    """The reports in the status topic of a Connect worker: partition 0 of it."""

    def __init__(self, worker: Worker, on_change: Callable[[], None]) -> None:
        self._worker = worker
        self._cluster = Cluster(worker.cluster, "twinlog|workers")
        self._table = LogTable(self._cluster, worker.status_topic, on_change=on_change)
        self._writer = LogWriter(self._cluster, worker.status_topic, attempts=_ATTEMPTS)
        self._following: asyncio.Task[None] | None = None

    @property
    def rows(self) -> Mapping[bytes, bytes]:
        """All that was read."""
        return self._table.rows

    async def open(self) -> None:
        """Create the topic unless it is there, read it, and follow it. Raises ClusterError."""
        keys = self._worker.keys
        compacted = {"cleanup.policy": "compact"}
        await asyncio.to_thread(
            ensure_topic, self._worker.cluster, self._worker.status_topic, keys.status_replicas, keys.status_partitions,
            compacted,
        )  # fmt: skip
        await self._table.catch_up()
        self._following = asyncio.create_task(self._follow())

    async def _follow(self) -> None:
        backoff = Backoff(0.2, 5.0)
        while True:
            try:
                await self._table.follow()
            except ClusterError as error:  # access denied, for one: granted again, it continues
                log.warning("%s is not followed: %s", self._worker.status_topic, error)
                await asyncio.sleep(backoff.next_s())

    async def put(self, pairs: Sequence[tuple[bytes, bytes | None]]) -> None:
        """Write rows. Raises ClusterError."""
        await self._writer.append(pairs)

    async def close(self) -> None:
        """Read no more."""
        if self._following is not None:
            self._following.cancel()
            await asyncio.gather(self._following, return_exceptions=True)
        await self._cluster.close()
