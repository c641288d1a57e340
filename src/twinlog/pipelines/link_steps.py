"""The transforms of a mirror link as projections between its reader and its writer. Made on the driver.

    head  payload  offset  timestamp  key  value  headers  ─▶  the same, and drop, error

Rows with a head are not records: they pass through. A key or value that is equal behind the steps keeps its bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from twinlog.flow.record_rows import GROUP_ROWS
from twinlog.flow.resealing import CHANGED_COLUMNS
from twinlog.model.selection import Patterns
from twinlog.model.transforms import FieldMask, Transforms
from twinlog.pipelines.chain import merged, steps_of
from twinlog.pipelines.link_rules import converter_of
from twinlog.pipelines.plan import SIDES, Branch, Step, started
from twinlog.pipelines.records import RecordColumns, Side
from twinlog.pipelines.session import own_session
from twinlog.pipelines.transforms.mask_field import MaskFieldValue
from twinlog.pipelines.transforms.sides import is_object, part
from twinlog.spark.session import Session

_MASK: Final = "org.apache.kafka.connect.transforms.MaskField$Value"


def link_session(spark: Session) -> Session:
    """A session in which the query of a link with transforms runs."""
    return own_session(spark, spark__sql__execution__arrow__maxRecordsPerBatch=str(GROUP_ROWS))


def link_steps(transforms: Transforms) -> Callable[[DataFrame], DataFrame]:
    """What lies between reader and writer."""
    return lambda rows: transformed(rows, transforms)


def transformed(rows: DataFrame, transforms: Transforms) -> DataFrame:
    """Rows of records behind all steps. Raises SettingsRefused, PlanRefused."""
    converters = {side: converter_of(transforms, side) for side in SIDES}
    shapes = {side: its.shape(None) for side, (_, its) in converters.items()}
    given = rows.withColumns({"branch": F.lit(0), "fault": F.lit(None).cast("string")})
    frame = started(given, [Branch(0, (), shapes["key"], shapes["value"])], "")
    steps = [*_configured(transforms), *(step for mask in transforms.masks for step in _mask_steps(mask))]
    for side, (java, its) in converters.items():
        frame = frame.converted(side, java, its.decode)
    opened: list[Side] = [side for side in SIDES if any(side in step.sides for step in steps)]
    for side in opened:
        frame = frame.opened(side)
        was = F.to_json(F.col(f"{side}_0"))
        frame = replace(frame, rows=frame.rows.withColumns({f"was_{side}": was.cast("binary")}))
    for step in steps:
        frame = frame.step(step)
    for side in opened:
        java, its = converters[side]
        frame = frame.converted(side, java, its.encode)
    problem = F.col("error")
    told = F.concat_ws(": ", problem.getField("class"), problem.getField("message"))
    made: dict[str, Column] = {"error": F.when(F.isnotnull(problem), told), **{side: _kept(side) for side in opened}}
    return frame.rows.withColumns(made).select(*CHANGED_COLUMNS)


def _kept(side: Side) -> Column:
    """The new bytes, or the old ones where nothing has changed."""
    new = F.col(f"{side}_0")
    return F.when(new.eqNullSafe(F.col(f"was_{side}")), F.col(side)).otherwise(new)


def _configured(transforms: Transforms) -> list[Step]:
    steps = steps_of(transforms.keys)
    if not transforms.masks or transforms.topics == Patterns((".*",)):
        return steps  # the reader opens no other topics
    return [replace(step, apply=_for_topics(step.apply, transforms.topics)) for step in steps]


def _for_topics(apply: Callable[[RecordColumns], RecordColumns], topics: Patterns) -> Any:
    return lambda record: merged(record, apply(record), _is_of(record, topics))


def _is_of(record: RecordColumns, topics: Patterns) -> Column:
    """Whether the topic matches, by Java's own regular expressions."""
    whole = "|".join(topics.patterns)
    return F.coalesce(record.topic.rlike(f"\\A(?:{whole})\\z"), F.lit(False))


def _mask_steps(mask: FieldMask) -> list[Step]:
    """One step for each field; a document without the field, and a tombstone, stay as they are."""

    def masking_step(field: str) -> Step:
        masking = MaskFieldValue({"fields": field})

        def apply(record: RecordColumns) -> RecordColumns:
            concerned = _is_of(record, mask.topics)
            # What is no object cannot be masked: it is refused, never let through.
            absent = F.isnull(record.value) | (is_object(record, "value") & F.isnull(part(record.value, field)))
            return merged(record, masking.apply(record), concerned & ~absent)

        return Step(f"residency-{mask.rule}-{field}", _MASK, ("value",), apply, masking.members)

    return [masking_step(field) for field in mask.fields]
