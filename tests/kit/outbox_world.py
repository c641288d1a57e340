"""One partition on its way through an outbox, with all that can happen to it: a source, a target, owners that die."""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field

from tests.kit.batches import NONE, ZSTD, Made, append_time, make_batch, make_legacy, payload
from tests.kit.targetlog import TargetLog

from twinlog.flow.outbox import Outbox
from twinlog.flow.outgoing import Outgoing, Progress
from twinlog.flow.ownership import Ownership
from twinlog.flow.parcel import Parcel
from twinlog.flow.shape import TINY_RECORDS, Shaper
from twinlog.flow.takeover import Begin, Opened, fresh_state
from twinlog.flow.window import FEW
from twinlog.ledger.view import LedgerView
from twinlog.model.ledger.partition_map import PartitionMap
from twinlog.model.ledger.records import PartitionState, RosterTopic, key_of
from twinlog.model.ledger.translation import Exact
from twinlog.model.names import TopicPartition
from twinlog.wire.codec import PlainRecord, encode_pairs
from twinlog.wire.fence import Producer

WHERE = TopicPartition("orders", 0)
PRODUCER = 4_711
ORIGIN = 20
ROSTER = RosterTopic(topic="orders", source_id="s", remote="orders", target_id="t", origins=[ORIGIN])


def source_log(rng: random.Random) -> list[Made]:
    """Batches of every kind, small and large, with holes in and between them."""
    log: list[Made] = []
    offset = ORIGIN
    for _ in range(rng.randint(1, 25)):
        offset += rng.choice([0, 0, 0, 2])
        count = rng.choice([1, 1, 2, 3, 10, 40, TINY_RECORDS + 1])
        step = rng.choice([1, 1, 1, 2])
        records = [
            PlainRecord(offset + i * step, rng.randint(0, 9_999), b"%d" % i, rng.randbytes(rng.randint(0, 30)), [])
            for i in range(count)
        ]
        kind = rng.randint(0, 9)
        made = make_legacy(1, records) if kind == 0 else make_batch(records, rng.choice([NONE, ZSTD]), base=offset)
        log.append(append_time(made, 5_555) if kind == 1 else made)
        offset = log[-1].next_offset
    return log


def stamped(out: Outgoing) -> bytes:
    """A batch as the broker gets it."""
    return b"".join(out.parts)


@dataclass
class World:
    """One partition with all that may happen to it."""

    rng: random.Random
    source: list[Made]
    target: TargetLog = field(default_factory=TargetLog)
    saved: PartitionState | None = None
    ledger: LedgerView = field(default_factory=lambda: LedgerView({1: 0}, keep_maps=True))
    epoch: int = 0
    wire: deque[Outgoing] = field(default_factory=deque)  # sent, not yet at the broker
    answers: deque[tuple[Outgoing, int, int]] = field(default_factory=deque)
    stale: deque[bytes] = field(default_factory=deque)  # in the socket of a connection that its owner gave up
    enqueued: int = 0
    freed: int = 0
    now: float = 0.0

    def __post_init__(self) -> None:
        elections = sorted(self.rng.choices(range(len(self.source)), k=self.rng.choice([0, 0, 1, 3])))
        self.epochs = [sum(at <= index for at in elections) for index in range(len(self.source))]
        self.depth = self.rng.choice([FEW, FEW, 8, 40])  # a long line holds more batches than a broker remembers
        self.take_over()

    @property
    def end(self) -> int:
        return self.source[-1].next_offset

    # --- the owner ----------------------------------------------------------------------------------------------------

    def take_over(self) -> None:
        """Another owner: same producer id, higher epoch, other settings."""
        self.epoch += 1
        self.forgotten = False
        self.owner = Ownership(Producer("id", PRODUCER, self.epoch))
        self.open()

    def open(self) -> None:
        """Fence and reconcile, as `ShardOwner.open` does it over the network."""
        known, producer = self.saved, self.owner.producer
        begin = Begin(WHERE, ROSTER, known, 0, 0, 1, 0)
        state = known.model_copy(deep=True) if known else fresh_state(begin, self.target.end)
        opened = Opened(begin, state, sequence=self.owner.sequences.get(begin.remote, 0))
        if known is not None and known.phase != "closed":
            self._late_requests_arrive()
            marker = self.target.plant(PRODUCER, self.epoch)
            opened.fenced = True
            for header, data in self.target.behind(known.target_next):
                opened.find(header, data, producer)
            if not opened.unnoted:
                opened.state.target_next = marker
        opened.state.phase, opened.state.producer_id = "copying", PRODUCER
        if not opened.unnoted:
            opened.state.producer_epoch, opened.state.sequence = self.epoch, opened.sequence
        if known is None or known.phase == "closed":
            self.saved = opened.state.model_copy(deep=True)  # noted as open before its first record
        self.box = Outbox(self.owner, begin.remote, self.make_shaper(), opened, clock=lambda: self.now)
        self.position = self.rng.choice([opened.state.source_next, self.rng.randint(ORIGIN, opened.state.source_next)])
        self.enqueued = self.freed = 0

    def make_shaper(self) -> Shaper:
        return Shaper(WHERE, self.rng.choice([250, 700, 1 << 20]), self.rng.choice([0, 400, 1 << 20]))

    def _late_requests_arrive(self) -> None:
        for _ in range(self.rng.randint(0, len(self.stale))):
            self.target.append(self.stale.popleft())

    def crash(self) -> None:
        self.cut()
        self.take_over()

    def begin_again(self) -> None:
        """The same owner opens the partition a second time, after a fault: what was under way has come home."""
        while self.wire or self.answers:
            self.arrive()
            self.answer()
        self.box.drop()
        self.flush()
        self.open()

    def close(self) -> None:
        """The end of an epoch: everything is acknowledged, the state is noted as closed."""
        self.settle_everything(until=self.position)
        self.box.close()
        self.flush()
        self.take_over()

    def flush(self, crash_behind: int | None = None) -> None:
        """Note everything; or die behind so many entries, which may be between any two batches of the ledger."""
        entries = self.box.entries()
        noted = entries if crash_behind is None else entries[:crash_behind]
        if noted:
            batch = encode_pairs([(key_of(entry), entry.value()) for entry in noted], 0)
            self.ledger.take(batch.header, batch.data)
        if len(noted) == len(entries):
            self.saved = self.ledger.states[WHERE].model_copy(deep=True)
        self.check_nothing_lost()
        if crash_behind is not None:
            self.crash()

    def die_while_noting(self) -> None:
        self.flush(self.rng.randint(0, 1 + len(self.box.unsaved)))

    # --- the way there and back ---------------------------------------------------------------------------------------

    def fetch(self) -> None:
        """The reader brings some batches, as many as this fetch happens to hold."""
        rest = [made for made in self.source if made.next_offset > self.position]
        if not rest:
            return
        chosen = rest[: self.rng.choice([1, 1, 2, 5, 25])]
        chosen = [made for made in chosen if self.epoch_of(made) == self.epoch_of(chosen[0])]
        parcel = self.parcel_of(chosen)._replace(epoch=self.epoch_of(chosen[0]))
        if self.rng.random() < 0.2:  # all of it was aborted, or taken by compaction of whole batches
            empty = Parcel(WHERE, self.position, max(self.position, chosen[0].records[0].offset), "data", b"")
            empty = empty._replace(epoch=self.epoch_at(empty.next))
            self.box.add(empty)
        self.box.add(parcel)
        self.enqueued += len(parcel.payload)
        self.position = parcel.next

    def parcel_of(self, chosen: list[Made]) -> Parcel:
        return Parcel(WHERE, self.position, chosen[-1].next_offset, "data", payload(chosen))

    def epoch_of(self, batch: Made) -> int:
        return self.epochs[self.source.index(batch)]

    def epoch_at(self, position: int) -> int:
        """The leader epoch of the batch before a position, or of the one that it lies in."""
        before = [made for made in self.source if made.records[0].offset < position]
        return self.epoch_of(before[-1]) if before else -1

    def send(self) -> None:
        out = self.box.next_to_send(self.depth)
        if out is not None:
            assert out.progress is Progress.SENT
            self.wire.append(out)
        elif self.box.stopped:
            self.begin_again()
        assert sum(o.progress is Progress.SENT for o in self.box.under_way) <= self.depth

    def arrive(self) -> None:
        if self.wire:
            out = self.wire.popleft()
            self.answers.append((out, *self.target.append(stamped(out))))

    def refuse(self) -> None:
        """The broker is not the leader just now: nothing is appended."""
        if self.wire:
            self.answers.append((self.wire.popleft(), 6, -1))

    def append_and_complain(self) -> None:
        """Appended, but not by enough replicas in time."""
        if self.wire:
            out = self.wire.popleft()
            error, _ = self.target.append(stamped(out))
            self.answers.append((out, error or 20, -1))

    def answer(self) -> None:
        if self.answers:
            out, error, base = self.answers.popleft()
            if error == 0:
                self.box.acknowledge(out, base)
            else:
                assert error != 47
                assert self.box.refuse(out)
                if error == 45 and self.box.is_first(out):
                    if out.repeated and self.recall():
                        return
                    assert self.owner.adrift or self.forgotten, "the broker misses a batch before this one"
                    if self.forgotten:
                        self.crash()  # a marker made it count from 0 again: a fault, until the next owner counts so too
                    else:
                        self.begin_again()  # a batch given up earlier arrived after all: a fault, and then it is found

    def recall(self) -> bool:
        """Look into the log for batches that the broker remembers no more."""
        return self.box.recall(self.target.written(PRODUCER, self.epoch))

    def cut(self) -> None:
        """The connection is gone: what is in the socket may still arrive, the answers never will."""
        for out in self.wire:
            if self.rng.random() < 0.7:
                self.stale.append(stamped(out))
        for out in (*self.wire, *(answer[0] for answer in self.answers)):
            self.box.refuse(out)
        self.wire.clear()
        self.answers.clear()

    def stale_arrives(self) -> None:
        if self.stale:
            self.target.append(self.stale.popleft())

    def silence(self) -> None:
        """For longer than a broker remembers who wrote; no connection lasts as long."""
        while self.wire or self.answers:
            self.arrive()
            self.answer()
        self.stale.clear()
        self.target.forget_producers()
        self.forgotten = True
        self.now += 86_400

    def stranger(self) -> None:
        self.target.stranger_writes(self.rng.randint(1, 3))

    def live(self, steps: int) -> None:
        often = (self.fetch, self.send, self.send, self.arrive, self.arrive, self.answer, self.answer)
        seldom = (self.refuse, self.append_and_complain, self.cut, self.stale_arrives, self.flush, self.stranger)
        rare = (self.crash, self.die_while_noting, self.die_while_noting, self.close, self.begin_again, self.silence)
        for _ in range(steps):
            kind = self.rng.random()
            self.rng.choice(often if kind < 0.8 else seldom if kind < 0.97 else rare)()

    def settle_everything(self, until: int) -> None:
        for _ in range(10_000):
            self.send()
            self.arrive()
            self.answer()
            if self.box.idle and self.position >= until:
                break
            if self.position < until:
                self.fetch()
        assert self.box.idle, "the outbox has work but sends nothing"
        self.freed += self.box.collect()
        assert self.freed == self.enqueued

    # --- what must hold -----------------------------------------------------------------------------------------------

    def expected(self) -> list[PlainRecord]:
        """What must be on the target in the end."""
        return [record for made in self.source for record in made.records]

    def found(self) -> list[PlainRecord]:
        """What is there."""
        return self.target.records()

    def check_nothing_lost(self) -> None:
        """Whatever the ledger calls done lies on the target."""
        assert self.saved is not None
        done = [r for r in self.expected() if r.offset < self.saved.source_next]
        here = [(r.timestamp, r.key, r.value) for r in self.found()]
        assert here[: len(done)] == [(r.timestamp, r.key, r.value) for r in done]
        assert self.saved.records == len(done)
        assert self.saved.source_epoch == self.epoch_at(self.saved.source_next)

    def check_all(self) -> None:
        expected, here = self.expected(), self.found()
        assert [r._replace(offset=0) for r in here] == [r._replace(offset=0) for r in expected]
        assert self.saved is not None
        assert (self.saved.source_next, self.saved.records) == (self.end, len(expected))
        self.check_map([(r.offset, found.offset) for r, found in zip(expected, here, strict=True)])

    def check_map(self, pairs: list[tuple[int, int]]) -> None:
        """The ledger's map has each record once, in order, and positions are translated exactly (R5)."""
        assert self.saved is not None
        known = PartitionMap(self.saved, self.ledger.parts_of(WHERE))
        assert [(run.source + i, run.target + i) for run in known.runs() for i in range(run.length)] == pairs
        for source, target in pairs:
            assert (known.to_target(source), known.to_source(target)) == (Exact(target), Exact(source))
