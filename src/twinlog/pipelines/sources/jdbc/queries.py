"""SQL of the JDBC source: which rows are new. Pure.

incrementing                id > ?
timestamp                   ts > ? AND ts < now
timestamp+incrementing      ts < now AND ((ts = ? AND id > ?) OR ts > ?)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from twinlog.pipelines.sinks.jdbc.tables import Words
from twinlog.pipelines.sources.jdbc.settings import JdbcSourceSettings


@dataclass(frozen=True)
class Position:
    """How far a table was read."""

    incrementing: int | None = None
    timestamp_us: int | None = None


@dataclass(frozen=True)
class Query:
    """A statement. Values are whole numbers and stand in the text: COPY takes no parameters."""

    text: str


class Queries:
    """Statements for one table or one query."""

    def __init__(self, s: JdbcSourceSettings, words: Words, table: str | None) -> None:
        self.s, self.words = s, words
        self.base = s.query if table is None else f"SELECT * FROM {words.name(table)}"
        self.time = [words.identifier(timestamp) for timestamp in s.timestamps]
        self.number = words.identifier(s.incrementing) if s.incrementing else ""

    @property
    def _when(self) -> str:
        return self.time[0] if len(self.time) == 1 else f"COALESCE({', '.join(self.time)})"

    def rows(self, at: Position, until_us: int | None, limit: int) -> Query:
        """New rows in order."""
        if self.s.mode == "bulk":
            return Query(" ".join(filter(None, (self.base, self.s.suffix))))
        conditions: list[str] = []
        order: list[str] = []
        if "timestamp" in self.s.mode:
            order.append(self._when)
            if until_us is not None:
                conditions.append(f"{self._when} < {self._time(until_us)}")
            if at.timestamp_us is not None and self.s.mode == "timestamp":
                conditions.append(f"{self._when} > {self._time(at.timestamp_us)}")
            elif at.timestamp_us is not None:
                number = -1 if at.incrementing is None else at.incrementing
                then = self._time(at.timestamp_us)
                same = f"({self._when} = {then} AND {self.number} > {number:d})"
                conditions.append(f"({same} OR {self._when} > {then})")
        elif at.incrementing is not None:
            conditions.append(f"{self.number} > {at.incrementing:d}")
        if "incrementing" in self.s.mode:
            order.append(self.number)
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        ordered = ", ".join(f"{column} ASC" for column in order)
        text = f"{self._source()}{where} ORDER BY {ordered} LIMIT {limit}"
        return Query(" ".join(filter(None, (text, self.s.suffix))))

    def gaps(self, numbers: Sequence[int]) -> Query:
        """Rows of missing numbers."""
        listed = ", ".join(f"{number:d}" for number in numbers)
        return Query(f"{self._source()} WHERE {self.number} IN ({listed}) ORDER BY {self.number} ASC")

    def _source(self) -> str:
        return f"SELECT * FROM ({self.base}) q" if self.s.query else self.base

    def _time(self, micros: int) -> str:
        if self.words.product == "postgresql":
            return f"(TIMESTAMP 'epoch' + {micros:d} * INTERVAL '1 microsecond')"
        return f"(TIMESTAMP('1970-01-01') + INTERVAL {micros:d} MICROSECOND)"
