"""Fetch requests and answers, byte by byte, and what a session leaves unsaid."""

from __future__ import annotations

import uuid
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.fetchbroker import Asked, FetchBroker, Told, encode

from twinlog.model.names import TopicPartition
from twinlog.wire.fetch import FetchedPartition, FetchPosition, FetchRefused, FetchSession
from twinlog.wire.frames import FrameReader, compact_string, string, unsigned_varint

ORDERS, ORDERS_AGAIN, CLICKS = (str(uuid.UUID(int=number)) for number in (1, 2, 3))
FIRST = TopicPartition("orders", 0)
VERSIONS = pytest.mark.parametrize("version", [12, 13])


def session(*, lasting: bool = True) -> FetchSession:
    return FetchSession(max_bytes=8_000, max_wait_ms=500, min_bytes=1, read_committed=True, lasting=lasting)


def key_of(partition: TopicPartition, topic_id: str, version: int) -> tuple[str, int]:
    return (topic_id if version >= 13 else partition.topic, partition.partition)


@VERSIONS
def test_the_first_request_says_everything(version: int) -> None:
    talk = session()
    talk.positions[FIRST] = FetchPosition(ORDERS, 42, leader_epoch=3, last_epoch=2, max_bytes=777)
    request = FetchBroker(version).receive(talk)
    assert request.limits == (-1, 500, 1, 8_000)
    assert (request.isolation, request.session_id, request.epoch) == (1, 0, 0)
    assert request.asked == {key_of(FIRST, ORDERS, version): Asked(3, 42, 2, 777)}
    assert request.forgotten == []


def test_a_short_look_opens_no_session_and_repeats_itself() -> None:
    talk = session(lasting=False)
    talk.positions[FIRST] = FetchPosition(ORDERS, 42)
    broker = FetchBroker(13)
    for _ in range(2):
        request = broker.receive(talk)
        assert request.epoch == -1
        assert len(request.asked) == 1
        talk._read(FrameReader(broker.answer(request, [])), 13)


@VERSIONS
def test_an_answer_is_read_into_views_of_itself(version: int) -> None:
    talk = session()
    talk.positions[FIRST] = FetchPosition(ORDERS, 42)
    talk.positions[TopicPartition("orders", 7)] = FetchPosition(ORDERS, 5)
    talk.positions[TopicPartition("clicks", 1)] = FetchPosition(CLICKS, 9)
    broker = FetchBroker(version)
    orders, clicks = (ORDERS, CLICKS) if version >= 13 else ("orders", "clicks")
    told = [
        Told((orders, 0), b"x" * 300, marks=(50, 49, 10), aborted=((8, 44), (9, 43))),
        Told((orders, 7), b"", error=6, marks=(-1, -1, -1)),
        Told((clicks, 1), b"yz", marks=(12, 12, 0), aborted=(), diverging=(4, 11)),
    ]
    fetched = broker.poll(talk, told)
    assert [replace(part, records=memoryview(bytes(part.records))) for part in fetched] == [
        FetchedPartition(FIRST, 0, 50, 49, 10, [(9, 43), (8, 44)], None, memoryview(b"x" * 300)),
        FetchedPartition(TopicPartition("orders", 7), 6, -1, -1, -1, [], None, memoryview(b"")),
        FetchedPartition(TopicPartition("clicks", 1), 0, 12, 12, 0, [], 11, memoryview(b"yz")),
    ]
    assert len({id(part.records.obj) for part in fetched}) == 1


def test_an_answer_about_a_topic_no_longer_wanted_is_left_out() -> None:
    talk = session()
    talk.positions[FIRST] = FetchPosition(ORDERS_AGAIN, 0)
    fetched = FetchBroker(13).poll(talk, [Told((ORDERS, 0), b"old"), Told((ORDERS_AGAIN, 0), b"new")])
    assert [(part.partition, bytes(part.records)) for part in fetched] == [(FIRST, b"new")]


@pytest.mark.proves("R7")
def test_records_of_a_deleted_topic_are_not_taken_for_those_of_the_one_created_in_its_place() -> None:
    talk, broker = session(), FetchBroker(13)
    talk.positions[FIRST] = FetchPosition(ORDERS, 42)
    broker.poll(talk, [])
    under_way = broker.receive(talk)
    talk.positions[FIRST] = FetchPosition(ORDERS_AGAIN, 0)
    assert talk._read(FrameReader(broker.answer(under_way, [Told((ORDERS, 0), b"old")])), 13) == []
    fetched = broker.poll(talk, [Told((ORDERS, 0), b"old"), Told((ORDERS_AGAIN, 0), b"new")])
    assert [bytes(part.records) for part in fetched] == [b"new"]


def test_what_a_fetch_costs_does_not_grow_with_partitions_that_stand_still() -> None:
    talk, broker = session(), FetchBroker(13)
    talk.positions.replace({TopicPartition("orders", n): FetchPosition(ORDERS, 0) for n in range(1000)})
    broker.poll(talk, [])
    assert talk.positions.touched == set()
    broker.poll(talk, [Told((ORDERS, 7), b"x")])
    assert talk.positions.touched == {TopicPartition("orders", 7)}
    talk.reset()
    assert len(talk.positions.touched) == 1000


def test_a_session_speaks_only_of_what_changed() -> None:
    talk, broker = session(), FetchBroker(13)
    second = TopicPartition("orders", 1)
    talk.positions.replace({FIRST: FetchPosition(ORDERS, 10), second: FetchPosition(ORDERS, 20)})
    broker.poll(talk, [])
    quiet = broker.receive(talk)
    assert (quiet.session_id, quiet.epoch, quiet.asked, quiet.forgotten) == (1, 1, {}, [])
    talk._read(FrameReader(broker.answer(quiet, [Told((ORDERS, 0), b"x")])), 13)
    talk.positions[FIRST].offset = 11
    del talk.positions[second]
    request = broker.receive(talk)
    assert request.epoch == 2
    assert request.asked == {(ORDERS, 0): Asked(-1, 11, -1, 1 << 20)}
    assert request.forgotten == [(ORDERS, 1)]


@pytest.mark.parametrize("error", [70, 71, 106])
def test_a_lost_session_is_opened_again(error: int) -> None:
    talk, broker = session(), FetchBroker(13)
    talk.positions[FIRST] = FetchPosition(ORDERS, 10)
    broker.poll(talk, [])
    assert talk._read(FrameReader(encode(error, 0, [], 13)), 13) == []
    request = broker.receive(talk)
    assert (request.session_id, request.epoch, len(request.asked)) == (0, 0, 1)


def test_any_other_refusal_is_raised_and_begins_anew() -> None:
    talk, broker = session(), FetchBroker(13)
    talk.positions[FIRST] = FetchPosition(ORDERS, 10)
    broker.poll(talk, [])
    with pytest.raises(FetchRefused) as caught:
        talk._read(FrameReader(encode(31, 0, [], 13)), 13)
    assert caught.value.code == 31
    assert broker.receive(talk).epoch == 0


_positions = st.dictionaries(
    st.builds(TopicPartition, st.sampled_from(["orders", "clicks"]), st.integers(0, 2)),
    st.builds(FetchPosition, st.just(""), st.integers(0, 3), leader_epoch=st.integers(-1, 1)),
    max_size=4,
)
_turns = st.lists(
    st.tuples(st.sampled_from(["go on", "go on", "broker forgot", "no room", "reset"]), _positions, st.booleans()),
    max_size=6,
)


@pytest.mark.proves("R1")
@pytest.mark.parametrize("version", [12, 13])
@given(turns=_turns)
def test_the_broker_always_reads_what_we_want_read(
    version: int, turns: list[tuple[str, dict[TopicPartition, FetchPosition], bool]]
) -> None:
    talk, broker = session(), FetchBroker(version)
    for event, positions, again in turns:
        ids = {"orders": ORDERS_AGAIN if again else ORDERS, "clicks": CLICKS}
        talk.positions.replace({key: replace(at, topic_id=ids[key.topic]) for key, at in positions.items()})
        broker.has_room = event != "no room"
        if event == "broker forgot":
            broker.restart()
            broker.poll(talk, [])  # refused: the session begins anew
        if event == "reset":
            talk.reset()
        broker.poll(talk, [])
        assert broker.partitions == {
            key_of(key, at.topic_id, version): Asked(at.leader_epoch, at.offset, -1, at.max_bytes)
            for key, at in talk.positions.items()
        }


_moves = st.lists(
    st.tuples(
        st.sampled_from(["answer", "answer", "answer", "place", "remove", "lost", "no room", "created anew"]),
        st.sets(st.integers(0, 5), max_size=4),
    ),
    max_size=25,
)


@given(_moves)
def test_positions_that_answers_move_are_always_told(moves: list[tuple[str, set[int]]]) -> None:
    """As a reader does it: an answer moves its partitions, others are placed, taken away or created anew between."""
    talk, broker = session(), FetchBroker(13)
    ids = dict.fromkeys(range(6), ORDERS)
    for event, numbers in moves:
        for number in numbers:
            where = TopicPartition("orders", number)
            match event:
                case "place":
                    talk.positions[where] = FetchPosition(ids[number], 0)
                case "remove":
                    talk.positions.pop(where, None)
                case "created anew":
                    ids[number] = ORDERS_AGAIN
                    talk.positions[where] = FetchPosition(ORDERS_AGAIN, 0)
        if event == "lost":
            talk.reset()
        broker.has_room = event != "no room"
        request = broker.receive(talk)
        told = [Told((talk.positions[w].topic_id, w.partition), b"x") for w in talk.positions if w.partition in numbers]
        fetched = talk._read(FrameReader(broker.answer(request, told)), 13)
        assert {part.partition.partition for part in fetched} == {key[1] for key in (one.key for one in told)}
        assert broker.partitions == {
            key_of(key, at.topic_id, 13): Asked(at.leader_epoch, at.offset, -1, at.max_bytes)
            for key, at in talk.positions.items()
        }
        for part in fetched:
            talk.positions[part.partition].offset += 1


@given(st.integers(0, 1 << 35), st.text(), st.text(max_size=50) | st.none())
def test_frames_read_what_they_write(number: int, text: str, other: str | None) -> None:
    reader = FrameReader(unsigned_varint(number) + compact_string(other) + string(other) + compact_string(text))
    assert (reader.uvarint(), reader.compact_string(), reader.string()) == (number, other, other)
    assert reader.compact_string() == text
    assert reader.at == len(reader.data)


def test_varints_are_those_of_the_protocol() -> None:
    assert [unsigned_varint(number).hex() for number in (0, 127, 128, 300, 1 << 31)] == [
        "00",
        "7f",
        "8001",
        "ac02",
        "8080808008",
    ]
