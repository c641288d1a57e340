"""What of a fetched buffer is copied: no markers, and in read_committed no aborted transactions. Pure, hot.

The broker lists the aborted transactions that touch a fetched range as (producer id, first offset). Batches are met in
offset order: a transaction becomes active in the list when we reach its first offset, and ends at its abort marker.
"""

from __future__ import annotations

from dataclasses import dataclass

from twinlog.wire.batch import BatchHeader, scan_plain, walk


@dataclass(frozen=True)
class Selected:
    """The batches to copy and the range they account for."""

    payload: bytes | memoryview
    next_offset: int  # behind the last batch looked at
    last_epoch: int  # leader epoch of that batch
    strange: BatchHeader | None  # a batch of no known format; the range ends before it


def select_batches(records: memoryview, aborted: list[tuple[int, int]], position: int, last_epoch: int) -> Selected:
    """Leave out what must not be copied. Without anything to leave out the buffer passes as one view."""
    if not aborted:
        plain = scan_plain(records, position)
        if plain.is_all and plain.end:
            return Selected(records[: plain.end], plain.next_offset, plain.leader_epoch, None)
    active: set[int] = set()
    coming = list(reversed(aborted))
    kept: list[tuple[int, int]] = []
    whole = True
    next_offset = position
    for at, header in walk(records):
        if not header.is_readable:
            return Selected(_join(records, kept, whole), next_offset, last_epoch, header)
        while coming and coming[-1][1] < header.next_offset:
            active.add(coming.pop()[0])
        if header.magic != 2:  # older than transactions
            kept.append((at, at + header.size))
        elif header.is_control:
            active.discard(header.producer_id)
            whole = False
        elif header.is_transactional and header.producer_id in active:
            whole = False
        elif header.next_offset > position:
            kept.append((at, at + header.size))
        else:
            whole = False
        next_offset = max(next_offset, header.next_offset)
        last_epoch = header.leader_epoch if header.magic == 2 else -1
    return Selected(_join(records, kept, whole), next_offset, last_epoch, None)


def _join(records: memoryview, kept: list[tuple[int, int]], whole: bool) -> bytes | memoryview:
    if not kept:
        return b""
    if whole or len(kept) == 1:
        return records[kept[0][0] : kept[-1][1]]
    return b"".join(records[start:end] for start, end in kept)
