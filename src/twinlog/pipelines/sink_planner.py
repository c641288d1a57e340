"""Plans the epochs of a sink pipeline: positions, schemas, gear, tasks. Runs in the service, on the driver."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, lru_cache
from typing import Any, Final, cast

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame

from twinlog.config.settings import ClientSettings
from twinlog.errors import ClusterError, TopicUnknown
from twinlog.kafka.admin import ClusterAdmin
from twinlog.kafka.group_members import fetch_committed
from twinlog.kafka.record_reader import RecordReader
from twinlog.model.names import TopicPartition
from twinlog.model.topics.target_topics import TopicFacts
from twinlog.pipelines.api import Converter, LineSink, Owner, Sink
from twinlog.pipelines.arrow.path import Forms, forms
from twinlog.pipelines.chain import steps_of
from twinlog.pipelines.connector import Connector
from twinlog.pipelines.engine import Nothing
from twinlog.pipelines.job import Epoch
from twinlog.pipelines.news import NEWS
from twinlog.pipelines.parcels import PARCEL_SQL, plain, reach_sink
from twinlog.pipelines.plan import Branch, BranchKey, Frame, Step, started
from twinlog.pipelines.plugins import connector as make_connector
from twinlog.pipelines.plugins import converter, find
from twinlog.pipelines.read_kafka import ROWS, ROWS_SQL
from twinlog.pipelines.records import KEPT, ConversionFailed, PlanRefused, RecordColumns
from twinlog.pipelines.rescan import Rescan
from twinlog.pipelines.run import CATCH_UP_ROWS, FLUSH_MS, FLUSH_ROWS, Gear, SinkRun
from twinlog.pipelines.schemas import Schema
from twinlog.pipelines.sink_text import document
from twinlog.pipelines.task_line import LineAddress
from twinlog.pipelines.text_form import text_form
from twinlog.pipelines.worker_settings import Worker
from twinlog.spark.session import Session

log = logging.getLogger("twinlog.pipelines.plan")

_SAMPLES: Final = 200
_SAMPLE_S: Final = 2.0
_GATHER_S: Final = 0.2
_MOST_BRANCHES: Final = 16
_UNFIT_S: Final = 600.0
"""After a batch that Arrow cannot handle exactly a pipeline has a plan of expressions for so long."""
Places = Mapping[TopicPartition, int]


class SinkPlanner:
    """One sink pipeline."""

    def __init__(self, connector: Connector, worker: Worker, generation: int) -> None:
        self.connector = connector
        self.worker = worker
        self.owner = Owner(connector.name, generation, provided=connector.provided)
        self.sink = cast("Sink", make_connector(connector.common.plugin, connector.config))
        self.steps = steps_of(connector.config)
        self.converters = (
            converter(connector.converters.key, connector.converters.key_config),
            converter(connector.converters.value, connector.converters.value_config),
        )
        self.branches: dict[BranchKey, int] = {}
        self.refused: dict[BranchKey, str] = {}  # schemas that no plan can be made for, and why
        self.faulted: set[TopicPartition] = set()
        self.lost: dict[TopicPartition, tuple[int, int]] = {}  # offsets that the log no longer had
        self.lag = 0
        self.starts: Places = {}  # where the epoch that runs began, partitions that stand still included
        self.passed: dict[TopicPartition, tuple[int, int]] = {}  # behind the last record, behind the markers after it
        self._until: Places | None = None
        self._rests = False  # nothing is run until there is a record
        self._unfit_until = 0.0  # so long records are not handled as Arrow columns
        self._rescan = Rescan(connector.common.rescan_ms)

    def heard(self, report: Mapping[str, Any]) -> None:
        fault = report.get("fault")
        if fault is not None:
            self.faulted.add(TopicPartition(fault["topic"], int(fault["partition"])))
        if "unfit" in report:
            log.info("%s: Spark's expressions handle its records now: %s", self.connector.name, report["unfit"])
            self._unfit_until = time.monotonic() + _UNFIT_S
        for place, (last, to) in report.get("read", {}).items():
            self.passed[TopicPartition.parse(place)] = (int(last), int(to))

    def has_news(self) -> bool:
        return self._rescan.finds(self._seen_partitions)

    def _seen_partitions(self) -> list[TopicPartition]:
        """The partitions that exist now. Raises ClusterError: a topic that nobody could be asked for is not gone."""
        described = self._admin.describe_topics(self.connector.common.topics or self.topics())
        for facts in described.values():
            if isinstance(facts, ClusterError) and not isinstance(facts, TopicUnknown):
                raise facts
        return _partitions_of(described)

    def again(self) -> None:
        self._until = None

    def broke(self) -> None:
        """Nothing: positions are in the target, and the next plan begins there."""

    def rest(self) -> None:
        self._rests = True

    def reached(self, partition: TopicPartition, stored: int) -> int:
        """How far a sink is that stored this position: markers of transactions behind it are no records."""
        last, to = self.passed.get(partition, (stored + 1, stored))
        return max(stored, to) if stored >= last else stored

    @cached_property
    def _admin(self) -> ClusterAdmin:
        return _admin_of(self.worker.cluster)

    def topics(self) -> list[str]:
        """The topics that exist now."""
        admin = self._admin
        common = self.connector.common
        if common.topics:
            described = admin.describe_topics(common.topics)
            return [name for name, facts in described.items() if isinstance(facts, TopicFacts)]
        pattern = re.compile(common.topics_regex)
        own = {self.worker.offsets_topic, self.worker.status_topic, self.worker.keys.config_topic}
        names = [topic for topic in admin.list_topics() if pattern.fullmatch(topic)]
        return [name for name in names if name not in own and name != self.connector.errors.dead_letters]

    def places(self) -> tuple[Places, Places, Places]:
        """Where to read on, where the logs begin, where they end."""
        partitions = _partitions_of(self._admin.describe_topics(self.topics()))
        if not partitions:
            return {}, {}, {}
        with ThreadPoolExecutor(2, "places") as threads:
            of_group, of_logs = threads.submit(self._of_group, partitions), threads.submit(self._ends, partitions)
            stored = self.sink.positions(self.connector.name)
        # A connector that comes from a Connect worker brings its positions in the group.
        known = of_group.result() | dict(stored or {})
        ends = of_logs.result()
        latest = self.connector.start == "latest"
        starts: dict[TopicPartition, int] = {}
        for partition in partitions:
            low, high = ends[partition]
            start = known.get(partition, high if latest else low)
            if start < low:
                self._note_loss(partition, start, low)
                start = low
            starts[partition] = start
        return starts, {p: ends[p][0] for p in partitions}, {p: ends[p][1] for p in partitions}

    def _of_group(self, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        committed = fetch_committed(self._admin, self.connector.group)
        return {partition: committed[partition] for partition in partitions if partition in committed}

    def _ends(self, partitions: list[TopicPartition]) -> dict[TopicPartition, tuple[int, int]]:
        """First offset and end of each log. Raises ClusterError."""
        # The ends come last: between the two questions a log can only lose its beginning and gain an end.
        starts, ends = self._admin.fetch_start_offsets(partitions), self._admin.fetch_end_offsets(partitions)
        return {partition: (_known(starts[partition]), _known(ends[partition])) for partition in partitions}

    def _note_loss(self, partition: TopicPartition, start: int, low: int) -> None:
        if partition not in self.lost:
            log.error(
                "%s: %s: records %d to %d were deleted before they were read", self.connector.name, partition, start,
                low - 1,
            )  # fmt: skip
        self.lost[partition] = (start, low)

    def plan(self, session: Session, line: LineAddress) -> Epoch | Nothing:
        starts, _, ends = self.places()
        if not starts:
            return Nothing(self._no_topics())
        self.starts = starts
        self._rescan.planned(starts)
        starts = {p: at for p, at in starts.items() if p not in self.faulted}
        self.lag = sum(max(0, ends[p] - at) for p, at in starts.items())
        if self._rests and all(self.reached(p, at) >= ends[p] for p, at in starts.items()):
            return Nothing("no record comes", idle=True, until=self._news(ends))
        self._rests = False
        available = self.connector.common.run == "available"
        if available and self._until is None:
            self._until = ends
        if available and self._done(starts):
            return Nothing()
        if not starts:
            return Nothing("every partition stands still at a record that cannot be handled")
        if not self._learn(session, starts, ends):
            until = None if self.lag else self._news(ends)
            return Nothing("no record has come yet, so no schema is known", idle=True, until=until)
        topics = sorted({start.topic for start in starts})
        planned = self.planned(topics)
        carried = self._in_parcels(planned)
        # A parcel costs the same in both gears.
        behind = self.lag >= CATCH_UP_ROWS and carried is None and not any(self.connector.limits)
        gear: Gear = "catch-up" if available or behind else "live"
        outputs = planned.schemas() if carried is not None and not self.steps else planned.outputs()
        run = SinkRun(
            owner=self.owner,
            plugin=self.connector.common.plugin,
            config=self.connector.config,
            cluster=self.worker.cluster,
            group=self.connector.group,
            converters=self.connector.converters,
            branches=dict(self.branches),
            refused=dict(self.refused),
            outputs=outputs,
            tasks=deal(starts, min(self.connector.common.tasks, getattr(self.sink, "max_tasks", 1_000))),
            errors=self.connector.errors,
            line=line,
            gear=gear,
            longest_ms=self.connector.common.epoch_ms,
            until=self._until,
            limits=self.connector.limits,
            consumer_overrides=self.connector.overrides("consumer"),
            plain=carried,
            idle_ms=self.connector.common.idle_ms,
            flush_ms=own if (own := self.connector.common.flush_ms) >= 0 else getattr(self.sink, "flush_ms", FLUSH_MS),
            flush_rows=getattr(self.sink, "flush_rows", FLUSH_ROWS),
        )
        if carried is not None:
            return Epoch(run, PARCEL_SQL, lambda rows: rows, run.batch_rows)
        return Epoch(run, ROWS_SQL, planned.rows, run.batch_rows)

    def _news(self, ends: Places) -> Callable[[threading.Event], None]:
        """Waits for a record, and looks for new topics and partitions as often as an epoch does."""

        def wait(stopping: threading.Event) -> None:
            every_s = self.connector.common.rescan_ms / 1000
            while not (stopping.is_set() or NEWS.wait(self.worker.cluster, ends, stopping, every_s)):
                try:
                    if self.has_news():
                        return
                except ClusterError as error:
                    log.debug("%s: topics are not known: %s", self.connector.name, error)

        return wait

    def _in_parcels(self, planned: Planned) -> Forms | None:
        """What records are when they travel in parcels; None: Spark's expressions must handle each of them."""
        if not self.steps and reach_sink(self.converters, self.sink):
            return plain(self.converters[0]), plain(self.converters[1])
        if time.monotonic() < self._unfit_until:
            return None
        return forms(self.connector.config, self.converters, self.sink, planned.schemas())

    def _no_topics(self) -> str:
        common = self.connector.common
        if common.topics_regex:
            return f"no topic has a name that topics.regex {common.topics_regex} matches"
        described = self._admin.describe_topics(common.topics)
        return "; ".join(f"{name}: {facts}" for name, facts in described.items() if not isinstance(facts, TopicFacts))

    def _done(self, starts: Places) -> bool:
        return self._until is not None and all(self.reached(p, at) >= self._until.get(p, 0) for p, at in starts.items())

    def _learn(self, session: Session, starts: Places, ends: Places) -> bool:
        """Look at the next records for schemas that are not known yet; false: none is known at all."""
        key, value = self.converters
        if not (key.carries_schemas or value.carries_schemas):
            self.branches = {BranchKey(None, None, None): 0}
            return True
        waiting = {p: at for p, at in starts.items() if at < ends[p]}
        for partition, at in waiting.items():
            # A record without a value tells no schema: it may be planned beside others of its topic.
            for kind in sorted(self._kinds(partition, at), key=lambda sample: sample.value is None):
                if kind in self.branches or kind in self.refused:
                    continue
                reason = self._reason_against(session, kind)
                if reason is None:
                    self.branches[kind] = len(self.branches)
                else:
                    reason = self.connector.provided.masked(reason)
                    log.warning("%s: %s: records of one schema are bad: %s", self.connector.name, partition, reason)
                    self.refused[kind] = reason
        if not self.branches and self.refused:
            # A plan needs a branch; nothing but bad records will come.
            self.branches[BranchKey(next(iter(self.refused)).topic, None, None)] = 0
        return bool(self.branches)

    def _reason_against(self, session: Session, kind: BranchKey) -> str | None:
        """Why no plan can be made for records of this kind. One schema that makes no sense must not stop the others."""
        try:
            known = self._branches([kind.topic or ""])
            branch = self._branch(kind, len(known), [kind.topic or ""])
            planned = Planned(self.converters, self.connector, self.steps, (*known, branch), self.sink)
            planned.rows(session.createDataFrame([], ROWS_SQL))
        except (PlanRefused, ValueError, PySparkException) as error:
            return str(error).partition("\n")[0]
        return None

    def _kinds(self, partition: TopicPartition, at: int) -> list[BranchKey]:
        key, value = self.converters
        reader = RecordReader(self.worker.cluster, {partition: at})
        try:
            records = reader.take(_SAMPLES, _SAMPLE_S, _GATHER_S)
            if not records:
                self.passed |= {place: (at, to) for place, to in reader.positions([partition]).items()}
        finally:
            reader.close()
        kinds = []
        for record in records:
            try:
                kinds.append(BranchKey(partition.topic, _schema(key, record.key()), _schema(value, record.value())))
            except ConversionFailed:
                continue
        return list(dict.fromkeys(kinds)) or ([BranchKey(partition.topic, None, None)] if records else [])

    def learn(self, topic: str, key: bytes | None, value: bytes | None) -> tuple[int, bytes | None, bytes | None]:
        """The branch of one record, a new one if it must be, and its bytes without their schemas."""
        its_key, its_value = self.converters
        if not (its_key.carries_schemas or its_value.carries_schemas):
            return self.branches.setdefault(BranchKey(None, None, None), 0), key, value
        schemas: list[Hashable] = [None, None]
        if its_key.carries_schemas and key is not None:
            schemas[0], key = its_key.tell(key)
        if its_value.carries_schemas and value is not None:
            schemas[1], value = its_value.tell(value)
        return self.branches.setdefault(BranchKey(topic, *schemas), len(self.branches)), key, value

    def planned(self, topics: Sequence[str]) -> Planned:
        return Planned(self.converters, self.connector, self.steps, self._branches(topics), self.sink)

    def _branches(self, topics: Sequence[str]) -> tuple[Branch, ...]:
        return tuple(self._branch(kind, number, topics) for kind, number in self.branches.items())

    def _branch(self, kind: BranchKey, number: int, topics: Sequence[str]) -> Branch:
        key, value = self.converters
        own = (kind.topic,) if kind.topic is not None else tuple(topics)
        return Branch(number, own, key.shape(kind.key), value.shape(kind.value))


def _partitions_of(described: Mapping[str, TopicFacts | ClusterError]) -> list[TopicPartition]:
    return [
        TopicPartition(name, number)
        for name, facts in described.items()
        if isinstance(facts, TopicFacts)
        for number in range(facts.partitions)
    ]


@lru_cache(maxsize=16)
def _admin_of(cluster: ClientSettings) -> ClusterAdmin:
    """One for all pipelines of a cluster: to connect takes longer than to ask."""
    return ClusterAdmin(cluster)


def _known(answer: int | ClusterError) -> int:
    if isinstance(answer, ClusterError):
        raise answer
    return answer


def _schema(its: Converter, data: bytes | None) -> Hashable:
    return its.tell(data)[0] if its.carries_schemas and data is not None else None


def deal(starts: Places, tasks: int) -> tuple[Places, ...]:
    """Partitions to tasks, one after the other."""
    count = max(1, min(tasks, len(starts)))
    hands: list[dict[TopicPartition, int]] = [{} for _ in range(count)]
    for number, partition in enumerate(sorted(starts)):
        hands[number % count][partition] = starts[partition]
    return tuple(hands)


class Sketch:
    """Stands for the rows where only the shapes behind the steps are wanted: Spark would analyse each projection."""

    def __init__(self, columns: Sequence[str]) -> None:
        self.columns = list(columns)

    def withColumns(self, columns: Mapping[str, Column]) -> Sketch:  # noqa: N802  Spark's name
        return Sketch([*self.columns, *columns])


class Planned:
    """The projections between reader and writer."""

    def __init__(
        self, converters: tuple[Converter, Converter], connector: Connector, steps: Sequence[Step],
        branches: tuple[Branch, ...], sink: Sink,
    ) -> None:  # fmt: skip
        self.converters, self.connector, self.steps, self.branches = converters, connector, steps, branches
        self.sink = sink

    def frames(self, rows: DataFrame) -> Iterator[tuple[str, Frame]]:
        """The records after the converters and after each transform, with the name of the step."""
        key, value = self.converters
        names = self.connector.converters
        frame = started(rows, self.branches, find(names.value, "converter").name)
        frame = frame.converted("key", find(names.key, "converter").name, key.decode)
        frame = frame.converted("value", find(names.value, "converter").name, value.decode)
        yield "converter", frame
        for step in self.steps:
            frame = frame.step(step)
            yield step.name, frame

    def frame(self, rows: DataFrame) -> Frame:
        return list(self.frames(rows))[-1][1]

    def outputs(self) -> tuple[tuple[Schema | None, Schema | None], ...]:
        """Key and value schema of each branch behind the transforms. Raises PlanRefused."""
        return _schemas(self.frame(cast("DataFrame", Sketch(ROWS.names))).branches)

    def schemas(self) -> tuple[tuple[Schema | None, Schema | None], ...]:
        """Key and value schema of each branch as the converters tell it."""
        return _schemas(self.branches)

    def rows(self, rows: DataFrame) -> DataFrame:
        return self.delivered(self.frame(rows))

    def delivered(self, frame: Frame) -> DataFrame:
        """The rows for the writer, in the form that the sink takes."""
        takes = self.sink.takes
        if takes == "columns":
            own = [name for branch in frame.branches for name in (branch.column("key"), branch.column("value"))]
            made = {name: text_if_variant(frame, name) for name in own}
            return frame.rows.select(*KEPT, *[column.alias(name) for name, column in made.items()])

        def deliver(record: RecordColumns) -> dict[str, Column]:
            key = text_form(record.key, record.key_shape)
            if takes == "lines":
                return {"key": key, "value": cast("LineSink", self.sink).line(record)}
            if takes == "documents":
                return {"key": key, "value": document(record.value, record.value_shape)}
            return {"key": key, "value": text_form(record.value, record.value_shape)}

        return frame.delivered(deliver, KEPT)


def _schemas(branches: Sequence[Branch]) -> tuple[tuple[Schema | None, Schema | None], ...]:
    return tuple((branch.key_shape.schema, branch.value_shape.schema) for branch in branches)


def text_if_variant(frame: Frame, name: str) -> Column:
    """A column for Arrow: documents without a schema travel as text."""
    side, _, number = name.partition("_")
    branch = frame.branches[int(number)]
    record = frame.record(branch)
    column, shape = (record.key, record.key_shape) if side == "key" else (record.value, record.value_shape)
    return column if shape.schema is not None else document(column, shape)
