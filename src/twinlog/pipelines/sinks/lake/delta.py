"""Delta tables through delta-rs: rows, new columns and positions in one version of the table. Runs in Python workers.

Positions are Delta's application transactions: `twinlog/<connector>/<topic>/<partition>` holds the next offset, and
`twinlog/<connector>/<topic>/<partition>/owner` the generation of the owner.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from twinlog.model.names import TopicPartition
from twinlog.pipelines.api import Finding, Owner, Retriable, SettingsRefused, SinkBatch
from twinlog.pipelines.sinks.lake.iceberg import plain, told
from twinlog.pipelines.sinks.lake.settings import DeltaSettings
from twinlog.pipelines.sinks.lake.sink import LakeSink, Note, Outrun

_SCHEMES: Final = ("file", "s3", "s3a", "az", "abfs", "abfss", "gs")
_TOPIC: Final = "${topic}"
_NEEDED: Final = "Delta tables need a package that is not installed; install the wheel with its extra [lake]"


class DeltaSink(LakeSink):
    """Rows into Delta tables."""

    also: ClassVar = ("io.twinlog.DeltaSinkConnector",)
    settings: ClassVar = DeltaSettings

    def __init__(self, s: DeltaSettings) -> None:
        if urlsplit(s.url).scheme not in _SCHEMES:
            known = ", ".join(f"{scheme}://" for scheme in _SCHEMES)
            raise SettingsRefused([Finding("delta.table.url", f"{s.url}: must begin with one of {known}")])
        self.s = s
        self._lake: DeltaLake
        super().__init__(s, DeltaLake(s), creates=s.creates, evolves=True, interval_ms=s.interval_ms)

    def check(self) -> Iterable[Finding]:
        try:
            self._lake.load(self.s.url.replace(_TOPIC, "_twinlog_check"))
        except SettingsRefused as error:
            yield from error.findings
        except Retriable as error:
            yield Finding("delta.table.url", str(error))

    def open(self, owner: Owner, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        self._lake.places = list(partitions)
        return super().open(owner, partitions)

    def fixed(self) -> Sequence[str]:
        return () if _TOPIC in self.s.url else (self.s.url,)

    def routes(self, batch: SinkBatch) -> Iterator[tuple[str, Any]]:
        yield self.s.url.replace(_TOPIC, batch.topic), None

    def positions(self, connector: str) -> None:
        """Not without partitions: Delta tells a transaction only to whoever knows its name. `open` tells them."""


class DeltaLake:
    """A store of tables."""

    has_times: ClassVar[bool] = False
    widens: ClassVar[bool] = False

    def __init__(self, s: DeltaSettings) -> None:
        self._s = s
        self.places: list[TopicPartition] = []  # whose positions are wanted

    def load(self, name: str) -> DeltaTable | None:
        try:
            import deltalake  # noqa: PLC0415  an extra
            from deltalake.exceptions import TableNotFoundError  # noqa: PLC0415
        except ImportError as error:
            raise SettingsRefused([Finding("connector.class", _NEEDED)]) from error
        try:
            return DeltaTable(deltalake.DeltaTable(name, storage_options=dict(self._s.storage)), self.places)
        except TableNotFoundError:
            return None
        except Exception as error:
            raise Retriable(f"table {name}: {told(error)}") from error

    def create(self, name: str, columns: pa.Schema, folders: Sequence[str]) -> None:
        import deltalake  # noqa: PLC0415

        if name.startswith("file:"):
            Path(unquote(urlsplit(name).path)).mkdir(parents=True, exist_ok=True)
        keys = {f"delta.{key.removeprefix('delta.')}": value for key, value in self._s.create_keys.items()}
        try:
            deltalake.DeltaTable.create(
                name, columns, mode="ignore", partition_by=list(folders) or None, configuration=keys,
                storage_options=dict(self._s.storage),
            )  # fmt: skip
        except Exception as error:
            raise Retriable(f"table {name} cannot be created: {told(error)}") from error


class DeltaTable:
    """A table in a store."""

    def __init__(self, table: Any, places: Sequence[TopicPartition]) -> None:
        self._table, self._places = table, places
        self.columns = plain(pa.schema(table.schema().to_arrow()))

    def note(self, connector: str) -> Note:
        version = self._table.transaction_version
        versions = {place: version(_app(connector, place)) for place in self._places}
        owners = [version(_owner(connector, place)) or 0 for place in self._places]
        return Note(max(owners, default=0), {place: at for place, at in versions.items() if at is not None})

    def commit(self, rows: pa.Table, connector: str, note: Note) -> None:
        from deltalake import CommitProperties, Transaction, write_deltalake  # noqa: PLC0415
        from deltalake.exceptions import CommitFailedError  # noqa: PLC0415

        noted = [Transaction(_app(connector, place), at) for place, at in note.positions.items()]
        noted += [Transaction(_owner(connector, place), note.generation) for place in note.positions]
        is_new = rows.schema.names != self.columns.names or plain(rows.schema) != self.columns
        try:
            write_deltalake(
                self._table, rows, mode="append", schema_mode="merge" if is_new else None,
                # No retries: a commit that came too late must look at the positions of the others first.
                commit_properties=CommitProperties(
                    custom_metadata={"twinlog.connector": connector}, app_transactions=noted, max_commit_retries=0
                ),
            )  # fmt: skip
        except CommitFailedError as error:
            raise Outrun(str(error)) from error
        except Exception as error:  # whether it is in is told by the table's positions, when it is opened again
            raise Retriable(f"table {self._table.table_uri}: {told(error)}") from error


def _app(connector: str, place: TopicPartition) -> str:
    return f"twinlog/{connector}/{place.topic}/{place.partition}"


def _owner(connector: str, place: TopicPartition) -> str:
    return f"{_app(connector, place)}/owner"
