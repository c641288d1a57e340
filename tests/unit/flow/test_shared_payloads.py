"""Large payloads pass Spark in memory that reader and writer share, and come out as they were."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.flow.pieces import in_pieces, joined
from twinlog.flow.row import FLUSH_ROW, Row, from_arrow, to_arrow
from twinlog.flow.shared_payloads import SHARED, SHARED_FROM, SharedMemory, resolved, shared

LIMIT = 8 * SHARED_FROM
HEAD = b"\x00head"


def row(size: int, head: bytes = HEAD) -> Row:
    return Row(head, os.urandom(size))


def whole(seen: Row) -> Row:
    """A row with its payload as bytes."""
    return seen._replace(payload=bytes(seen.payload))


def through_spark(rows: Iterator[Row]) -> Iterator[Row]:
    """One row after the other, as Spark hands them on; the writer sees each before the reader makes the next."""
    return (seen for row in rows for seen in from_arrow(to_arrow(row)))


@pytest.mark.proves("R1", "R3")
@given(st.lists(st.tuples(st.integers(0, 5 * SHARED_FROM), st.booleans(), st.integers(0, 6)), max_size=30))
def test_rows_come_out_as_they_went_in_however_long_the_writer_keeps_them(shapes: list[tuple[int, bool, int]]) -> None:
    sent = [FLUSH_ROW, *(row(size, b"" if crate else HEAD) for size, crate, _ in shapes)]
    lasts = [0, *(keep for _, _, keep in shapes)]
    held: list[tuple[int, memoryview, bytes]] = []
    arrived = 0
    for number, got in enumerate(joined(resolved(through_spark(in_pieces(shared(iter(sent), LIMIT)))))):
        assert (got.head, bytes(got.payload)) == (sent[number].head, bytes(sent[number].payload))
        assert all(bytes(view) == whole for _, view, whole in held), "what the writer still holds was overwritten"
        half = len(got.payload) // 2
        held.append((number + lasts[number], memoryview(got.payload)[half:], bytes(sent[number].payload[half:])))
        held = [(until, view, whole) for until, view, whole in held if until > number]
        arrived += 1
    assert arrived == len(sent)


def opened_memory() -> tuple[SharedMemory, Any]:
    """A reader's memory that a writer has opened, and the writer."""
    memory = SharedMemory(LIMIT)
    inbox: list[Row] = [memory.introduction]

    def arriving() -> Iterator[Row]:
        while True:
            yield inbox.pop(0)

    writer = resolved(arriving())
    inbox.append(FLUSH_ROW)
    assert next(writer) is FLUSH_ROW
    assert memory.opened

    def deliver(sent: Row) -> Row:
        inbox.append(sent)
        return next(writer)

    return memory, deliver


def test_a_large_payload_does_not_travel_in_its_row() -> None:
    memory, deliver = opened_memory()
    sent = row(SHARED_FROM)
    travelling = memory.put(sent)
    assert travelling.head == SHARED + HEAD
    assert len(travelling.payload) < 100
    assert whole(deliver(travelling)) == sent
    assert memory.put(small := row(SHARED_FROM - 1)) is small
    memory.close()


def test_a_slot_is_used_again_when_its_last_view_is_gone() -> None:
    memory, deliver = opened_memory()
    views = [deliver(memory.put(row(SHARED_FROM))).payload for _ in range(8)]
    assert memory.put(full := row(SHARED_FROM)) is full
    part = views[3][10:20]
    del views[3]
    assert memory.put(full) is full, "a slice of it is still looked at"
    assert len(part) == 10
    del part
    assert memory.put(full).head == SHARED + HEAD
    memory.close()


def test_slots_of_another_size_are_made_when_nothing_is_held() -> None:
    memory, deliver = opened_memory()
    views = [deliver(memory.put(row(SHARED_FROM))).payload for _ in range(8)]
    assert memory.put(large := row(LIMIT)) is large
    views.clear()
    assert whole(deliver(memory.put(large))) == large
    memory.close()


def test_what_the_writer_holds_stays_when_the_reader_is_gone() -> None:
    memory, deliver = opened_memory()
    sent = row(SHARED_FROM)
    got = deliver(memory.put(sent))
    memory.close()
    assert whole(got) == sent


@pytest.mark.parametrize("wrong", ["process", "file", "token", "size"])
def test_a_writer_that_cannot_open_the_file_gets_whole_rows(wrong: str) -> None:
    """Also when the number of the process or of the file belongs to something else by now."""
    rows = shared(iter([large := row(LIMIT)]), LIMIT)
    introduction = next(rows)
    file = {"process": (0, 8), "file": (8, 12), "size": (12, 20), "token": (20, 36)}[wrong]
    told = bytearray(introduction.payload)
    told[slice(*file)] = bytes(file[1] - file[0])
    got = list(resolved(through_spark(iter([introduction._replace(payload=bytes(told)), *rows]))))
    assert [whole(arrived)._replace(taken_us=0) for arrived in got] == [large]


def test_a_system_without_such_memory_sends_whole_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "memfd_create")
    sent = [FLUSH_ROW, row(LIMIT)]
    assert list(shared(iter(sent), LIMIT)) == sent
