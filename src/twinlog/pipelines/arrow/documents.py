"""JSON documents that are alike, as Arrow columns and back as text. Exact, or `Unfit`. Runs in Python workers.

    {"id": 1, "name": "a"}               id  name
    {"id": 2, "name": "b"}      ─▶       1   a          ─▶   the same documents, with other members
                                         2   b

Arrow reads documents ten times as fast as an expression of Spark does. But a column has one type, and a null where a
document has no such member. So some batches cannot be told from their columns: values of several types, members that
are absent beside nulls, lists, objects inside of objects. Such a batch is `Unfit`, and the pipeline goes on with a plan
of expressions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

import pyarrow as pa
import pyarrow.compute
import pyarrow.json

pc: Any = pyarrow.compute
_EXACT: Final = 2.0**53
"""Beyond it a double does not hold every whole number."""
_CONTROL: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}
_NULL: Final = "null"


class Unfit(Exception):
    """These records cannot be handled exactly as columns."""


@dataclass(frozen=True)
class Members:
    """The members of documents, one column each. A constant is an Arrow scalar."""

    columns: Mapping[str, Any]
    record: pa.RecordBatch  # the records that they are the values of
    numbers: Mapping[str, Any] = field(default_factory=dict)  # how numbers with a point were written
    is_absent: bool = False  # a null stands for a member that a document does not have
    is_plain: bool = True  # no text needs a backslash

    def there(self, name: str) -> Any:
        """A column that every document has. Raises Unfit."""
        column = self.columns.get(name)
        if column is None:
            raise Unfit(f"no document has the member {name}")
        if self.is_absent and isinstance(column, pa.Array) and column.null_count:
            raise Unfit(f"some documents do not have the member {name}")
        return column

    def with_column(self, name: str, column: Any, *, is_plain: bool = True) -> Members:
        """With another column; `is_plain`: its texts need no backslash."""
        numbers = {other: texts for other, texts in self.numbers.items() if other != name}
        columns = {**self.columns, name: column}
        return replace(self, columns=columns, numbers=numbers, is_plain=self.is_plain and is_plain)

    def renamed(self, names: Mapping[str, str]) -> Members:
        """With the members that `names` has as keys, under its values."""
        return replace(
            self,
            columns={new: self.columns[old] for old, new in names.items()},
            numbers={new: self.numbers[old] for old, new in names.items() if old in self.numbers},
        )


class DocumentReader:
    """Opens documents. It remembers which members are text: Arrow would make times of some."""

    def __init__(self) -> None:
        self._texts: set[str] = set()

    def opened(self, values: Any, record: pa.RecordBatch) -> Members:
        """The members of documents. Raises Unfit."""
        try:
            return self._opened(values, record)
        except Unfit:
            if not self._texts:
                raise
            self._texts.clear()  # what they are may have changed
            return self._opened(values, record)

    def _opened(self, values: Any, record: pa.RecordBatch) -> Members:
        texts, remembered = as_lines(values), set(self._texts)
        data = content(texts).to_pybytes()
        table = self._read(texts)
        for name, kind in zip(table.schema.names, table.schema.types, strict=True):
            if pa.types.is_nested(kind) or pa.types.is_timestamp(kind):
                raise Unfit(f"the member {name} is a {kind}")
        columns = {name: table.column(name).combine_chunks() for name in table.column_names}
        if remembered and _NULL.encode() not in data:
            columns = {name: its for name, its in columns.items() if its.null_count < len(its)}
        has_backslash = b"\\" in data
        made = Members(columns, record, is_absent=_is_absent(texts, columns), is_plain=not has_backslash)
        return replace(made, numbers=_numbers(texts, columns, has_backslash=has_backslash))

    def _read(self, texts: Any) -> Any:
        table = read_lines(texts, pa.schema([(name, pa.string()) for name in sorted(self._texts)]), "infer")
        times = [name for name in table.column_names if pa.types.is_timestamp(table.schema.field(name).type)]
        if not times:
            self._texts |= {name for name in table.column_names if pa.types.is_string(table.schema.field(name).type)}
            return table
        self._texts |= set(times)
        return self._read(texts)


def as_lines(values: Any) -> Any:
    """Documents as texts that end with a line feed. Raises Unfit unless each of them is one object."""
    try:
        texts = values.cast(pa.string())
    except pa.ArrowInvalid as error:
        raise Unfit(f"a document is no UTF-8: {error}") from error
    if texts.null_count:
        raise Unfit("a record has no value")
    # Together with the number of rows that are read this proves that each record is one object.
    if not pc.all(pc.and_(pc.starts_with(texts, "{"), pc.ends_with(texts, "}"))).as_py():
        raise Unfit("a document is no object")
    return pc.binary_join_element_wise(texts, "", "\n")


def content(texts: Any) -> Any:
    """The bytes of texts that were joined a moment ago, one behind the other."""
    _, ends, data = texts.buffers()
    return data.slice(0, memoryview(ends).cast("b").cast("i")[len(texts)])


def read_lines(lines: Any, known: pa.Schema, others: Literal["infer", "ignore"]) -> Any:
    """The rows of documents; `others`: what becomes of members that are not known. Raises Unfit."""
    data = content(lines)
    file: Any = pa.BufferReader(data)
    try:
        table = pyarrow.json.read_json(
            file,
            pyarrow.json.ReadOptions(use_threads=False, block_size=data.size + 1),
            pyarrow.json.ParseOptions(explicit_schema=known, unexpected_field_behavior=others),
        )
    except (pa.ArrowException, ValueError) as error:
        raise Unfit(str(error)) from error
    if table.num_rows != len(lines):
        raise Unfit("a record holds several documents")
    return table


def _is_absent(texts: Any, columns: Mapping[str, Any]) -> bool:
    """Whether nulls stand for members that documents do not have. Raises Unfit where some do and some do not."""
    with_nulls = [column for column in columns.values() if column.null_count]
    if not with_nulls:
        return False
    written = pc.count_substring(texts, _NULL)
    if not pc.max(written).as_py():
        return True
    words = [column for column in columns.values() if pa.types.is_string(column.type)]
    if any(_NULL in name for name in columns) or any(pc.any(pc.match_substring(word, _NULL)).as_py() for word in words):
        raise Unfit("a text holds the word null, beside members that are null")
    count = pa.repeat(pa.scalar(0, pa.int32()), len(texts))
    for column in with_nulls:
        count = pc.add(count, pc.is_null(column).cast(pa.int32()))
    if not pc.all(pc.equal(count, written)).as_py():
        raise Unfit("some documents have null where others have no such member")
    return False


def _numbers(texts: Any, columns: Mapping[str, Any], *, has_backslash: bool) -> dict[str, Any]:
    """How the numbers of each column of doubles are written. Raises Unfit."""
    made: dict[str, Any] = {}
    for name, column in columns.items():
        if not pa.types.is_floating(column.type):
            continue
        if not pc.all(pc.is_finite(column)).as_py():
            raise Unfit(f"the member {name} holds what is no number")
        made[name] = number_texts(column)
        is_whole = pc.fill_null(pc.equal(pc.trunc(column), column), False)
        if not pc.any(is_whole).as_py():
            continue
        # 1 and 1.0 are one double: the text tells them apart.
        if has_backslash and pc.any(pc.match_substring_regex(texts, r'\\.(?:[^"\\]|\\.)*"\s*:')).as_py():
            raise Unfit("a name may be written with a backslash")
        short = pc.match_substring_regex(texts, f'"{re.escape(name)}"\\s*:\\s*-?[0-9]+\\s*[,}}]')
        if not pc.any(short).as_py():
            continue
        if (pc.max(pc.abs(column.filter(short))).as_py() or 0) >= _EXACT:
            raise Unfit(f"the member {name} holds a number with too many digits")
        whole = pc.if_else(short, column, 0.0).cast(pa.int64()).cast(pa.string())
        made[name] = pc.if_else(short, whole, made[name])
    return made


def number_texts(column: Any) -> Any:
    """Doubles as JSON writes them: with a point, or with an exponent."""
    texts = column.cast(pa.string())
    bare = pc.invert(pc.match_substring_regex(texts, "[.e]"))
    if not pc.any(bare).as_py():
        return texts
    return pc.if_else(bare, pc.binary_join_element_wise(texts, ".0", ""), texts)


def printed(members: Members) -> Any:
    """The documents as texts. Raises Unfit."""
    count = members.record.num_rows
    parts: list[Any] = []
    for name, column in members.columns.items():
        text = members.numbers.get(name)
        parts.append((json.dumps(name, ensure_ascii=False) + ":", _printed(column, members) if text is None else text))
    if not parts:
        return pa.repeat(pa.scalar("{}", pa.string()), count)
    absent = members.is_absent and any(isinstance(text, pa.Array) and text.null_count for _, text in parts)
    if absent:
        return _without_absent(parts, count)
    flat: list[Any] = []
    for number, (head, text) in enumerate(parts):
        flat += [("{" if number == 0 else ",") + head, _filled(text)]
    return _joined([*flat, "}"], count)


def _without_absent(parts: list[tuple[str, Any]], count: int) -> Any:
    texts = [pc.binary_join_element_wise(f",{head}", text, "") for head, text in parts]
    # The empty text in front: Arrow leaves a row out in which everything is null.
    inner = pc.binary_join_element_wise("", *texts, "", null_handling="skip")
    return _joined([pc.binary_replace_slice(inner, 0, 1, "{"), "}"], count)


def _joined(parts: list[Any], count: int) -> Any:
    made = pc.binary_join_element_wise(*parts, "")
    return made if isinstance(made, pa.Array) else pa.repeat(made, count)


def _filled(text: Any) -> Any:
    if isinstance(text, pa.Scalar):
        return text if text.is_valid else _NULL
    return pc.fill_null(text, _NULL) if text.null_count else text


def _printed(column: Any, members: Members) -> Any:
    """One member of each document as JSON."""
    kind = column.type
    if isinstance(column, pa.Scalar):
        return pa.scalar(json.dumps(column.as_py(), ensure_ascii=False), pa.string())
    if pa.types.is_string(kind):
        return pc.binary_join_element_wise('"', column if members.is_plain else _escaped(column), '"', "")
    if pa.types.is_floating(kind):
        return number_texts(column)
    return column.cast(pa.string())


def _escaped(column: Any) -> Any:
    made = pc.replace_substring(pc.replace_substring(column, "\\", "\\\\"), '"', '\\"')
    if not pc.any(pc.match_substring_regex(made, r"[\x00-\x1f]")).as_py():
        return made
    for sign, written in _CONTROL.items():
        made = pc.replace_substring(made, sign, written)
    if pc.any(pc.match_substring_regex(made, r"[\x00-\x1f]")).as_py():
        raise Unfit("a text holds a control character")
    return made
