"""The parcel: what travels from the reader to the writer.

A parcel is what one fetch brought for one partition: raw batches, and the range of source offsets it accounts for.
Offsets of that range without a batch were looked at and are not copied (markers, aborted transactions, compaction).

    first ─────────────── payload ────────────── next
      │ batch │ batch │ (aborted) │ batch │        │         first of a parcel = next of the one before

A `returned` parcel is a data parcel of which the reader left out what came from the target: before its batches it says
which offsets those are.

A `changed` parcel is a data parcel whose records went through transforms: before its batches it says which offsets were
left out, and why. A `records` parcel has no batches: it says how many rows of single records follow it, and of which
batches they are (`record_rows.py`).

Parcels without batches are notes from the reader to the writer: `begin` (a partition is read from here on), `fault` (it
cannot be read), `gap` (offsets that the source lost and the policy skips), `flush` (nothing: it pushes what is before
it through Spark, see `row.py`).

All batches of a parcel have one leader epoch of the source, which the ledger keeps beside the position: a source that
was truncated is recognised by it.

A parcel carries the time at which it was fetched, and gets the time at which the writer has it: both run on one
machine, so one clock tells both.
"""

from __future__ import annotations

import struct
from typing import Final, Literal, NamedTuple, TypeAlias

from twinlog.flow.left_out import LeftOut, Ranges
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.names import TopicPartition

Kind: TypeAlias = Literal["data", "returned", "begin", "fault", "gap", "flush", "records", "changed"]
BATCHES: Final = frozenset({"data", "returned", "changed"})
"""Kinds with batches."""


class Parcel(NamedTuple):
    """Batches of one partition, or a note about it."""

    partition: TopicPartition
    first: int
    next: int
    kind: Kind
    payload: bytes | memoryview
    fetched_us: int = 0
    epoch: int = -1  # leader epoch of the batch before `next`; -1: unknown
    taken_us: int = 0  # not carried: known to the writer only


FLUSH: Final = Parcel(TopicPartition("", -1), 0, 0, "flush", b"")
_COUNT: Final = struct.Struct(">I")
_RANGE: Final = struct.Struct(">qq")


def data_parcel(
    partition: TopicPartition,
    first: int,
    next_offset: int,
    payload: bytes | memoryview,
    returned: Ranges,
    *,
    fetched_us: int = 0,
    epoch: int = -1,
) -> Parcel:
    """Batches, and the offsets of those that were left out because they came from the target."""
    if not returned:
        return Parcel(partition, first, next_offset, "data", payload, fetched_us, epoch)
    listed = (*_listed(returned), payload)
    return Parcel(partition, first, next_offset, "returned", b"".join(listed), fetched_us, epoch)


def changed_parcel(parcel: Parcel, next_offset: int, payload: bytes, left_out: LeftOut) -> Parcel:
    """What became of a parcel behind the transforms."""
    listed = [part for ranges in left_out for part in _listed(ranges)]
    return parcel._replace(next=next_offset, kind="changed", payload=b"".join([*listed, payload]))


def unwrap(parcel: Parcel) -> tuple[Parcel, LeftOut]:
    """A data parcel without what it says of offsets that were left out, and that."""
    if parcel.kind not in {"returned", "changed"}:
        return parcel, LeftOut()
    view, at = memoryview(parcel.payload), 0
    lists: list[Ranges] = []
    for _ in LeftOut._fields if parcel.kind == "changed" else ("returned",):
        (count,) = _COUNT.unpack_from(view, at)
        begin, at = at + _COUNT.size, at + _COUNT.size + count * _RANGE.size
        lists.append([(first, behind) for first, behind in _RANGE.iter_unpack(view[begin:at])])
    return parcel._replace(kind="data", payload=view[at:]), LeftOut(*lists)


def _listed(ranges: Ranges) -> list[bytes]:
    return [_COUNT.pack(len(ranges)), *(_RANGE.pack(*part) for part in ranges)]


def now_us() -> int:
    """Microseconds since 1970, the clock of all stages."""
    return SYSTEM_CLOCK.now_us()
