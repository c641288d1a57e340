"""Iceberg tables through PyIceberg: rows, new columns and positions in one commit. Runs in Python workers.

Positions are a property of the table, set in the commit that adds the rows: they outlive the snapshots that others
expire. The snapshot's summary has them, too, for people.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, ClassVar, Final

import pyarrow as pa
import pyarrow.compute

from twinlog.model.names import TopicPartition
from twinlog.pipelines.api import Finding, Retriable, SettingsRefused, SinkBatch
from twinlog.pipelines.sinks.lake.settings import IcebergSettings
from twinlog.pipelines.sinks.lake.sink import LakeSink, LakeTable, Note, Outrun
from twinlog.pipelines.sinks.object_store.partitioners import rows_of

pc: Any = pyarrow.compute
_NOTE: Final = "twinlog.positions."
_RETRIES: Final = "commit.retry.num-retries"
_TYPES: Final = ("rest", "sql", "glue", "hive", "dynamodb", "bigquery")
_JAVA: Final = {"RESTCatalog": "rest", "GlueCatalog": "glue", "HiveCatalog": "hive"}
_TRANSFORM: Final = re.compile(r"(\w+)\(\s*([^,()]+?)\s*(?:,\s*(\d+)\s*)?\)")
_TIMES: Final = {"year", "month", "day", "hour"}
_SIZED: Final = {"bucket", "truncate"}
_NEEDED: Final = "Iceberg tables need a package that is not installed; install the wheel with its extra [lake]"


def parts_of(text: str) -> list[tuple[str, str, int]]:
    """Column, transform and its number of each part of `country, day(at), bucket(id, 8)`. Raises SettingsRefused."""
    made = []
    for part in re.findall(r"[^,(]+\([^)]*\)|[^,]+", text):
        matched = _TRANSFORM.fullmatch(part.strip())
        name = matched[1].lower().removesuffix("s") if matched else ""
        if matched is None and "(" not in part and part.strip():
            made.append((part.strip(), "identity", 0))
        elif matched and ((name in _TIMES and not matched[3]) or (name in _SIZED and matched[3])):
            made.append((matched[2], name, int(matched[3] or 0)))
        elif part.strip():
            told = (
                f"{part.strip()}: not a column, year, month, day or hour of one, bucket(column, n), truncate(column, n)"
            )
            raise SettingsRefused([Finding("iceberg.tables.default-partition-by", told)])
    return made


class IcebergSink(LakeSink):
    """Rows into Iceberg tables."""

    also: ClassVar = (
        "org.apache.iceberg.connect.IcebergSinkConnector",
        "io.tabular.iceberg.connect.IcebergSinkConnector",
    )
    settings: ClassVar = IcebergSettings

    def __init__(self, s: IcebergSettings) -> None:
        findings = [*_refused(s), *_refused_of_catalog(s)]
        if findings:
            raise SettingsRefused(findings)
        self.s = s
        for name in ("", *s.tables):
            parts_of(s.of_table.get(f"{name}.partition-by", s.partition_by))
        self._lake: IcebergLake
        super().__init__(s, IcebergLake(s), creates=s.creates, evolves=s.evolves, interval_ms=s.interval_ms)
        self._patterns = {name: re.compile(s.of_table.get(f"{name}.route-regex", "")) for name in s.tables}

    def check(self) -> Iterable[Finding]:
        try:
            self._lake.catalog.list_namespaces()
            for name in self.fixed():
                if self._lake.load(name) is None and not self.s.creates:
                    yield Finding("iceberg.tables", f"{name}: no such table, and auto-create-enabled is off")
        except SettingsRefused as error:
            yield from error.findings
        except Exception as error:  # noqa: BLE001  catalogs raise what their clients raise
            yield Finding("iceberg.catalog.uri", f"the catalog does not answer: {told(error)}")

    def fixed(self) -> Sequence[str]:
        return () if self.s.route_field else self.s.tables

    def routes(self, batch: SinkBatch) -> Iterator[tuple[str, Any]]:
        if not self.s.route_field:
            yield from ((name, None) for name in self.s.tables)
            return
        chosen = [_text(row, self.s.route_field) for row in rows_of(batch)]
        if self.s.dynamic:
            for name in dict.fromkeys(chosen):
                yield (name or "").lower(), pa.array([value == name for value in chosen])
            return
        for name, pattern in self._patterns.items():
            yield name, pa.array([value is not None and pattern.fullmatch(value) is not None for value in chosen])


class IcebergLake:
    """The tables of an Iceberg catalog."""

    has_times: ClassVar[bool] = True
    widens: ClassVar[bool] = True

    def __init__(self, s: IcebergSettings) -> None:
        self._s = s

    @cached_property
    def catalog(self) -> Any:
        """The catalog's client. Raises SettingsRefused, Retriable."""
        try:
            from pyiceberg.catalog import load_catalog  # noqa: PLC0415  an extra
        except ImportError as error:
            raise SettingsRefused([Finding("connector.class", _NEEDED)]) from error
        keys = dict(self._s.catalog_keys)
        java = keys.pop("catalog-impl", "").rpartition(".")[2]
        keys.pop("io-impl", None)
        keys["type"] = _JAVA.get(java, keys.get("type", "rest"))
        if "client.region" in keys:
            keys.setdefault("s3.region", keys["client.region"])
        try:
            return load_catalog(self._s.catalog, **keys)
        except Exception as error:
            raise Retriable(f"the catalog does not answer: {told(error)}") from error

    def load(self, name: str) -> IcebergTable | None:
        from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError  # noqa: PLC0415

        try:
            return IcebergTable(self.catalog.load_table(name))
        except (NoSuchTableError, NoSuchNamespaceError):
            return None
        except (SettingsRefused, Retriable):
            raise
        except Exception as error:
            raise Retriable(f"table {name}: {told(error)}") from error

    def cuts(self, name: str) -> list[tuple[str, str, int]]:
        """How a new table is cut: by its own key, by the key of all tables."""
        return parts_of(self._s.of_table.get(f"{name}.partition-by", self._s.partition_by))

    def create(self, name: str, columns: pa.Schema, folders: Sequence[str]) -> None:
        from pyiceberg import transforms  # noqa: PLC0415
        from pyiceberg.exceptions import CommitFailedException, TableAlreadyExistsError  # noqa: PLC0415

        kinds: dict[str, Any] = {
            "identity": transforms.IdentityTransform, "year": transforms.YearTransform,
            "month": transforms.MonthTransform, "day": transforms.DayTransform, "hour": transforms.HourTransform,
            "bucket": transforms.BucketTransform, "truncate": transforms.TruncateTransform,
        }  # fmt: skip
        parts = [*self.cuts(name), *((folder, "identity", 0) for folder in folders)]
        try:
            self.catalog.create_namespace_if_not_exists(name.rpartition(".")[0])
            keys = dict(self._s.create_keys)
            with self.catalog.create_table_transaction(name, schema=columns, properties=keys) as made:
                if parts:
                    with made.update_spec() as spec:
                        for column, kind, number in parts:
                            transform = kinds[kind](number) if number else kinds[kind]()
                            label = None if kind == "identity" else f"{column.replace('.', '_')}_{kind}"
                            spec.add_field(column, transform, label)
        except (TableAlreadyExistsError, CommitFailedException):  # another task was faster
            return
        except Exception as error:
            raise Retriable(f"table {name} cannot be created: {told(error)}") from error


class IcebergTable:
    """A table of a catalog."""

    def __init__(self, table: Any) -> None:
        # PyIceberg would repeat a commit that came too late on top of the others; its positions would then be wrong.
        properties = {**table.metadata.properties, _RETRIES: "0"}
        table.metadata = table.metadata.model_copy(update={"properties": properties})
        self._table = table
        self.columns = plain(table.schema().as_arrow())

    def note(self, connector: str) -> Note:
        text = self._table.metadata.properties.get(f"{_NOTE}{connector}")
        if text is None:
            return Note()
        document = json.loads(text)
        return Note(document["generation"], {TopicPartition.parse(place): at for place, at in document["next"].items()})

    def commit(self, rows: pa.Table, connector: str, note: Note) -> None:
        from pyiceberg.exceptions import CommitFailedException  # noqa: PLC0415

        places = {str(place): at for place, at in sorted(note.positions.items())}
        text = json.dumps({"generation": note.generation, "next": places}, separators=(",", ":"))
        new = [
            field
            for field in rows.schema
            if field.name not in self.columns.names or field != self.columns.field(field.name)
        ]
        try:
            with self._table.transaction() as made:
                if new:
                    with made.update_schema() as schema:
                        schema.union_by_name(pa.schema(new))
                made.set_properties({f"{_NOTE}{connector}": text})
                made.append(rows, snapshot_properties={"twinlog.connector": connector, "twinlog.positions": text})
        except CommitFailedException as error:
            raise Outrun(str(error)) from error
        except Exception as error:  # whether it is in is told by the table's positions, when it is opened again
            raise Retriable(f"table {'.'.join(self._table.name())}: {told(error)}") from error


def plain(schema: pa.Schema) -> pa.Schema:
    """A schema without the numbers of its fields."""
    return pa.schema([pa.field(field.name, _plain(field.type), field.nullable) for field in schema])


def _plain(kind: Any) -> Any:
    if pa.types.is_struct(kind):
        fields = [kind.field(n) for n in range(kind.num_fields)]
        return pa.struct([pa.field(field.name, _plain(field.type), field.nullable) for field in fields])
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(_plain(kind.value_type))
    if pa.types.is_map(kind):
        return pa.map_(_plain(kind.key_type), _plain(kind.item_type))
    if pa.types.is_large_string(kind):
        return pa.string()
    return pa.binary() if pa.types.is_large_binary(kind) else kind


def told(error: BaseException) -> str:
    """What went wrong, in one line."""
    text = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _text(row: Any, path: str) -> str | None:
    for name in path.split("."):
        row = row.get(name) if isinstance(row, dict) else None
    return None if row is None else str(row)


def _refused(s: IcebergSettings) -> Iterator[Finding]:
    if s.dynamic and not s.route_field:
        yield Finding("iceberg.tables.route-field", "missing; iceberg.tables.dynamic-enabled needs it")
    if not s.dynamic and not s.tables:
        yield Finding("iceberg.tables", "missing; or set iceberg.tables.dynamic-enabled and iceberg.tables.route-field")
    yield from (Finding("iceberg.tables", f"{table}: a table needs its namespace: shop.orders")
                for table in s.tables if "." not in table)  # fmt: skip
    if s.cdc_field or s.upserts:
        key = "iceberg.tables.cdc-field" if s.cdc_field else "iceberg.tables.upsert-mode-enabled"
        yield Finding(key, "rows are only added here, never changed: unwrap the changes and merge them in the lake")
    if s.branch not in {"", "main"}:
        yield Finding("iceberg.tables.default-commit-branch", f"{s.branch}: only main can be written")
    for key, value in s.of_table.items():
        if key.endswith(".route-regex"):
            try:
                re.compile(value)
            except re.error as error:
                yield Finding(f"iceberg.table.{key}", f"not a regular expression: {error}")


def _refused_of_catalog(s: IcebergSettings) -> Iterator[Finding]:
    java, kind = s.catalog_keys.get("catalog-impl", ""), s.catalog_keys.get("type", "rest")
    if java and java.rpartition(".")[2] not in _JAVA:
        yield Finding("iceberg.catalog.catalog-impl", f"{java}: Java classes are not loaded; type is one of {_said()}")
    elif not java and kind not in _TYPES:
        more = " (for a catalog that Java keeps in a database: type=sql, uri=postgresql+psycopg://…)"
        yield Finding("iceberg.catalog.type", f"{kind}: must be one of {_said()}{more if kind == 'jdbc' else ''}")
    for key in s.catalog_keys:
        if key.startswith(("py-", "auth.impl")):
            yield Finding(f"iceberg.catalog.{key}", "not allowed: it names code to load")


def _said() -> str:
    return ", ".join(_TYPES)


__all__ = ["IcebergLake", "IcebergSink", "LakeTable"]
