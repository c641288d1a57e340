"""Large payloads go from the reader's Python worker to the writer's in memory that both see, not through Spark's JVM.

Both workers of a task are processes of one executor. The reader makes a nameless file in memory (memfd) of fixed size,
copies payloads into it, and sends rows that only say where; everything else about rows, their order and their end is
Spark's. Without it each byte crosses two sockets and is copied by the JVM.

    reader: row, 1 MB ──▶ slot 3 of the file              writer: row, 1 MB (a view of slot 3)
                    └──▶  row "@", 12 bytes  ──▶ JVM ──▶  ──┘   slot 3 is free again when its last view is gone

The first row of a task introduces the file. The writer opens it through /proc, as a process of the same user, and sets
a byte in it. Until that byte is set, and whenever no slot is free, payloads travel in their rows as ever: a system
without memfd or /proc copies the same records, only slower. The reader never waits for a slot.

A slot is used again only when the writer has marked it as free. A process that dies cannot mark anything: its slots are
lost to this task, and the memory goes with the last of the two processes.
"""

from __future__ import annotations

import contextlib
import logging
import mmap
import os
import secrets
import stat
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa

from twinlog.flow.row import Row

log = logging.getLogger("twinlog.write")

SHARED: Final = b"@"
"""Begins the head of a row whose payload is elsewhere. Heads of other rows begin with a small number or "+"."""
INTRODUCTION: Final = b"@@"
"""The head of the row that says where the file is."""
SHARED_FROM: Final = 32_768
"""Bytes from which on a payload is shared. A smaller one costs little in its row."""
_FILE: Final = struct.Struct("=qiq16s")  # process, file descriptor, bytes, token
_PLACE: Final = struct.Struct("=iqq")  # slot, offset, bytes
_TOKEN_BYTES: Final = 16
_OPENED: Final = _TOKEN_BYTES
_FLAGS: Final = 64
_CONTROL_BYTES: Final = 1 << 16
"""The beginning of the file: token, whether the writer opened it, one byte per slot that is taken."""
_MOST_SLOTS: Final = _CONTROL_BYTES - _FLAGS
_FILE_NAME: Final = "twinlog-rows"


# --- the reader's side ------------------------------------------------------------------------------------------------


@dataclass
class SharedMemory:
    """The file of one reading task and its slots. A slot's size is a power of two, so slots of one size are alike."""

    limit: int
    fd: int = field(init=False)
    token: bytes = field(default_factory=lambda: secrets.token_bytes(_TOKEN_BYTES))
    _end: int = 0  # of all slots
    _slots: int = 0
    _free: dict[int, list[tuple[int, int]]] = field(default_factory=dict)  # by size: slot, offset
    _taken: list[tuple[int, int, int]] = field(default_factory=list)  # slot, offset, size

    def __post_init__(self) -> None:
        self.fd = os.memfd_create(_FILE_NAME, os.MFD_CLOEXEC)
        try:
            os.ftruncate(self.fd, _CONTROL_BYTES + self.limit)
            self._memory = mmap.mmap(self.fd, _CONTROL_BYTES + self.limit)
        except BaseException:
            os.close(self.fd)
            raise
        self._memory[:_TOKEN_BYTES] = self.token

    @property
    def introduction(self) -> Row:
        """What tells the writer where the file is."""
        return Row(INTRODUCTION, _FILE.pack(os.getpid(), self.fd, self.limit, self.token))

    @property
    def opened(self) -> bool:
        """Whether the writer has it."""
        return self._memory[_OPENED] == 1

    def put(self, row: Row) -> Row:
        """The row with its payload in a slot; the row itself if there is none."""
        size = len(row.payload)
        if size < SHARED_FROM or not self.opened or (place := self._take(size)) is None:
            return row
        slot, offset = place
        begin = _CONTROL_BYTES + offset
        self._memory[begin : begin + size] = row.payload
        return Row(SHARED + row.head, _PLACE.pack(slot, offset, size))

    def _take(self, size: int) -> tuple[int, int] | None:
        wanted = 1 << (size - 1).bit_length()
        if not self._free.get(wanted):
            self._sweep()
        if free := self._free.get(wanted):
            slot, offset = free.pop()
        elif self._end + wanted <= self.limit and self._slots < _MOST_SLOTS:
            slot, offset = self._slots, self._end
            self._slots, self._end = slot + 1, self._end + wanted
        else:
            return None
        self._memory[_FLAGS + slot] = 1
        self._taken.append((slot, offset, wanted))
        return slot, offset

    def _sweep(self) -> None:
        """Find the slots that the writer is done with. When these are all, the next sizes may be others."""
        still: list[tuple[int, int, int]] = []
        for slot, offset, size in self._taken:
            if self._memory[_FLAGS + slot]:
                still.append((slot, offset, size))
            else:
                self._free.setdefault(size, []).append((slot, offset))
        self._taken = still
        if not still:
            self._free, self._slots, self._end = {}, 0, 0

    def close(self) -> None:
        """Let the memory go; what the writer has opened stays until the writer is done with it."""
        self._memory.close()
        os.close(self.fd)


def shared(rows: Iterable[Row], limit: int) -> Iterator[Row]:
    """Rows with large payloads in memory that the writer sees, in the same order. At most `limit` bytes of it."""
    try:
        memory = SharedMemory(limit)
    except (OSError, AttributeError) as trouble:  # no memfd: not Linux, or forbidden
        log.info("payloads go through Spark's JVM: %s", trouble)
        yield from rows
        return
    with contextlib.closing(memory):
        yield memory.introduction
        for row in rows:
            yield memory.put(row)


# --- the writer's side ------------------------------------------------------------------------------------------------


class SeenMemory:
    """The reader's file as the writer has it mapped: payloads to read, flags to write."""

    def __init__(self, process: int, number: int, size: int, token: bytes) -> None:
        # Never waits: should the process be another one by now, the file may be anything.
        fd = os.open(f"/proc/{process}/fd/{number}", os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            about = os.fstat(fd)
            if not stat.S_ISREG(about.st_mode) or about.st_size != _CONTROL_BYTES + size:
                raise FileNotFoundError(f"file {number} of process {process} is another one")
            self.control = mmap.mmap(fd, _CONTROL_BYTES)
            self._payloads = pa.py_buffer(mmap.mmap(fd, _CONTROL_BYTES + size, prot=mmap.PROT_READ))
        finally:
            os.close(fd)
        if self.control[:_TOKEN_BYTES] != token:
            raise FileNotFoundError(f"file {number} of process {process} is of another task")
        self.control[_OPENED] = 1

    def view(self, slot: int, offset: int, size: int) -> memoryview:
        """A payload. The slot is free again when this view and all slices of it are gone."""
        address = self._payloads.address + _CONTROL_BYTES + offset
        buffer: Any = pa.foreign_buffer(address, size, base=_Taken(self, slot))
        return memoryview(buffer)

    def free(self, slot: int) -> None:
        """Nobody looks at it any more."""
        self.control[_FLAGS + slot] = 0


class _Taken:
    """A slot that is in use. Arrow keeps this object until the last view of the payload is gone."""

    __slots__ = ("_memory", "_slot")

    def __init__(self, memory: SeenMemory, slot: int) -> None:
        self._memory, self._slot = memory, slot

    def __del__(self) -> None:
        self._memory.free(self._slot)


def resolved(rows: Iterable[Row]) -> Iterator[Row]:
    """The rows that `shared` got."""
    memory: SeenMemory | None = None
    for row in rows:
        if not row.head.startswith(SHARED):
            yield row
        elif row.head == INTRODUCTION:
            memory = _seen(row)
        else:
            assert memory is not None  # noqa: S101  the reader shares nothing before the memory was opened
            yield Row(row.head[1:], memory.view(*_PLACE.unpack(row.payload)), row.taken_us)


def _seen(introduction: Row) -> SeenMemory | None:
    try:
        return SeenMemory(*_FILE.unpack(introduction.payload))
    except OSError as trouble:
        log.info("payloads go through Spark's JVM: %s", trouble)
        return None
