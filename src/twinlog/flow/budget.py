"""Bytes on their way through the writer, and partitions that wait to be opened. Runs in the writer's Python worker."""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass, field

from twinlog.flow.parcel import Parcel
from twinlog.flow.takeover import Begin


@dataclass
class Budget:
    """Bytes on their way through the writer: Spark's thread waits here when the target is slow."""

    limit: int
    used: int = 0
    failure: BaseException | None = None
    full_since: float | None = None  # Spark's thread waits for room since then
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def take(self, size: int) -> None:
        """From Spark's thread: wait for room. Raises what ended the writing."""
        with self._changed:
            while self.used > 0 and self.used + size > self.limit and self.failure is None:
                self.full_since = self.full_since or time.monotonic()
                self._changed.wait()
            self.full_since = None
            if self.failure is not None:
                raise self.failure
            self.used += size

    def check(self) -> None:
        """From Spark's thread: raise what ended the writing, if it ended."""
        if self.failure is not None:
            raise self.failure

    def give(self, size: int) -> None:
        """From the loop: bytes are done with."""
        if size:
            with self._changed:
                self.used -= size
                self._changed.notify()

    def fail(self, failure: BaseException) -> None:
        """From the loop: writing has ended."""
        with self._changed:
            self.failure = self.failure or failure
            self._changed.notify()


@dataclass
class Opening:
    """A partition whose shard is being taken over, and what came for it meanwhile."""

    begin: Begin
    parcels: deque[Parcel] = field(default_factory=deque)
    since: float = field(default_factory=time.monotonic)
    overflown: bool = False  # others needed the room: what came was dropped and must be read again

    def empty(self) -> int:
        """Forget what waits; returns its bytes."""
        held = sum(len(parcel.payload) for parcel in self.parcels)
        self.parcels.clear()
        return held
