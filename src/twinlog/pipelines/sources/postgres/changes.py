"""Changes from a replication stream, as chunks with positions. Runs in a Python worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import psycopg

from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.pipelines.api import Chunk, Offset, SourcePartition
from twinlog.pipelines.sources.debezium.envelope import Change, chunk_of, position_only
from twinlog.pipelines.sources.postgres.boundary import Boundary
from twinlog.pipelines.sources.postgres.catalogue import Catalogue, Stream
from twinlog.pipelines.sources.postgres.pgoutput import (
    UNCHANGED,
    Begin,
    Commit,
    Relation,
    Row,
    RowChange,
    parse,
)
from twinlog.pipelines.sources.postgres.replication import Replication
from twinlog.pipelines.sources.postgres.settings import PostgresSettings


class Changes:
    """The stream behind one position."""

    def __init__(
        self, s: PostgresSettings, replication: Replication, catalogue: Catalogue, db: psycopg.Connection[Any],
        start: Offset, *, boundary: Boundary | None = None,
    ) -> None:  # fmt: skip
        self._boundary = boundary  # of a snapshot that was interrupted: changes behind it are left out
        self._s, self._replication, self._catalogue, self._db = s, replication, catalogue, db
        self.position: dict[str, Any] = dict(start)
        self._streams: dict[int, Stream | None] = {}
        self._begin: Begin | None = None
        self._seen = 0  # changes of the open transaction
        self._skip = int(str(start.get("done", 0)))
        # A position of Debezium itself: it names the last change by its place in the log.
        self._skip_lsn = 0 if "done" in start else int(str(start.get("lsn_proc") or start.get("lsn") or 0))
        self._skip_commit = 0 if "done" in start else int(str(start.get("lsn_commit") or 0))
        self._skip_parts = int(str(start.get("part", 0)))  # of the change behind the skipped ones
        self.told: dict[str, Any] = dict(start)  # the position of the last chunk
        self._waiting: list[Change] = []
        self._stream: Stream | None = None

    @property
    def restart_lsn(self) -> int:
        return int(str(self.position.get("end_lsn") or self.position.get("lsn_commit") or self.position["lsn"]))

    def chunks(self, at: SourcePartition, stop: Callable[[], bool], wait_s: float) -> Iterator[Chunk]:
        """Chunks until nothing comes for `wait_s`."""
        while not stop():
            got = self._replication.next(wait_s if not self._waiting else 0)
            if got is None:
                if self._waiting:
                    yield from self._handed_on(at)
                    continue
                return
            lsn, data = got
            yield from self._handle(parse(data), lsn, at)
        if self._waiting:
            yield from self._handed_on(at)

    def chunks_up_to(self, end: int, at: SourcePartition, stop: Callable[[], bool], wait_s: float) -> Iterator[Chunk]:
        """Chunks of all transactions whose commit stands before `end`, and the position behind them."""
        while not stop():
            got = self._replication.next(wait_s if not self._waiting else 0)
            if got is not None:
                lsn, data = got
                message = parse(data)
                if isinstance(message, Begin) and message.final_lsn >= end:
                    break
                yield from self._handle(message, lsn, at)
            elif self._waiting:
                yield from self._handed_on(at)
            elif self._begin is None and self._replication.server_end >= end:
                break
            else:
                self._replication.ask()
        if self._waiting:
            yield from self._handed_on(at)
        if self.position != self.told:
            self.told = dict(self.position)
            yield position_only(f"{self._s.prefix}.position", at, dict(self.position))

    def _handle(self, message: Any, lsn: int, at: SourcePartition) -> Iterator[Chunk]:
        if isinstance(message, RowChange):
            for part, (change, stream) in enumerate(self._row(message, lsn)):
                if part:
                    self.position = {**self.position, "part": part}
                if part < self._skip_parts:
                    continue
                if self._stream is not None and stream is not self._stream:
                    yield from self._handed_on(at)
                self._stream = stream
                self._waiting.append(change)
            self._count(lsn)
            if len(self._waiting) >= self._s.batch_rows:
                yield from self._handed_on(at)
        elif isinstance(message, Begin):
            self._begin, self._seen = message, 0
        elif isinstance(message, Commit):
            self._committed(message)
        elif isinstance(message, Relation):
            if self._waiting:
                yield from self._handed_on(at)
            self._streams[message.oid] = self._known(message)

    def _known(self, relation: Relation) -> Stream | None:
        if not self._catalogue.wanted(relation.schema, relation.table):
            return None
        stream = self._catalogue.stream_of(relation, self._db)
        return None if self._boundary is not None and self._boundary.is_before(stream) else stream

    def _row(self, row: RowChange, lsn: int) -> Iterator[tuple[Change, Stream]]:
        stream, begin = self._streams.get(row.relation), self._begin
        if stream is None or begin is None or row.op in self._s.skipped or self._was_done(begin, lsn):
            return
        source = {
            "connector": "postgresql", "name": self._s.prefix, "snapshot": "false", "db": self._s.database,
            "schema": stream.schema, "table": stream.name, "txId": begin.xid, "lsn": lsn,
            "sequence": f'["{self.position.get("lsn_commit")}","{lsn}"]',
        }  # fmt: skip
        old = None if row.old is None else stream.picked(row.old)
        new = None if row.new is None else stream.picked(row.new)
        if row.op == "u" and old is not None and new is not None and self._key_differs(stream, old, new):
            # Another key is another row for readers of the topic.
            yield Change("d", old, None, source, begin.at_us), stream
            yield Change("c", None, new, source, begin.at_us), stream
            return
        if row.op == "u" and row.old_is_key:
            old = None
        if new is not None and old is not None:
            new = [o if n is UNCHANGED else n for n, o in zip(new, old, strict=True)]
        yield Change(row.op, old, new, source, begin.at_us), stream

    def _key_differs(self, stream: Stream, old: Row, new: Row) -> bool:
        places = [stream.table.place(name) for name in stream.table.key]
        return any(old[place] != new[place] for place in places)

    def _was_done(self, begin: Begin, lsn: int) -> bool:
        if self._seen < self._skip:
            return True
        return begin.final_lsn <= self._skip_commit or (0 < lsn <= self._skip_lsn)

    def _count(self, lsn: int) -> None:
        """One more change of the open transaction was read."""
        self._seen += 1
        if self._seen > self._skip:
            begin = self._begin
            self._skip_parts = 0
            self.position = {
                **_whole(self.position), "lsn_proc": lsn, "lsn": lsn, "done": self._seen,
                "end_lsn": self.restart_lsn, "txId": begin.xid if begin else None,
                "ts_usec": begin.at_us if begin else None,
            }  # fmt: skip

    def _committed(self, commit: Commit) -> None:
        self._skip = self._seen = 0
        if commit.commit_lsn > self._skip_commit:
            self._skip_lsn = 0
        self._begin = None
        self.position = {
            **_whole(self.position), "lsn_proc": commit.commit_lsn, "lsn": commit.commit_lsn,
            "lsn_commit": commit.commit_lsn, "end_lsn": commit.end_lsn, "done": 0, "ts_usec": commit.at_us,
        }  # fmt: skip

    def _handed_on(self, at: SourcePartition) -> Iterator[Chunk]:
        """What waits, as one chunk; nothing if all of it is left out."""
        stream, changes = self._stream, self._waiting
        assert stream is not None  # noqa: S101  there are changes, so there is a stream
        self._waiting, self._stream = [], None
        if self._boundary is not None:
            changes = self._boundary.kept(stream, changes)
        if not changes:
            return
        self.told = dict(self.position)
        now = int(SYSTEM_CLOCK.now_s() * 1_000_000)
        yield chunk_of(
            stream.table, stream.makers, changes, at, self.told, now_us=now, tombstones=self._s.tombstones
        )  # fmt: skip


def _whole(position: dict[str, Any]) -> dict[str, Any]:
    """A position that stands behind a whole change."""
    return {key: value for key, value in position.items() if key != "part"}
