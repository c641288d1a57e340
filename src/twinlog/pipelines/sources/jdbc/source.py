"""The JDBC source: new rows of tables, in chunks, each with its position. Runs in Python workers.

A table is a source partition. Positions are Confluent's: `{"protocol":"1","table":"shop.public.orders"}` ->
`{"incrementing":17}` or `{"timestamp":…,"timestamp_nanos":…,"incrementing":…}`; ours add `gaps` (see gaps.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Final

import pyarrow as pa

from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.pipelines.api import Chunk, Finding, Offset, Retriable, Schema, SettingsRefused, SourcePartition
from twinlog.pipelines.databases.addresses import read_address
from twinlog.pipelines.sources.jdbc.gaps import Gaps
from twinlog.pipelines.sources.jdbc.queries import Position, Queries
from twinlog.pipelines.sources.jdbc.reading import Reading, connected
from twinlog.pipelines.sources.jdbc.settings import JdbcSourceSettings

_QUERY: Final = "query"
_OWN: Final = "twinlog_positions"


class JdbcSource:
    """The JDBC source: rows of tables as records of topics."""

    also: ClassVar = (
        "io.confluent.connect.jdbc.JdbcSourceConnector",
        "io.aiven.connect.jdbc.JdbcSourceConnector",
    )
    settings: ClassVar = JdbcSourceSettings
    previews: ClassVar = True

    def __init__(self, s: JdbcSourceSettings) -> None:
        self.s = s
        findings = []
        try:
            self.address = read_address(s.url, s.user, s.password)
        except ValueError as error:
            findings.append(Finding("connection.url", str(error)))
        if "incrementing" in s.mode and not s.incrementing:
            findings.append(Finding("incrementing.column.name", f"mode={s.mode} needs the name of the column"))
        if "timestamp" in s.mode and not s.timestamps:
            findings.append(Finding("timestamp.column.name", f"mode={s.mode} needs the name of the column"))
        if s.query and (s.include or s.exclude):
            findings.append(Finding("query", "query and table.whitelist or table.blacklist exclude each other"))
        if findings:
            raise SettingsRefused(findings)
        self._db: Reading | None = None

    @property
    def db(self) -> Reading:
        if self._db is None:
            self._db = connected(self.address, quote=self.s.quote == "always")
        return self._db

    @property
    def rescan_ms(self) -> int:
        return self.s.rescan_ms

    def limited(self, rows: int) -> JdbcSource:
        """The same source with chunks of so many rows, also where a table is read in one piece. For a preview."""
        bulk = self.s.mode == "bulk" and "limit" not in self.s.suffix.lower()
        suffix = f"{self.s.suffix} LIMIT {rows}".strip() if bulk else self.s.suffix
        return JdbcSource(replace(self.s, batch=min(rows, self.s.batch), suffix=suffix))

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
        self._db = None

    def partitions(self) -> Sequence[SourcePartition]:
        if self.s.query:
            return [SourcePartition({_QUERY: _QUERY})]
        try:
            tables = self.db.tables(self.s.schema)
        finally:
            self.close()
        return [self._partition(table) for table in tables if self._wanted(table)]

    def _partition(self, table: str) -> SourcePartition:
        """A table. Older drivers of PostgreSQL told no catalog; older connectors stored the name of the table alone."""
        catalog, _, rest = table.partition(".")
        short = [{"protocol": "1", "table": rest}] if catalog and self.address.product == "postgresql" else []
        return SourcePartition({"protocol": "1", "table": table}, (*short, {"table": table.rpartition(".")[2]}))

    def _wanted(self, table: str) -> bool:
        spellings = {table.split(".", n)[-1] for n in range(3)} | {table}
        if self.s.include:
            return bool(spellings & set(self.s.include))
        return not spellings & set(self.s.exclude) and not table.endswith(f".{_OWN}")

    def check(self) -> Iterable[Finding]:
        try:
            if not self.partitions():
                yield Finding("table.whitelist", f"{self.address} has no such tables")
        except Retriable as error:
            yield Finding("connection.url", f"no connection: {error}")

    def read(self, at: SourcePartition, start: Offset | None, stop: Callable[[], bool]) -> Iterator[Chunk]:
        full = str(at.at["table"]) if "table" in at.at else None
        # The catalog of PostgreSQL is the database that we are connected to.
        table = None if full is None else full.split(".", 1)[1] if self.address.product == "postgresql" else full
        topic = self.s.prefix + ("" if full is None else full.rpartition(".")[2])
        try:
            yield from self._read(at, start, stop, table, topic)
        except Retriable:
            self.close()
            raise

    def _read(
        self, at: SourcePartition, start: Offset | None, stop: Callable[[], bool], table: str | None, topic: str
    ) -> Iterator[Chunk]:
        queries = Queries(self.s, self.db.words, table)
        position, gaps = self._start(start)
        schema = replace(
            self.db.schema(queries.rows(Position(), None, 1), table, self._numeric),
            name=None if table is None else table.rpartition(".")[2],
        )
        if self.s.mode == "bulk":
            rows = self.db.rows(queries.rows(position, None, 0), schema)
            yield Chunk(topic, rows, at, {"bulk": SYSTEM_CLOCK.now_ms()}, schema=schema)
            return
        if gaps.numbers:
            rows = self.db.rows(queries.gaps(gaps.numbers), schema)
            numbers = _numbers(rows, self.s.incrementing)
            now = self.db.now_us() // 1000  # the clock that tells when transactions began
            left = gaps.after(position.incrementing, numbers, now)
            left = left.without_old(now, self.s.gap_ms, self.db.oldest_transaction_ms())
            if rows.num_rows or left != gaps:
                gaps = left
                yield Chunk(topic, rows, at, self._offset(position, gaps), schema=schema)
        while not stop():
            until = self.db.now_us() - self.s.delay_ms * 1000 if "timestamp" in self.s.mode else None
            rows = self.db.rows(queries.rows(position, until, self.s.batch), schema)
            if not rows.num_rows:
                return
            rows, complete = self._cut(rows)
            position, gaps = self._after(position, gaps, rows)
            yield Chunk(topic, rows, at, self._offset(position, gaps), schema=schema)
            if complete:
                return

    @property
    def _numeric(self) -> str:
        return "precision_only" if self.s.numeric_precision else self.s.numeric

    def _cut(self, rows: pa.RecordBatch) -> tuple[pa.RecordBatch, bool]:
        """In mode timestamp a chunk must not end among rows of one time: the rest would be skipped."""
        if rows.num_rows < self.s.batch:
            return rows, True
        if self.s.mode != "timestamp":
            return rows, False
        times = rows.column(self.s.timestamps[0]).to_pylist()
        same = sum(1 for moment in times if moment == times[-1])
        if same == len(times):
            raise Retriable(
                f"more than batch.max.rows={self.s.batch} rows have the same {self.s.timestamps[0]}; raise it, or use "
                "mode=timestamp+incrementing", 10_000,
            )  # fmt: skip
        return rows.slice(0, rows.num_rows - same), False

    def _start(self, start: Offset | None) -> tuple[Position, Gaps]:
        if start is None:
            initial = self.s.initial_ms
            if initial is not None and "timestamp" in self.s.mode:
                first = self.db.now_us() if initial < 0 else initial * 1000
                return Position(None, first), Gaps({})
            return Position(), Gaps({})
        number, millis, nanos = start.get("incrementing"), start.get("timestamp"), start.get("timestamp_nanos")
        at = None
        if millis is not None:
            seconds = int(millis) // 1000
            at = seconds * 1_000_000 + (int(nanos) // 1000 if nanos is not None else int(millis) % 1000 * 1000)
        text = start.get("gaps")
        return Position(None if number is None else int(number), at), Gaps.parse(None if text is None else str(text))

    def _after(self, before: Position, gaps: Gaps, rows: pa.RecordBatch) -> tuple[Position, Gaps]:
        at = before
        if "timestamp" in self.s.mode:
            last = rows.column(self.s.timestamps[0]).cast(pa.timestamp("us")).cast(pa.int64())[-1].as_py()
            at = Position(at.incrementing, last)
        if "incrementing" in self.s.mode:
            numbers = _numbers(rows, self.s.incrementing)
            at = Position(numbers[-1], at.timestamp_us)
            if self.s.mode == "incrementing" and self.s.gap_ms:
                is_whole = len(numbers) == numbers[-1] - (before.incrementing or 0)
                gaps = gaps.after(before.incrementing, numbers, 0 if is_whole else self.db.now_us() // 1000)
        return at, gaps

    @staticmethod
    def _offset(at: Position, gaps: Gaps) -> dict[str, Any]:
        offset: dict[str, Any] = {}
        if at.timestamp_us is not None:
            offset["timestamp_nanos"] = at.timestamp_us % 1_000_000 * 1000
            offset["timestamp"] = at.timestamp_us // 1000
        if at.incrementing is not None:
            offset["incrementing"] = at.incrementing
        if gaps.since:
            offset["gaps"] = str(gaps)
        return offset


def _numbers(rows: pa.RecordBatch, column: str) -> list[int]:
    return [int(number) for number in rows.column(column).to_pylist()]  # type: ignore[arg-type]


__all__ = ["JdbcSource", "Schema"]
