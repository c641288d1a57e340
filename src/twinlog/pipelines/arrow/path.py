"""Which sink pipelines have their records changed as Arrow columns, and how. Planned on the driver, runs in writers.

A batch travels through Spark as a parcel. The writer opens its documents, applies the transforms to whole columns, and
hands the sink what a plan of expressions would have made of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

import pyarrow as pa
import pyarrow.compute

from twinlog.pipelines.api import Converter, Sink
from twinlog.pipelines.arrow.documents import DocumentReader, Members, Unfit, printed
from twinlog.pipelines.arrow.typed import is_simple, structs
from twinlog.pipelines.chain import listed, under
from twinlog.pipelines.parcels import Plain, plain, texts
from twinlog.pipelines.plan import BranchKey
from twinlog.pipelines.plugins import converter, transform
from twinlog.pipelines.records import ERROR_ARROW, KEPT
from twinlog.pipelines.run import SinkRun
from twinlog.pipelines.schemas import Schema

pc: Any = pyarrow.compute
Forms = tuple[Plain | None, Plain | None]
"""What the bytes of keys and values are; None: documents with a schema, which are opened."""
_TAKEN: Final = {
    # By what a sink takes: whether it gets a document as text.
    "text": True,
    "documents": True,
    "columns": True,
    "lines": False,
}


class ColumnStep(Protocol):
    """A transform that can work on columns."""

    def on_columns(self, members: Members) -> Members:
        """The members behind it. Raises Unfit."""
        ...


def column_steps(config: Mapping[str, str]) -> list[ColumnStep] | None:
    """The transforms of a configuration; None: one of them needs a plan of expressions."""
    steps: list[ColumnStep] = []
    for name in listed(config, "transforms"):
        own = under(config, f"transforms.{name}.")
        made: Any = transform(own.get("type", ""), own)
        if "predicate" in own or getattr(made, "side", None) != "value" or not hasattr(made, "on_columns"):
            return None
        steps.append(made)
    return steps


def forms(
    config: Mapping[str, str], converters: tuple[Converter, Converter], sink: Sink, schemas: Sequence[tuple[Any, Any]]
) -> Forms | None:
    """What readers leave to the writer; None: the pipeline needs a plan of expressions."""
    steps, (key, value) = column_steps(config), converters
    if steps is None or not _TAKEN[sink.takes]:
        return None
    if steps:
        is_text = plain(key) in {"text", "document"} or (sink.takes == "columns" and plain(key) == "bytes")
        return (plain(key), "document") if is_text and plain(value) == "document" else None
    if sink.takes != "columns" or not getattr(value, "opens_columns", False):
        return None
    if not all(is_simple(schema) for _, schema in schemas):
        return None
    if plain(key) is not None:
        return plain(key), None
    is_opened = getattr(key, "opens_columns", False) and all(k is None or is_simple(k) for k, _ in schemas)
    return (None, None) if is_opened else None


class ArrowPath:
    """Makes the rows for a sink of the batches in parcels."""

    def __init__(self, run: SinkRun) -> None:
        if run.plain is None:
            raise ValueError("this pipeline has a plan of expressions")
        self._forms: Forms = run.plain
        self._steps = column_steps(run.config) or []
        self._reader = DocumentReader()
        its = run.converters
        converters = converter(its.key, its.key_config), converter(its.value, its.value_config)
        self._schemas = {number: self._opened_as(kind, converters) for kind, number in run.branches.items()}

    def _opened_as(self, kind: BranchKey, converters: tuple[Converter, Converter]) -> tuple[Schema | None, ...]:
        sides = zip((kind.key, kind.value), converters, self._forms, strict=True)
        return tuple(its.shape(schema).schema if form is None else None for schema, its, form in sides)

    def rows(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """The rows of a batch, those of each branch apart. Raises Unfit before the first of them."""
        if None not in self._forms or batch.column("topic").null_count:
            yield self._row_batch(batch, "key", "value", *self._plain(batch))
            return
        if batch.column("fault").null_count < batch.num_rows:
            raise Unfit("a record has no schema that makes sense")
        made = []
        for number, some in _by_branch(batch):
            sides = zip(("key", "value"), self._forms, self._schemas[number], strict=True)
            key, value = (_opened(some.column(name), form, schema) for name, form, schema in sides)
            made.append(self._row_batch(some, f"key_{number}", f"value_{number}", key, value))
        yield from made

    def _plain(self, batch: pa.RecordBatch) -> tuple[Any, Any]:
        key, value = (_text(batch.column(name), form) for name, form in zip(("key", "value"), self._forms, strict=True))
        if self._steps and batch.column("topic").null_count == 0:
            members = self._reader.opened(batch.column("value"), batch)
            for step in self._steps:
                members = step.on_columns(members)
            value = printed(members)
        return key, value

    def _row_batch(self, batch: pa.RecordBatch, key: str, value: str, keys: Any, values: Any) -> pa.RecordBatch:
        count = batch.num_rows
        own = {
            "from_topic": batch.column("topic"), "error": pa.nulls(count, ERROR_ARROW),
            "drop": pa.repeat(pa.scalar(value=False), count), key: keys, value: values,
        }  # fmt: skip
        names = [*KEPT, key, value]
        return pa.RecordBatch.from_arrays([own[name] if name in own else batch.column(name) for name in names], names)


def _text(column: Any, form: Plain | None) -> Any:
    return column if form == "bytes" else texts(column)


def _opened(column: Any, form: Plain | None, schema: Schema | None) -> Any:
    if form is not None:
        return _text(column, form)
    if schema is None or column.null_count == len(column):
        if column.null_count < len(column):
            raise Unfit("a record has no schema")
        return pa.nulls(len(column), pa.string())
    return structs(column, schema)


def _by_branch(batch: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows of each branch. Raises Unfit where a topic has several: rows of a partition must stay in order."""
    pairs: Any = pa.table({name: batch.column(name) for name in ("branch", "topic")}).group_by(["branch", "topic"])
    kinds = pairs.aggregate([]).to_pylist()
    if len({kind["topic"] for kind in kinds}) < len(kinds):
        raise Unfit("records of one topic have several schemas")
    for number in dict.fromkeys(kind["branch"] for kind in kinds):
        is_alone = len({kind["branch"] for kind in kinds}) == 1
        yield number, batch if is_alone else batch.filter(pc.equal(batch.column("branch"), number))
