"""CsvConverter and XmlConverter: lines of values and small documents, as expressions. Made on the driver.

value.converter=CsvConverter
value.converter.columns=id INT, name STRING, at STRING
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from typing import ClassVar, Final, cast

from pyspark.sql import Column
from pyspark.sql import functions as F

from twinlog.pipelines.records import Decoded, Encoded, PlanRefused, Problem, Shape
from twinlog.pipelines.schemas import Field, Schema, TypeName
from twinlog.pipelines.settings import Finding, Setting, SettingsRefused, read_settings, setting

_CORRUPT: Final = "_corrupt"
_COLUMN: Final = re.compile(r"(?:`(?P<quoted>[^`]+)`|(?P<name>[^\s`]+))\s+(?P<kind>\w+)")
_TYPES: Final = {
    "boolean": "boolean", "tinyint": "int8", "smallint": "int16", "int": "int32", "bigint": "int64", "float": "float",
    "double": "double", "string": "string", "binary": "bytes", "integer": "int32", "long": "int64",
}  # fmt: skip


@setting
class CsvSettings:
    """Keys of CsvConverter."""

    columns: str = Setting("columns", "names and types: id INT, name STRING")
    separator: str = Setting("separator", "between two values", ",")
    quote: str = Setting("quote", "around values that hold the separator", '"')
    null: str = Setting("null.text", "how null is written", "")


@setting
class XmlSettings:
    """Keys of XmlConverter."""

    columns: str = Setting("columns", "names and types of the elements inside of the root: id INT, name STRING")
    root: str = Setting("root", "name of the outermost element when writing", "record")


class _Columns:
    carries_schemas: ClassVar[bool] = False
    what: ClassVar[str]

    def __init__(self, columns: str) -> None:
        self.ddl = columns
        self.schema = schema_of_ddl(columns)

    def tell(self, data: bytes) -> tuple[Hashable, bytes]:
        return None, data

    def shape(self, schema: Hashable) -> Shape:  # noqa: ARG002
        return Shape(self.schema)

    def _checked(self, column: Column, read: Column) -> Decoded:
        broken = F.isnotnull(column) & (F.isnull(read) | F.isnotnull(read.getField(_CORRUPT)))
        names = [F.coalesce(read.getField(field.name)).alias(field.name) for field in self.schema.fields]
        value = F.when(F.isnotnull(column), F.struct(*names))
        return Decoded(value, (Problem(broken, F.lit(f"these bytes are no {self.what} of the columns: {self.ddl}")),))

    def _writable(self, shape: Shape) -> None:
        if shape.schema is None or shape.schema.type != "struct":
            raise PlanRefused(f"{type(self).__name__} writes structs")
        wrong = [field.name for field in shape.schema.fields if field.schema.type in {"struct", "array", "map"}]
        if wrong and self.what == "CSV":
            raise PlanRefused(f"CsvConverter writes flat structs; {', '.join(wrong)} is not flat. Flatten makes it so")


class CsvConverter(_Columns):
    """One line of CSV per record."""

    also: ClassVar = ("io.twinlog.CsvConverter",)
    settings: ClassVar = CsvSettings
    what = "CSV"

    def __init__(self, config: Mapping[str, str]) -> None:
        self.s = read_settings(CsvSettings, config)
        super().__init__(self.s.columns)
        self._options = {"sep": self.s.separator, "quote": self.s.quote, "nullValue": self.s.null}

    def decode(self, column: Column, shape: Shape) -> Decoded:  # noqa: ARG002
        options = {**self._options, "mode": "PERMISSIVE", "columnNameOfCorruptRecord": _CORRUPT}
        read = F.from_csv(column.cast("string"), f"{self.ddl}, {_CORRUPT} STRING", options)
        return self._checked(column, read)

    def encode(self, column: Column, shape: Shape) -> Encoded:
        self._writable(shape)
        return Encoded(F.when(F.isnotnull(column), F.to_csv(column, self._options).cast("binary")))


class XmlConverter(_Columns):
    """One XML document per record."""

    also: ClassVar = ("io.twinlog.XmlConverter",)
    settings: ClassVar = XmlSettings
    what = "XML"

    def __init__(self, config: Mapping[str, str]) -> None:
        self.s = read_settings(XmlSettings, config)
        super().__init__(self.s.columns)

    def decode(self, column: Column, shape: Shape) -> Decoded:  # noqa: ARG002
        options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _CORRUPT}
        read = F.from_xml(column.cast("string"), f"{self.ddl}, {_CORRUPT} STRING", options)
        return self._checked(column, read)

    def encode(self, column: Column, shape: Shape) -> Encoded:
        self._writable(shape)
        text = F.to_xml(column, {"rowTag": self.s.root, "indent": ""})
        return Encoded(F.when(F.isnotnull(column), text.cast("binary")))


def schema_of_ddl(text: str) -> Schema:
    """The struct of `id INT, name STRING`. Raises SettingsRefused. Needs no Spark: workers and `validate` have none."""
    fields = []
    for part in text.split(","):
        matched = _COLUMN.fullmatch(part.strip())
        kind = _TYPES.get(matched["kind"].lower()) if matched is not None else None
        if matched is None or kind is None:
            known = ", ".join(name.upper() for name in _TYPES)
            message = f"{part.strip()!r} is no name and type; types are {known}"
            raise SettingsRefused([Finding("columns", message)])
        name = matched["quoted"] if matched["quoted"] is not None else matched["name"]
        fields.append(Field(name, Schema(cast("TypeName", kind), optional=True)))
    return Schema("struct", fields=tuple(fields))
