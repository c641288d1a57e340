"""Records behind the body of an answer: the leader sends a follower what it wrote.

    x-registry-records: OFFSET TIME LENGTH        body of the answer, then LENGTH bytes of records

A follower that is far away would read the same records from the topic, up to two round trips later. Only an instance
that asks for them gets them, so a follower of another make sees nothing of this.
"""

import struct
from typing import Final, NamedTuple

from twinlog.registry.records import Record
from twinlog.registry.writes.round import Written

WANTED: Final = (b"x-registry-wants", b"records")
RECORDS: Final = b"x-registry-records"
_SIZES: Final = struct.Struct(">ii")
_NONE: Final = -1


class Told(NamedTuple):
    """Records and the offset of the first one."""

    first: int
    ts: int
    records: list[Record]


def packed(written: Written) -> tuple[bytes, bytes] | None:
    """The value of the header, and the bytes behind the body; None where there is nothing to tell."""
    if written.first is None:
        return None
    parts: list[bytes] = []
    for record in written.plan.records:
        value = record.value
        parts += [_SIZES.pack(len(record.key), _NONE if value is None else len(value)), record.key, value or b""]
    tail = b"".join(parts)
    return b"%d %d %d" % (written.first, written.ts, len(tail)), tail


def unpacked(header: bytes, body: bytes) -> tuple[bytes, Told]:
    """The body of the answer, and what was told behind it. Raises ValueError."""
    first, ts, length = (int(number) for number in header.split(b" "))
    if not 0 < length <= len(body):
        raise ValueError("the records are not there")
    at, records = len(body) - length, list[Record]()
    while at < len(body):
        if at + _SIZES.size > len(body):
            raise ValueError("the records are cut off")
        key_size, value_size = _SIZES.unpack_from(body, at)
        at += _SIZES.size
        end = at + key_size + max(value_size, 0)
        if key_size < 0 or end > len(body):
            raise ValueError("the records are cut off")
        records.append(Record(body[at : at + key_size], None if value_size < 0 else body[at + key_size : end]))
        at = end
    return body[: len(body) - length], Told(first, ts, records)
