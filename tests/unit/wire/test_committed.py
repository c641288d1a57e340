"""What of a fetched buffer is copied: compared with a log of which we know how every transaction ended."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.batches import LEADER_EPOCH, Made, Signature, at, make_batch, make_legacy, payload, rewritten

from twinlog.wire.batch import CONTROL, TRANSACTIONAL
from twinlog.wire.committed import Stamps, select_batches

PRODUCERS = (11, 12, 13)


@dataclass
class TransactionLog:
    """A source partition: its batches, whether each is to be copied, and the aborted transactions."""

    batches: list[Made] = field(default_factory=list)
    owners: list[int | None] = field(default_factory=list)  # index into `endings`; None: no transaction, -1: a marker
    endings: list[bool | None] = field(default_factory=list)  # committed, aborted, or still open
    firsts: list[tuple[int, int]] = field(default_factory=list)  # (producer, first offset) of each transaction
    ends: list[int] = field(default_factory=list)  # where its marker lies
    running: dict[int, int] = field(default_factory=dict)
    next_offset: int = 100

    def write(self, producer: int, count: int, *, transactional: bool) -> None:
        flags = 0
        owner = None
        if transactional:
            flags = TRANSACTIONAL
            if producer not in self.running:
                self.running[producer] = len(self.endings)
                self.endings.append(None)
                self.ends.append(1 << 60)
                self.firsts.append((producer, self.next_offset))
            owner = self.running[producer]
        self._append([self.next_offset + i for i in range(count)], producer, flags, owner)

    def end(self, producer: int, *, commit: bool) -> None:
        transaction = self.running.pop(producer)
        self.endings[transaction] = commit
        self.ends[transaction] = self.next_offset
        self._append([self.next_offset], producer, TRANSACTIONAL | CONTROL, -1)

    def _append(self, offsets: list[int], producer: int, flags: int, owner: int | None) -> None:
        signature = Signature(producer, 0, 0)
        self.batches.append(make_batch([at(o) for o in offsets], flags=flags, signature=signature))
        self.owners.append(owner)
        self.next_offset = offsets[-1] + 1

    def stable_end(self) -> int:
        """The last stable offset: a read_committed fetch sees nothing from the first open transaction on."""
        return min((self.firsts[t][1] for t in self.running.values()), default=self.next_offset)

    def aborted(self, position: int) -> list[tuple[int, int]]:
        """What the broker lists for a fetch from `position` to the stable end."""
        return [
            first
            for first, end, committed in zip(self.firsts, self.ends, self.endings, strict=True)
            if committed is False and end >= position and first[1] < self.stable_end()
        ]

    def copied(self, position: int) -> list[Made]:
        return [
            made
            for made, owner in zip(self.batches, self.owners, strict=True)
            if position < made.next_offset <= self.stable_end()
            and (owner is None or (owner >= 0 and self.endings[owner] is True))
        ]


@st.composite
def transaction_logs(draw: st.DrawFn) -> TransactionLog:
    log = TransactionLog()
    for _ in range(draw(st.integers(0, 20))):
        producer = draw(st.sampled_from(PRODUCERS))
        action = draw(st.sampled_from(["plain", "write", "write", "commit", "abort"]))
        if action in {"plain", "write"}:
            transactional = producer in log.running or action == "write"
            log.write(producer, draw(st.integers(1, 3)), transactional=transactional)
        elif producer in log.running:
            log.end(producer, commit=action == "commit")
    return log


@pytest.mark.proves("R1", "R2", "R3")
@given(transaction_logs(), st.data())
def test_what_is_kept_is_what_was_committed(log: TransactionLog, data: st.DataObject) -> None:
    end = log.stable_end()
    position = data.draw(st.integers(100, end))
    fetched = [made for made in log.batches if position < made.next_offset <= end]
    chosen = select_batches(memoryview(payload(fetched)), log.aborted(position), position, 3)
    assert bytes(chosen.payload) == payload(log.copied(position))
    assert chosen.next_offset == (end if fetched else position)
    assert chosen.last_epoch == (LEADER_EPOCH if fetched else 3)
    assert chosen.strange is None


@given(transaction_logs(), st.integers(100, 120))
def test_uncommitted_reading_leaves_out_markers_only(log: TransactionLog, position: int) -> None:
    kept = [m for m, owner in zip(log.batches, log.owners, strict=True) if owner != -1 and m.next_offset > position]
    chosen = select_batches(memoryview(payload(log.batches)), [], position, -1)
    assert bytes(chosen.payload) == payload(kept)


def test_nothing_to_leave_out_copies_nothing() -> None:
    log = TransactionLog()
    for _ in range(3):
        log.write(11, 2, transactional=False)
    fetched = memoryview(payload(log.batches))
    chosen = select_batches(fetched, [], 100, -1)
    assert isinstance(chosen.payload, memoryview)
    assert chosen.payload.obj is fetched.obj


def test_old_messages_are_kept() -> None:
    made = make_legacy(1, [at(100), at(101)])
    chosen = select_batches(memoryview(made.data), [(11, 100)], 100, 4)
    assert bytes(chosen.payload) == made.data
    assert (chosen.next_offset, chosen.last_epoch) == (102, -1)


@pytest.mark.proves("R7")
@pytest.mark.parametrize("fields", [{"magic": 3}, {"length": -5}, {"length": 0}, {"length": 13}, {"length": 48}])
def test_the_range_ends_before_a_batch_that_cannot_be_one(fields: dict[str, int]) -> None:
    good = make_batch([at(100), at(101)])
    strange = rewritten(make_batch([at(102)]).data, **fields)
    chosen = select_batches(memoryview(good.data + strange), [], 100, -1)
    assert bytes(chosen.payload) == good.data
    assert chosen.next_offset == 102
    assert chosen.strange is not None
    assert chosen.strange.base_offset == 102


@pytest.mark.proves("R7")
@pytest.mark.parametrize("aborted", [[], [(11, 100)]], ids=["plain", "with an aborted transaction"])
def test_a_selection_ends_where_the_leader_epoch_changes(aborted: list[tuple[int, int]]) -> None:
    """Otherwise a position inside it would have no certain epoch, and a truncated source could not be recognised."""
    old = [make_batch([at(100), at(101)]), make_batch([at(102)])]
    new = rewritten(make_batch([at(103)]).data, leader_epoch=LEADER_EPOCH + 1)
    chosen = select_batches(memoryview(payload(old) + new), aborted, 100, -1)
    assert bytes(chosen.payload) == payload(old)
    assert (chosen.next_offset, chosen.last_epoch, chosen.strange) == (103, LEADER_EPOCH, None)
    rest = select_batches(memoryview(new), [], 103, LEADER_EPOCH)
    assert (bytes(rest.payload), rest.next_offset, rest.last_epoch) == (new, 104, LEADER_EPOCH + 1)


@pytest.mark.proves("R1", "R2", "R3")
@given(transaction_logs(), st.sets(st.sampled_from(PRODUCERS)), st.data())
def test_batches_of_a_link_from_the_target_are_left_out_and_their_offsets_told(
    log: TransactionLog, links: set[int], data: st.DataObject
) -> None:
    end = log.stable_end()
    position = data.draw(st.integers(100, end))
    fetched = [made for made in log.batches if position < made.next_offset <= end]
    stamps = Stamps({-1, *PRODUCERS} - links, links)
    chosen = select_batches(memoryview(payload(fetched)), log.aborted(position), position, 3, stamps)
    committed = log.copied(position)
    assert bytes(chosen.payload) == payload(made for made in committed if producer_of(made) not in links)
    returned = {offset for start, stop in chosen.returned for offset in range(start, stop)}
    homeward = {record.offset for made in committed if producer_of(made) in links for record in made.records}
    assert returned == {offset for offset in homeward if offset >= position}
    assert chosen.next_offset == (end if fetched else position)
    assert not chosen.unknown


@pytest.mark.proves("R2")
@given(transaction_logs(), st.sets(st.sampled_from(PRODUCERS)))
def test_nothing_is_taken_while_a_producer_is_unknown(log: TransactionLog, known: set[int]) -> None:
    chosen = select_batches(memoryview(payload(log.batches)), [], 100, 3, Stamps({-1, *known}))
    strangers = {producer_of(made) for made, owner in zip(log.batches, log.owners, strict=True) if owner != -1} - known
    assert chosen.unknown == strangers
    if strangers:
        assert (chosen.next_offset, chosen.last_epoch, bytes(chosen.payload)) == (100, 3, b"")


def producer_of(made: Made) -> int:
    return int.from_bytes(made.data[43:51], "big", signed=True)
