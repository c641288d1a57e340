"""Verification of a link: plan, compare on Spark, settle what compaction took, report. Runs on the driver."""

from __future__ import annotations

import asyncio
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from twinlog.errors import ClusterError
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.names import TopicPartition
from twinlog.model.verify.plan import bundles
from twinlog.model.verify.report import VerifyReport
from twinlog.model.verify.schemas import SchemaProof
from twinlog.model.verify.verification import Chunk, ChunkResult
from twinlog.spark.formats import register_format
from twinlog.spark.session import Session, session_for
from twinlog.spark.work import TABLES
from twinlog.verify.chunk_source import RESULT_SCHEMA, ChunkReader, RowsOf, result_rows
from twinlog.verify.plan import Planner, VerifyPlan, VerifyWish, fetch_ledger
from twinlog.verify.schema_proof import prove_schemas
from twinlog.verify.settlement import KEY_SCHEMA, key_rows, lost_keys

OnProgress: TypeAlias = Callable[[str, int, int], None]
"""What is being done, tasks finished, tasks in all."""
_LOOK_EVERY_S: Final = 0.2


@dataclass(frozen=True)
class Verification:
    """One link, compared on one Spark session."""

    session: Session
    planner: Planner
    slots: int
    on_progress: OnProgress = lambda _what, _done, _total: None

    def run(self, wish: VerifyWish, plan: VerifyPlan) -> VerifyReport:
        """Compare what is planned; returns when every chunk has answered."""
        began = time.monotonic()
        report = VerifyReport(self.planner.link.name, str(wish), SYSTEM_CLOCK.now_ms(), sample=wish.sample)
        report.excluded = plan.excluded
        report.partitions = len({chunk.partition for chunk in plan.chunks})
        report.topics = len({chunk.partition.topic for chunk in plan.chunks})
        results = self._compare(plan.chunks)
        report.take(results)
        self._settle(report, results)
        self.on_progress("decoding sampled records", 0, 0)
        report.schemas = self._schemas(wish, report)
        report.took_s = time.monotonic() - began
        return report

    def _schemas(self, wish: VerifyWish, report: VerifyReport) -> SchemaProof | None:
        """Decode sampled records with both registries; trouble of a cluster is told as such."""
        link = self.planner.link
        if not link.registry.mirrored:
            return None
        try:
            roster = asyncio.run(fetch_ledger(link)).roster
            return asyncio.run(prove_schemas(link, roster, wish.wanted))
        except ClusterError as error:
            report.troubles.append(f"schemas of sampled records: {error}")
            return None

    def _compare(self, chunks: Sequence[Chunk]) -> list[ChunkResult]:
        if not chunks:
            return []
        rows = self._rows(chunks, RESULT_SCHEMA, result_rows)
        return [ChunkResult.from_json(row.result) for row in self._watched("comparing", rows.collect)]

    def _settle(self, report: VerifyReport, results: Sequence[ChunkResult]) -> None:
        """Look up the keys of records that compaction took: each must have a later record."""
        beginnings: dict[TopicPartition, int] = {}
        for result in results:
            if result.unsettled:
                before = beginnings.get(result.partition, result.source_first)
                beginnings[result.partition] = min(before, result.source_first)
        # The ledger is read anew: what was copied since the first plan may be why a record was taken since.
        plan = self.planner.plan_from(beginnings) if beginnings else VerifyPlan()
        if not plan.chunks:
            return
        rows = self._rows(plan.chunks, KEY_SCHEMA, key_rows)
        gone, lost, troubles = self._watched("settling what compaction took", lambda: lost_keys(rows))
        report.troubles += troubles
        report.totals["unsettled"] = 0
        for (topic, partition), count in gone.items():
            wrongly = [(source, target) for t, p, source, target in lost if (t, p) == (topic, partition)]
            report.settle(TopicPartition(topic, partition), count - len(wrongly), wrongly)

    def _rows(self, chunks: Sequence[Chunk], schema: str, rows_of: RowsOf) -> Any:
        name = f"twinlog_verify_{rows_of.__name__}"
        # A session of its own: the links of a running service keep theirs.
        session = session_for(self.session, TABLES, spark__sql__shuffle__partitions=str(self.slots))
        reader = ChunkReader(self.planner.link, bundles(chunks, self.slots), rows_of)
        register_format(session, name, schema, reader=lambda: reader)
        return session.read.format(name).load()

    def _watched(self, what: str, work: Callable[[], Any]) -> Any:
        """Run a Spark action in a thread and tell how many of its tasks are done."""
        answer: list[Any] = []
        failure: list[BaseException] = []

        context: Any = self.session.sparkContext
        tag = f"verify-{uuid.uuid4().hex}"

        def run() -> None:
            context.addJobTag(tag)
            try:
                answer.append(work())
            except BaseException as error:  # noqa: BLE001  raised below, in the caller's thread
                failure.append(error)

        thread = threading.Thread(target=run, name="verify", daemon=True)
        thread.start()
        tracker = context.statusTracker()
        try:
            while thread.is_alive():
                thread.join(_LOOK_EVERY_S)
                self.on_progress(what, *_tasks(tracker))
        except BaseException:
            context.cancelJobsWithTag(tag)  # not all: links may run in the same JVM
            raise
        if failure:
            raise failure[0]
        return answer[0]


def _tasks(tracker: Any) -> tuple[int, int]:
    done = total = 0
    for job in tracker.getActiveJobsIds():
        info = tracker.getJobInfo(job)
        for stage in info.stageIds if info is not None else ():
            facts = tracker.getStageInfo(stage)
            if facts is not None:
                done, total = done + facts.numCompletedTasks, total + facts.numTasks
    return done, total
