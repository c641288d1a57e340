"""Parcels on their way from the reader's loop to Spark's thread. Runs in the reader's Python worker."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from twinlog.flow.parcel import Parcel
from twinlog.flow.row import FLUSH_ROW, LARGE, Row, pack

_GATHERING: Final = 16  # small parcels that may wait before fetching pauses
_AT_ONCE: Final = 1024


@dataclass
class ParcelQueue:
    """Parcels on their way from the loop to Spark: bounded in bytes (R11), so a slow writer slows the fetching.

    Spark's thread takes all that waits at once. While it is busy small parcels gather and then share a row, and nothing
    is fetched in dribs and drabs.
    """

    limit: int
    loop: asyncio.AbstractEventLoop
    _items: queue.SimpleQueue[Parcel | BaseException | None] = field(default_factory=queue.SimpleQueue)
    _bytes: int = 0
    _count: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _room: asyncio.Event = field(default_factory=asyncio.Event)
    _failure: BaseException | None = None

    def put(self, item: Parcel | BaseException | None) -> None:
        """From the loop: add a parcel, an error, or None for the end."""
        if isinstance(item, Parcel):
            with self._lock:
                self._bytes += len(item.payload)
                self._count += 1
        self._items.put(item)

    @property
    def _full(self) -> bool:
        return self._bytes > self.limit or (self._count > _GATHERING and self._bytes < LARGE)

    async def wait_for_room(self) -> None:
        """From the loop: until Spark has taken enough."""
        while self._full:
            self._room.clear()
            if not self._full:
                return
            await self._room.wait()

    def rows(self) -> Iterator[Row]:
        """From Spark's thread: everything in order, small parcels in crates, one flush behind what waited."""
        ended = False
        while not ended:
            waiting, ended = self._take()
            flush = len(waiting) != len(parcels := [parcel for parcel in waiting if parcel.kind != "flush"])
            for some in _rows_of(parcels):
                yield pack(some)
                self._taken(some)  # row by row: the next fetch need not wait until all of them are handed over
            if flush:
                yield FLUSH_ROW
                self._taken([parcel for parcel in waiting if parcel.kind == "flush"])

    def _take(self) -> tuple[list[Parcel], bool]:
        """All that waits, at least one; and whether it is the end. What came before an error is handed over first."""
        taken: list[Parcel] = []
        while True:
            if self._failure is not None and not taken:
                raise self._failure
            try:
                item = self._items.get(block=not taken)
            except queue.Empty:
                return taken, False
            if item is None:
                return taken, True
            if isinstance(item, BaseException):
                self._failure = item
                if taken:
                    return taken, False
                continue
            taken.append(item)
            if len(taken) >= _AT_ONCE:
                return taken, False

    def _taken(self, parcels: list[Parcel]) -> None:
        with self._lock:
            self._bytes -= sum(len(parcel.payload) for parcel in parcels)
            self._count -= len(parcels)
        if not self._full and not self._room.is_set():
            # The reading may have ended, and its loop with it, while the writer held Spark's thread back.
            with contextlib.suppress(RuntimeError):
                self.loop.call_soon_threadsafe(self._room.set)


def _rows_of(parcels: list[Parcel]) -> Iterator[list[Parcel]]:
    """Large parcels alone, runs of small ones in crates: what shares a row."""
    small: list[Parcel] = []
    size = 0
    for parcel in parcels:
        if len(parcel.payload) >= LARGE or size + len(parcel.payload) > 2 * LARGE:
            if small:
                yield small
            small, size = [], 0
        if len(parcel.payload) >= LARGE:
            yield [parcel]
        else:
            small.append(parcel)
            size += len(parcel.payload)
    if small:
        yield small
