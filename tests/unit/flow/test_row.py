"""Rows: what goes into a crate comes out of it, in order, through Arrow or not."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.flow.parcel import FLUSH, Parcel
from twinlog.flow.parcel_queue import ParcelQueue
from twinlog.flow.row import FLUSH_ROW, LARGE, from_arrow, is_flush, pack, to_arrow, unpack
from twinlog.model.names import TopicPartition

offsets = st.integers(0, 2**62)
parcels = st.builds(
    Parcel,
    st.builds(TopicPartition, st.text("abc._-", min_size=1, max_size=20), st.integers(0, 1000)),
    offsets,
    offsets,
    st.sampled_from(["data", "begin", "fault", "gap"]),
    st.binary(max_size=200),
    fetched_us=offsets,
    epoch=st.integers(-1, 2**31 - 1),
    taken_us=st.just(0),
)


def plain(parcel: Parcel) -> Parcel:
    return parcel._replace(payload=bytes(parcel.payload))


@pytest.mark.proves("R3", "R4")
@given(st.lists(parcels, min_size=1, max_size=8))
def test_what_is_packed_comes_out_in_order_on_the_other_side_of_arrow(sent: list[Parcel]) -> None:
    (row,) = from_arrow(to_arrow(pack(sent)))
    got = unpack(row)
    assert [plain(parcel)._replace(taken_us=0) for parcel in got] == sent
    assert {parcel.taken_us for parcel in got} == {row.taken_us} != {0}


def test_a_flush_is_known_on_the_other_side_and_nothing_else_is_taken_for_one() -> None:
    (flush,) = from_arrow(to_arrow(FLUSH_ROW))
    assert is_flush(flush)
    note = Parcel(TopicPartition("t", 0), 0, 1, "begin", b"{}")
    for parcels in ([note], [note, note], [note, FLUSH]):
        (row,) = from_arrow(to_arrow(pack(parcels)))
        assert not is_flush(row)


@pytest.mark.proves("R1", "R3")
@given(st.lists(st.one_of(parcels, st.just(FLUSH)), max_size=20))
def test_everything_put_into_the_queue_is_handed_out_in_order_and_pushed_through(sent: list[Parcel]) -> None:
    loop = asyncio.new_event_loop()
    out = ParcelQueue(1 << 20, loop)
    for parcel in sent:
        out.put(parcel)
    out.put(None)
    rows = list(out.rows())
    loop.close()
    got = [plain(parcel) for row in rows for parcel in unpack(row) if parcel.kind != "flush"]
    assert got == [parcel for parcel in sent if parcel.kind != "flush"]
    assert (FLUSH in sent) == (bool(rows) and rows[-1] is FLUSH_ROW)


def test_a_large_parcel_travels_alone_and_uncopied() -> None:
    loop = asyncio.new_event_loop()
    out = ParcelQueue(1 << 24, loop)
    small = Parcel(TopicPartition("t", 0), 0, 1, "data", b"x")
    large = Parcel(TopicPartition("t", 1), 0, 1, "data", bytes(LARGE))
    for parcel in (small, small, large, small, None):
        out.put(parcel)
    rows = list(out.rows())
    loop.close()
    assert [len(unpack(row)) for row in rows] == [2, 1, 1]
    assert rows[1].payload is large.payload


def test_what_came_before_an_error_is_handed_out_first() -> None:
    loop = asyncio.new_event_loop()
    out = ParcelQueue(1 << 20, loop)
    parcel = Parcel(TopicPartition("t", 0), 0, 1, "data", b"x")
    out.put(parcel)
    out.put(RuntimeError("the source is on fire"))
    rows = out.rows()
    assert unpack(next(rows)) == [parcel]
    with pytest.raises(RuntimeError, match="on fire"):
        next(rows)
    loop.close()


@pytest.mark.proves("R1", "R9")
def test_what_waits_is_handed_out_after_the_reading_has_ended() -> None:
    """A slow target may hold Spark's thread back until the reader's loop is closed."""
    loop = asyncio.new_event_loop()
    out = ParcelQueue(1, loop)
    large = Parcel(TopicPartition("t", 1), 0, 1, "data", bytes(LARGE))
    out.put(large)
    out.put(large)
    out.put(None)
    loop.close()
    assert [parcel for row in out.rows() for parcel in unpack(row)] == [large, large]


@pytest.mark.proves("R11")
def test_room_is_made_row_by_row_and_not_when_all_that_waited_is_handed_out() -> None:
    """Otherwise nothing is fetched meanwhile, and over a long line a round trip is lost each time."""

    async def read() -> None:
        out = ParcelQueue(3 * LARGE, asyncio.get_running_loop())
        for number in range(6):
            out.put(Parcel(TopicPartition("t", number), 0, 1, "data", bytes(LARGE)))
        rows = out.rows()
        for _ in range(3):
            next(rows)
        waiting = asyncio.ensure_future(out.wait_for_room())
        await asyncio.sleep(0)
        assert not waiting.done(), "four rows are still there"
        next(rows)
        async with asyncio.timeout(5):
            await waiting

    asyncio.run(read())
