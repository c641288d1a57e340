"""The judge sees what it is there to see: each planted fault is found, named and located."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.checker import compare_logs, judge_numbers
from tests.kit.logs import LogRecord
from tests.kit.records import Damaged, RecordMaker, Shape, Stamp, read_stamp
from tests.kit.verdict import Kind, Verdict

CREATE_TIME, LOG_APPEND_TIME = 1, 2
NOW_MS = 1_800_000_000_000
SEED = 11
Logs = dict[int, list[LogRecord]]


def made(partitions: int = 2, count: int = 40, shape: Shape = Shape.VARIED, seed: int = SEED) -> Logs:
    maker = RecordMaker(seed, shape)
    return {
        partition: [
            LogRecord(number, key, value, headers, (CREATE_TIME, timestamp_ms))
            for number in range(count)
            for key, value, headers, timestamp_ms in [maker.record(partition, number, NOW_MS + number)]
        ]
        for partition in range(partitions)
    }


def both_judges(target: Logs) -> tuple[Verdict, Verdict]:
    source = made()
    expected = {partition: range(len(log)) for partition, log in source.items()}
    return compare_logs(source, target), judge_numbers(SEED, expected, {}, target, "topic")


def changed(what: Callable[[LogRecord], LogRecord], number: int = 17) -> Logs:
    logs = made()
    logs[1][number] = what(logs[1][number])
    return logs


def number_where(fits: Callable[[LogRecord], bool]) -> int:
    return next(record.offset for record in made()[1] if fits(record))


def test_equal_logs_are_equal_wherever_their_offsets_lie() -> None:
    target = {p: [record._replace(offset=record.offset * 3 + 5) for record in log] for p, log in made().items()}

    for verdict in both_judges(target):
        assert verdict.ok, verdict
        assert (verdict.source_records, verdict.target_records) == (80, 80)


def test_a_loss_is_seen() -> None:
    target = made()
    del target[1][17]

    for verdict in both_judges(target):
        assert verdict.counts == {Kind.LOST: 1}
        assert (verdict.differences[0].source_offset, verdict.differences[0].where) == (17, "topic-1")


def test_a_lost_tail_is_seen() -> None:
    target = made()
    del target[0][-7:]

    for verdict in both_judges(target):
        assert verdict.counts == {Kind.LOST: 7}


def test_a_lost_partition_is_seen() -> None:
    target = made()
    del target[0]

    for verdict in both_judges(target):
        assert verdict.counts == {Kind.LOST: 40}


@pytest.mark.parametrize("distance", [1, 20])
def test_a_duplicate_is_seen(distance: int) -> None:
    target = made()
    target[1].insert(17 + distance, target[1][17]._replace(offset=777))

    for verdict in both_judges(target):
        assert verdict.counts == {Kind.DUPLICATED: 1}
        assert verdict.differences[0].target_offset == 777


def test_a_swap_is_seen() -> None:
    target = made()
    target[1][17], target[1][18] = target[1][18], target[1][17]

    for verdict in both_judges(target):
        assert verdict.broken == {"R3"}, verdict


def test_a_foreign_record_is_seen() -> None:
    target = made()
    target[1].append(made(seed=SEED + 1)[1][0]._replace(offset=777))

    for verdict in both_judges(target):
        assert verdict.counts == {Kind.FOREIGN: 1}
        assert verdict.differences[0].target_offset == 777


def test_a_record_in_the_wrong_partition_is_seen() -> None:
    target = made()
    target[1].append(target[0].pop()._replace(offset=777))

    general, by_number = both_judges(target)
    assert general.counts == {Kind.CHANGED: 1}
    assert "partition 0 -> 1" in general.differences[0].what
    assert by_number.counts == {Kind.CHANGED: 1, Kind.LOST: 1}


def with_flipped_byte(record: LogRecord) -> LogRecord:
    assert record.value
    return record._replace(value=record.value[:-1] + bytes([record.value[-1] ^ 1]))


DAMAGES: list[tuple[str, str, Callable[[LogRecord], bool], Callable[[LogRecord], LogRecord]]] = [
    ("a byte of the value", "value", lambda r: bool(r.value), with_flipped_byte),
    ("a byte of the key", "key", lambda r: bool(r.key and r.value), lambda r: r._replace(key=b"other")),
    ("null became empty key", "key", lambda r: r.key is None, lambda r: r._replace(key=b"")),
    ("empty became null key", "key", lambda r: r.key == b"", lambda r: r._replace(key=None)),
    ("null became empty value", "value", lambda r: r.value is None, lambda r: r._replace(value=b"")),
    ("empty became null value", "value", lambda r: r.value == b"", lambda r: r._replace(value=None)),
    ("a lost header", "headers", lambda r: len(r.headers) == 4, lambda r: r._replace(headers=r.headers[1:])),
    ("headers changed places", "headers", lambda r: len(r.headers) == 4, lambda r: r._replace(headers=r.headers[::-1])),
    (
        "headers folded into one per name",
        "headers",
        lambda r: len(r.headers) == 4,
        lambda r: r._replace(headers=tuple(dict(r.headers).items())),
    ),
    (
        "a null header became empty",
        "headers",
        lambda r: bool(r.value) and ("null", None) in r.headers,
        lambda r: r._replace(headers=tuple((name, content or b"") for name, content in r.headers)),
    ),
    ("a changed time", "timestamp", lambda _: True, lambda r: r._replace(timestamp=(CREATE_TIME, r.timestamp[1] + 1))),
]


@pytest.mark.parametrize(("fits", "damage", "part"), [(f, d, p) for _, p, f, d in DAMAGES], ids=[d[0] for d in DAMAGES])
def test_a_damage_is_seen(
    fits: Callable[[LogRecord], bool], damage: Callable[[LogRecord], LogRecord], part: str
) -> None:
    number = number_where(fits)

    general, by_number = both_judges(changed(damage, number))

    assert general.counts == {Kind.CHANGED: 1}, general
    assert (general.differences[0].source_offset, general.differences[0].target_offset) == (number, number)
    assert general.differences[0].what.startswith(f"{part} ")
    assert by_number.counts == {Kind.CHANGED: 1, Kind.LOST: 1}, by_number


def test_a_time_of_another_type_is_seen() -> None:
    verdict, _ = both_judges(changed(lambda r: r._replace(timestamp=(LOG_APPEND_TIME, r.timestamp[1]))))

    assert verdict.counts == {Kind.CHANGED: 1}


def test_a_record_of_an_aborted_transaction_is_seen() -> None:
    logs = made(partitions=1)
    expected = [number for number in range(40) if number != 5]

    verdict = judge_numbers(SEED, {0: expected}, {0: {5}}, logs, "topic")

    assert verdict.counts == {Kind.ABORTED: 1}
    assert verdict.differences[0].target_offset == 5


def test_equal_records_may_repeat_as_often_as_on_the_source_and_no_more() -> None:
    same = LogRecord(0, None, b"tick", (), (CREATE_TIME, NOW_MS))
    source = {0: [same._replace(offset=offset) for offset in range(3)]}

    assert compare_logs(source, source).ok
    assert compare_logs(source, {0: source[0][:2]}).counts == {Kind.LOST: 1}
    assert compare_logs(source, {0: [*source[0], same]}).counts == {Kind.DUPLICATED: 1}


def test_only_the_first_differences_are_shown_but_all_are_counted() -> None:
    verdict = compare_logs(made(count=400), made(count=0))

    assert verdict.counts == {Kind.LOST: 800}
    assert len(verdict.differences) < 20


@given(st.lists(st.integers(0, 39), max_size=60))
def test_any_selection_of_records_is_judged_by_what_it_lacks_and_repeats(numbers: list[int]) -> None:
    source = made(partitions=1)
    target = {0: [source[0][number] for number in numbers]}

    verdict = compare_logs(source, target)

    assert verdict.ok == (numbers == list(range(40)))
    assert verdict.counts[Kind.LOST] == 40 - len(set(numbers))
    assert verdict.counts[Kind.DUPLICATED] == len(numbers) - len(set(numbers))
    firsts = list(dict.fromkeys(numbers))
    assert (verdict.counts[Kind.REORDERED] > 0) == (firsts != sorted(firsts))


@given(
    seed=st.integers(0, 2**32 - 1),
    partition=st.integers(0, 1000),
    number=st.integers(0, 2**40),
    shape=st.sampled_from(Shape),
    keys=st.one_of(st.none(), st.integers(1, 9)),
    max_bytes=st.integers(0, 300_000),
)
def test_a_record_says_who_it_is(
    *, seed: int, partition: int, number: int, shape: Shape, keys: int | None, max_bytes: int
) -> None:
    maker = RecordMaker(seed, shape, max_bytes, keys)

    record = maker.record(partition, number, NOW_MS)

    assert read_stamp(*record) == Stamp(seed, partition, number)
    assert maker.record(partition, number, NOW_MS) == record
    assert isinstance(read_stamp(*record._replace(timestamp_ms=NOW_MS + 1)), Damaged)


def test_varied_records_hold_every_oddity() -> None:
    records = [record for log in made(count=300).values() for record in log]

    assert {record.key for record in records} >= {None, b""}
    assert {record.value for record in records} >= {None, b""}
    names = [[name for name, _ in record.headers] for record in records]
    assert any(len(set(some)) < len(some) for some in names)
    assert any(content is None for record in records for _, content in record.headers)
    assert any(content == b"" for record in records for _, content in record.headers)
    times = [record.timestamp[1] for record in records]
    assert times != sorted(times)
