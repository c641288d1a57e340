"""The plan of a pipeline: converter, transforms and delivery as projections of one DataFrame. Runs on the driver.

A DataFrame has one type per column, a topic may carry records of several schemas. So records are told apart by a
number, the branch. Each branch has key and value columns of its own (`key_0`, `value_0`); all else is shared:

    branch  topic  partition  offset  timestamp  headers  error  drop   key_0  value_0   key_1  value_1
    0       orders 3          4711    …          …        null   false  …      {…}       null   null

Each step is one projection. Nested expressions would grow exponentially, because a step names its input several times.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from twinlog.pipelines.api import Converter, TopicConverter
from twinlog.pipelines.expressions import path
from twinlog.pipelines.records import (
    CONNECT_EXCEPTION,
    DATA_EXCEPTION,
    ERROR_TYPE,
    Decoded,
    Encoded,
    PlanRefused,
    Problem,
    RecordColumns,
    Shape,
    Side,
)

SIDES: Final[tuple[Side, Side]] = ("key", "value")
_STAGE: Final = {"key": "KEY_CONVERTER", "value": "VALUE_CONVERTER"}
_SHARED: Final = ("topic", "timestamp", "headers")
_KIND: Final = "kind_of_member_"


class BranchKey(NamedTuple):
    """What records of one branch have in common. No topic: the branch is for all topics."""

    topic: str | None
    key: Hashable
    value: Hashable


@dataclass(frozen=True)
class Branch:
    """Records of one kind, and what their key and value columns hold at this step."""

    number: int
    topics: tuple[str, ...]
    key_shape: Shape
    value_shape: Shape
    told: frozenset[Side] = frozenset()  # a column of this side says whether a document is an object

    def shape(self, side: Side) -> Shape:
        return self.key_shape if side == "key" else self.value_shape

    def column(self, side: Side) -> str:
        return f"{side}_{self.number}"

    def is_object(self, side: Side) -> str:
        return f"{side}_{self.number}_is_object"

    def with_shape(self, side: Side, shape: Shape) -> Branch:
        return replace(self, key_shape=shape) if side == "key" else replace(self, value_shape=shape)


@dataclass(frozen=True)
class Step:
    """A transform with its name in the configuration."""

    name: str
    java: str  # Connect's class, for the headers of dead letters
    sides: tuple[Side, ...]  # which documents it looks into
    apply: Callable[[RecordColumns], RecordColumns]
    members: tuple[str, ...] = ()  # whose types it must know, of documents without a schema


@dataclass(frozen=True)
class Frame:
    """A DataFrame of records, and its branches. Every method returns another frame."""

    rows: DataFrame
    branches: tuple[Branch, ...]
    looks: frozenset[str] = frozenset()  # columns that the step in hand wants to know

    def record(self, branch: Branch) -> RecordColumns:
        return RecordColumns(
            branch.topics,
            F.col("topic"),
            F.col("partition"),
            F.col("offset"),
            F.col("timestamp"),
            F.col(branch.column("key")),
            F.col(branch.column("value")),
            F.col("headers"),
            branch.key_shape,
            branch.value_shape,
            objects={side: F.col(branch.is_object(side)) for side in branch.told},
        )

    def only(self, branch: Branch, column: Column) -> Column:
        """Computed for rows of the branch and no others."""
        return column if len(self.branches) == 1 else F.when(F.col("branch") == branch.number, column)

    def step(self, step: Step) -> Frame:
        """One transform on all branches."""
        frame = self
        for side in step.sides:
            frame = frame.opened(side)
        frame = frame.looked_into(step)
        changes: dict[str, Column] = {}
        shared: dict[str, list[tuple[Branch, Column]]] = {}
        problems: list[tuple[Branch, Problem]] = []
        drops: list[Column] = []
        branches = []
        for branch, before, after in frame.applied(step):
            for side in SIDES:
                if after.part(side) is not before.part(side):
                    changes[branch.column(side)] = frame.only(branch, after.part(side))
            for name in _SHARED:
                if getattr(after, name) is not getattr(before, name):
                    shared.setdefault(name, []).append((branch, getattr(after, name)))
            problems += [(branch, problem) for problem in after.problems]
            if after.drop is not None:
                drops.append(frame.only(branch, after.drop))
            told = frozenset(side for side in branch.told if side in after.objects)
            kept = replace(branch, topics=after.topics, told=told)
            branches.append(kept.with_shape("key", after.key_shape).with_shape("value", after.value_shape))
        for name, versions in shared.items():
            changes[name] = frame.chosen(versions, F.col(name))
        if drops:
            changes["drop"] = F.col("drop") | F.coalesce(*drops, F.lit(False))
        error = frame.failed("TRANSFORMATION", step.java, problems)
        if error is not None:
            changes["error"] = error
        return Frame(frame.rows.withColumns(changes) if changes else frame.rows, tuple(branches))

    def applied(self, step: Step) -> list[tuple[Branch, RecordColumns, RecordColumns]]:
        """The records of each branch before and after a step. Raises PlanRefused when it fits no branch.

        A step that fits records with a schema may not fit values without one (Sql). Then these are refused one by one,
        and a record without a value is taken for one of a branch that the step fits: there it is a null, too.
        """
        records = {branch: replace(self.record(branch), kinds=self.kinds(branch, step)) for branch in self.branches}
        made: dict[Branch, RecordColumns] = {}
        refused: dict[Branch, PlanRefused] = {}
        for branch, record in records.items():
            try:
                made[branch] = step.apply(record)
            except PlanRefused as error:
                refused[branch] = error
        if refused and not made:
            raise next(iter(refused.values()))
        other = next(iter(made), None)
        for branch, reason in refused.items():
            own, like = records[branch], records[other]  # type: ignore[index]
            after = step.apply(own.with_part("value", like.value, like.value_shape))
            made[branch] = after.refused_when(F.isnotnull(own.value), str(reason))
        return [(branch, records[branch], made[branch]) for branch in self.branches]

    def kinds(self, branch: Branch, step: Step) -> dict[str, Column]:
        """The columns that `looked_into` made."""
        numbered = {member: _kind(branch, number) for number, member in enumerate(step.members)}
        return {member: F.col(name) for member, name in numbered.items() if name in self.looks}

    def looked_into(self, step: Step) -> Frame:
        """With the types of the members that a step must know, in columns: it names each of them several times."""
        columns = {
            _kind(branch, number): self.only(branch, kind_of_member(F.col(branch.column(side)), member))
            for side in step.sides
            for branch in self.branches
            if branch.shape(side).schema is None
            for number, member in enumerate(step.members)
        }
        rows = self.rows.withColumns(columns) if columns else self.rows
        return replace(self, rows=rows, looks=frozenset(columns))

    def opened(self, side: Side) -> Frame:
        """Open JSON documents that a step looks into."""
        changes: dict[str, Column] = {}
        problems: list[tuple[Branch, Problem]] = []
        branches = []
        for branch in self.branches:
            record = self.record(branch).read(side)
            if branch.shape(side).unread:
                changes[branch.column(side)] = self.only(branch, record.part(side))
                changes[branch.is_object(side)] = self.only(branch, record.objects[side])
                problems += [(branch, problem) for problem in record.problems]
                branch = replace(branch, told=branch.told | {side})  # noqa: PLW2901
            branches.append(branch.with_shape(side, record.shape(side)))
        if not changes:
            return self
        error = self.failed(_STAGE[side], "org.apache.kafka.connect.json.JsonConverter", problems)
        if error is not None:
            changes["error"] = error
        return Frame(self.rows.withColumns(changes), tuple(branches))

    def converted(
        self, side: Side, java: str, convert: Callable[[Column, Shape], Decoded | Encoded], *, into: Shape | None = None
    ) -> Frame:
        """Decode (or encode) one side of all branches."""
        frame = self._each(side, java, lambda column, branch: convert(column, branch.shape(side)))
        branches = self.branches if into is None else tuple(branch.with_shape(side, into) for branch in self.branches)
        return replace(frame, branches=branches)

    def encoded(self, side: Side, java: str, its: Converter) -> Frame:
        """Encode one side of all branches, by topic where the converter must know it."""
        if not isinstance(its, TopicConverter):
            return self.converted(side, java, its.encode)
        encode = its.encode_to
        return self._each(
            side,
            java,
            lambda column, branch: encode(column, branch.shape(side), F.col("topic"), branch.topics, side),
        )

    def _each(self, side: Side, java: str, convert: Callable[[Column, Branch], Decoded | Encoded]) -> Frame:
        changes: dict[str, Column] = {}
        problems: list[tuple[Branch, Problem]] = []
        for branch in self.branches:
            name = branch.column(side)
            source = F.col(name) if name in self.rows.columns else self.only(branch, F.col(side))
            done = convert(source, branch)
            changes[name] = self.only(branch, done.column)
            problems += [(branch, problem) for problem in done.problems]
        error = self.failed(_STAGE[side], java, problems)
        if error is not None:
            changes["error"] = error
        return replace(self, rows=self.rows.withColumns(changes))

    def delivered(self, make: Callable[[RecordColumns], dict[str, Column]], keep: Sequence[str]) -> DataFrame:
        """The rows for the writer: columns that every branch makes, and shared ones."""
        made: dict[str, list[tuple[Branch, Column]]] = {}
        for branch in self.branches:
            for name, column in make(self.record(branch)).items():
                made.setdefault(name, []).append((branch, column))
        columns = [self.chosen(versions, None).alias(name) for name, versions in made.items()]
        return self.rows.select(*keep, *columns)

    def chosen(self, versions: list[tuple[Branch, Column]], otherwise: Column | None) -> Column:
        """For each row the version of its branch."""
        if len(self.branches) == 1:
            return versions[0][1]
        choice: Any = F
        for branch, column in versions:
            choice = choice.when(F.col("branch") == branch.number, column)
        made: Column = choice if otherwise is None else choice.otherwise(otherwise)
        return made

    def failed(self, stage: str, java: str, problems: Iterable[tuple[Branch, Problem]]) -> Column | None:
        """The error of a row: the one it has, or the first problem of this step."""
        choice = None
        for branch, problem in problems:
            mine = problem.when
            if len(self.branches) > 1:
                mine = (F.col("branch") == branch.number) & mine
            told = error(stage, java, problem.exception, problem.message)
            choice = F.when(mine, told) if choice is None else choice.when(mine, told)
        return None if choice is None else F.coalesce(F.col("error"), choice)


def _kind(branch: Branch, number: int) -> str:
    return f"{_KIND}{branch.number}_{number}"


def kind_of_member(column: Column, name: str) -> Column:
    """Spark's name for the type of a document's member; null where it is absent."""
    return F.schema_of_variant(F.try_variant_get(column, path(name), "variant"))


def error(stage: str, java: str, exception: str, message: Column) -> Column:
    return F.struct(
        F.lit(stage).alias("stage"), F.lit(java).alias("class"), F.lit(exception).alias("exception"),
        message.alias("message"),
    )  # fmt: skip


def started(rows: DataFrame, branches: Sequence[Branch], fault_class: str) -> Frame:
    """The frame of a reader's rows: `fault` is what the reader could not make sense of."""
    fault = error("VALUE_CONVERTER", fault_class, DATA_EXCEPTION, F.col("fault"))
    first = {
        "error": F.when(F.isnotnull("fault"), fault).otherwise(F.lit(None).cast(ERROR_TYPE)),
        "drop": F.lit(False),
        "from_topic": F.col("topic"),
    }
    return Frame(rows.withColumns(first), tuple(branches))


__all__ = ["CONNECT_EXCEPTION", "SIDES", "Branch", "BranchKey", "Frame", "Step", "error", "started"]
