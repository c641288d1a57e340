"""One batch on its way to the target, and how far it has come. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from twinlog.flow.shape import Piece
from twinlog.flow.stopwatch import Passage
from twinlog.flow.unnoted import Writing
from twinlog.model.ledger.records import Gap

SEQUENCES: Final = 0x7FFFFFFF
"""Sequence numbers go round behind this one."""


class Progress(Enum):
    """How far one batch has come."""

    WAITING = auto()
    SENT = auto()
    FAILED = auto()  # to be sent again, with the same sequence number
    ACKED = auto()


@dataclass(slots=True, eq=False)
class Outgoing:
    """One batch, or a stretch of source offsets without records (piece None)."""

    piece: Piece | None
    source_next: int
    epoch: int = -1  # the source's leader epoch before `source_next`
    release: int = 0  # bytes of the parcel that this one, being its last, gives back
    gap: Gap | None = None
    head: bytes = b""  # the batch's header with our stamp
    progress: Progress = Progress.WAITING
    target: int = -1  # where it lies; of a stretch: nothing of ours before this target offset is unknown any more
    sequence_next: int = -1
    writing: Writing | None = None  # an older owner wrote it
    passage: Passage | None = None  # when it passed which stage; None: nobody sent it now
    repeated: bool = False

    @property
    def parts(self) -> tuple[bytes, bytes]:
        """What goes to the broker."""
        return self.head, self.piece.batch.records if self.piece else b""

    @property
    def size(self) -> int:
        return sum(map(len, self.parts))

    @property
    def first(self) -> int:
        """The source offset of its first record; -1: it has none."""
        return self.piece.first if self.piece else -1

    @property
    def sequences(self) -> tuple[int, int]:
        """The sequence numbers of its first and of its last record."""
        records = self.piece.records if self.piece else 0
        return (self.sequence_next - records) & SEQUENCES, (self.sequence_next - 1) & SEQUENCES
