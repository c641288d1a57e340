"""The demo's judge sees every way in which a copy can go wrong: a proof that cannot fail would prove nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from twinlog.kafka.clients import LogRecord
from twinlog.local.demo.proof import Kind, Proof, file_logs, judge
from twinlog.local.demo.records import make_record, read_stamp

COUNT = 20
Log = list[LogRecord]


def log_of(partition: int, sequences: Sequence[int]) -> Log:
    records = [make_record(partition, sequence, 1_760_000_000_000_000_000 + sequence) for sequence in sequences]
    return [LogRecord(partition, n, r.timestamp_ms, r.key, r.value, r.headers) for n, r in enumerate(records)]


def whole() -> Log:
    return log_of(0, range(COUNT)) + log_of(1, range(COUNT))


def judged(source: Log, target: Log) -> Proof:
    return judge({0: COUNT, 1: COUNT}, file_logs(source, 2), file_logs(target, 2))


def test_equal_logs_hold() -> None:
    proof = judged(whole(), whole())
    assert proof.holds
    assert (proof.source_records, proof.target_records) == (2 * COUNT, 2 * COUNT)
    assert proof.source_digest == proof.target_digest


def test_markers_in_the_target_do_not_matter() -> None:
    """Offsets may differ: a fence leaves markers between the records."""
    assert judged(whole(), [record._replace(offset=record.offset * 2 + 7) for record in whole()]).holds


def lose(log: Log) -> Log:
    return log[:5] + log[6:]


def lose_the_last(log: Log) -> Log:
    return log[:-1]


def double(log: Log) -> Log:
    return [*log[:6], log[5], *log[6:]]


def double_everything(log: Log) -> Log:
    return log + log


def swap(log: Log) -> Log:
    return [*log[:5], log[6], log[5], *log[7:]]


def invent(log: Log) -> Log:
    return [*log, *log_of(1, [COUNT])]


def speak_strangely(log: Log) -> Log:
    return [*log, log[0]._replace(value=b"who am I?")]


def move(log: Log) -> Log:
    return [*log[:COUNT], log[3]._replace(partition=1), *log[COUNT:]]


def change_body(log: Log) -> Log:
    return [*log[:5], log[5]._replace(value=(log[5].value or b"") + b"!"), *log[6:]]


def change_key(log: Log) -> Log:
    return [*log[:5], log[5]._replace(key=b"order-0"), *log[6:]]


def change_time(log: Log) -> Log:
    return [*log[:5], log[5]._replace(timestamp_ms=log[5].timestamp_ms + 1), *log[6:]]


def swap_headers(log: Log) -> Log:
    return [*log[:5], log[5]._replace(headers=log[5].headers[::-1]), *log[6:]]


def empty_the_null_header(log: Log) -> Log:
    headers = tuple((name, content or b"") for name, content in log[5].headers)
    return [*log[:5], log[5]._replace(headers=headers), *log[6:]]


FAULTS = [
    (lose, {Kind.LOST: 1}),
    (lose_the_last, {Kind.LOST: 1}),
    (double, {Kind.DOUBLED: 1}),
    (double_everything, {Kind.DOUBLED: 2 * COUNT}),
    (swap, {Kind.REORDERED: 1}),
    (invent, {Kind.FOREIGN: 1}),
    (speak_strangely, {Kind.FOREIGN: 1, Kind.CHANGED: 1}),
    (move, {Kind.FOREIGN: 1}),
    (change_body, {Kind.CHANGED: 2}),
    (change_key, {Kind.CHANGED: 2}),
    (change_time, {Kind.CHANGED: 1}),
    (swap_headers, {Kind.CHANGED: 2}),
    (empty_the_null_header, {Kind.CHANGED: 2}),
]


@pytest.mark.parametrize(("spoil", "counts"), FAULTS, ids=[spoil.__name__ for spoil, _ in FAULTS])
def test_every_fault_of_the_target_is_seen_and_named(spoil: Callable[[Log], Log], counts: dict[Kind, int]) -> None:
    proof = judged(whole(), spoil(whole()))
    assert not proof.holds
    assert proof.counts == counts
    assert all(any(f": {kind}: " in named for named in proof.named) for kind in counts)
    assert proof.source_digest != proof.target_digest


@pytest.mark.parametrize("spoil", [lose, double, swap, change_body], ids=lambda spoil: spoil.__name__)
def test_a_fault_that_both_sides_share_is_still_a_fault(spoil: Callable[[Log], Log]) -> None:
    """Two equally wrong logs are equal, but not what the producer was promised."""
    proof = judged(spoil(whole()), spoil(whole()))
    assert proof.source_digest == proof.target_digest
    assert not proof.holds


def test_nothing_proves_nothing() -> None:
    assert not judge({0: 0, 1: 0}, file_logs([], 2), file_logs([], 2)).holds


def test_only_the_first_of_many_are_named_but_all_are_counted() -> None:
    proof = judged(whole(), [])
    assert proof.counts == {Kind.LOST: 2 * COUNT}
    assert len(proof.named) == 3


@pytest.mark.parametrize("value", [None, b"", b"1 2 3", b"a 2 3 00000000 x", b"1 -2 3 00000000 x"])
def test_a_value_without_a_stamp_is_nobody(value: bytes | None) -> None:
    assert read_stamp(LogRecord(0, 0, 0, None, value, ())) is None
