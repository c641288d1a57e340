"""What of a fetched buffer is copied: no markers, in read_committed no aborted transactions, nothing that came from the
target. Pure, hot.

The broker lists the aborted transactions that touch a fetched range as (producer id, first offset). Batches are met in
offset order: a transaction becomes active in the list when we reach its first offset, and ends at its abort marker.

A selection holds batches of one leader epoch only, so that every position inside it has one (R7): what lies behind an
election is fetched again. Elections are rare.

Whose batches came from the target is a matter of producer ids (`Stamps`). Nothing of a buffer is taken while one of its
producers is unknown: the caller finds out who it is and asks again, so that no batch slips through (R2).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from twinlog.wire.batch import BatchHeader, scan_plain, walk


@dataclass
class Stamps:
    """The producers of a cluster, as far as they are known: those whose batches are copied, those whose are not."""

    copied: set[int] = field(default_factory=lambda: {-1})  # -1: a producer that is not idempotent, so never a link
    left_out: set[int] = field(default_factory=set)


@dataclass(frozen=True)
class Selected:
    """The batches to copy and the range they account for."""

    payload: bytes | memoryview
    next_offset: int  # behind the last batch looked at
    last_epoch: int  # leader epoch of that batch
    strange: BatchHeader | None  # a batch of no known format; the range ends before it
    returned: tuple[tuple[int, int], ...] = ()  # offsets [from, to) that came from the target
    unknown: frozenset[int] = frozenset()  # producers to find out about; the range is empty then


def select_batches(
    records: memoryview, aborted: list[tuple[int, int]], position: int, last_epoch: int, stamps: Stamps | None = None
) -> Selected:
    """Leave out what must not be copied. Without anything to leave out the buffer passes as one view."""
    if not aborted:
        plain = scan_plain(records, position, None if stamps is None else stamps.copied)
        if plain.is_all and plain.end:
            return Selected(records[: plain.end], plain.next_offset, plain.leader_epoch, None)
    active: set[int] = set()
    coming = list(reversed(aborted))
    kept: list[tuple[int, int]] = []
    returned: list[tuple[int, int]] = []
    unknown: set[int] = set()
    whole = True
    before, next_offset, epoch = last_epoch, position, last_epoch
    strange: BatchHeader | None = None
    for at, header in walk(records):
        if not header.is_readable:
            strange = header
            break
        its_epoch = header.leader_epoch if header.magic == 2 else -1
        if at and its_epoch != epoch:
            break
        while coming and coming[-1][1] < header.next_offset:
            active.add(coming.pop()[0])
        if header.magic != 2:  # older than transactions
            kept.append((at, at + header.size))
        elif header.is_control:
            active.discard(header.producer_id)
            whole = False
        elif header.next_offset <= position or (header.is_transactional and header.producer_id in active):
            whole = False
        elif stamps is not None and header.producer_id in stamps.left_out:
            whole = False
            _stretch(returned, max(position, header.base_offset), header.next_offset)
        else:
            kept.append((at, at + header.size))
            if stamps is not None and header.producer_id not in stamps.copied:
                unknown.add(header.producer_id)
        next_offset = max(next_offset, header.next_offset)
        epoch = its_epoch
    if unknown:
        return Selected(b"", position, before, None, unknown=frozenset(unknown))
    return Selected(_join(records, kept, whole), next_offset, epoch, strange, tuple(returned))


def _stretch(ranges: list[tuple[int, int]], start: int, end: int) -> None:
    """Add a range; one that follows the last directly makes it longer."""
    if ranges and ranges[-1][1] == start:
        ranges[-1] = (ranges[-1][0], end)
    else:
        ranges.append((start, end))


def _join(records: memoryview, kept: list[tuple[int, int]], whole: bool) -> bytes | memoryview:
    if not kept:
        return b""
    if whole or len(kept) == 1:
        return records[kept[0][0] : kept[-1][1]]
    return b"".join(records[start:end] for start, end in kept)
