"""A link's numbers over days: a row per minute in a SQLite file of this machine. Runs in the service.

The monitor keeps an hour of looks in memory. Of each minute the worst lag, age and latency and the mean throughput are
kept here, for thirty days. A service that did not run left no rows: gaps stay gaps.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from twinlog.model.health.history import Sample

log = logging.getLogger("twinlog.watch")

KEPT_DAYS: Final = 30
_MINUTE_MS: Final = 60_000
_DAY_MS: Final = 86_400_000
_FIELDS: Final = (
    "state", "lag_records", "lag_seconds", "rpo_seconds", "rpo_records", "records_per_second", "bytes_per_second",
    "latency_ms", "faults", "copied_p50_ms", "copied_p99_ms",
)  # fmt: skip
_MEAN: Final = frozenset({"records_per_second", "bytes_per_second", "copied_p50_ms"})
_TABLE: Final = (
    f"CREATE TABLE IF NOT EXISTS minutes (link TEXT, at_ms INTEGER, {', '.join(_FIELDS)}, "
    "PRIMARY KEY (link, at_ms)) WITHOUT ROWID"
)


@dataclass
class DayHistory:
    """The file. Every method may be called from any thread; none raises for a file that cannot be used."""

    path: Path
    _last: dict[str, int] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _db: sqlite3.Connection | None = None
    _broken: bool = False

    def keep(self, link: str, samples: Sequence[Sample]) -> None:
        """Write every minute that is over and was not written yet."""
        if not samples:
            return
        now = samples[-1].at_ms // _MINUTE_MS
        since = self._last.get(link, 0)
        by_minute: dict[int, list[Sample]] = {}
        for sample in samples:
            minute = sample.at_ms // _MINUTE_MS
            if since < minute < now:
                by_minute.setdefault(minute, []).append(sample)
        if by_minute:
            self._last[link] = max(by_minute)
            self._write([(link, minute * _MINUTE_MS, *_row(samples)) for minute, samples in by_minute.items()])

    def read(self, link: str, since_ms: int, points: int) -> list[Sample]:
        """Return the minutes since a time, the worst of each stretch, so many at most."""
        with self._lock:
            try:
                db = self._open()
                sql = f"SELECT at_ms, {', '.join(_FIELDS)} FROM minutes WHERE link = ? AND at_ms >= ? ORDER BY at_ms"  # noqa: S608
                rows = [] if db is None else db.execute(sql, (link, since_ms)).fetchall()
            except sqlite3.Error as error:
                self._fail(error)
                rows = []
        samples = [Sample(*row) for row in rows]
        step = max(1, -(-len(samples) // points))
        return samples if step == 1 else [Sample(part[0].at_ms, *_row(part)) for part in _parts(samples, step)]  # type: ignore[arg-type]

    def _write(self, rows: Sequence[tuple[object, ...]]) -> None:
        with self._lock:
            try:
                if (db := self._open()) is None:
                    return
                marks = ", ".join("?" * (2 + len(_FIELDS)))
                with db:
                    db.executemany(f"INSERT OR REPLACE INTO minutes VALUES ({marks})", rows)  # noqa: S608  only marks
                    newest = max(int(str(row[1])) for row in rows)
                    db.execute("DELETE FROM minutes WHERE at_ms < ?", (newest - KEPT_DAYS * _DAY_MS,))
            except sqlite3.Error as error:
                self._fail(error)

    def _open(self) -> sqlite3.Connection | None:
        if self._db is None and not self._broken:
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                self._fail(error)
                return None
            self._db = sqlite3.connect(self.path, check_same_thread=False, timeout=2)
            self._db.execute(_TABLE)
        return self._db

    def _fail(self, error: Exception) -> None:
        if not self._broken:
            log.warning("%s: history over days is not kept: %s", self.path, error)
        self._broken, self._db = True, None


def _parts(samples: Sequence[Sample], step: int) -> list[Sequence[Sample]]:
    return [samples[at : at + step] for at in range(0, len(samples), step)]


def _row(samples: Sequence[Sample]) -> tuple[object, ...]:
    """One row of several looks: of what is bad the worst, of what is a speed the mean. Unknown is None."""
    row: list[object] = [samples[-1].state]
    for name in _FIELDS[1:]:
        known = [value for sample in samples if (value := getattr(sample, name)) is not None]
        row.append(None if not known else sum(known) / len(known) if name in _MEAN else max(known))
    return tuple(row)
