"""What the source was last known to hold, against a brute-force history of every record."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twinlog.model.health.exposed import PartitionExposure
from twinlog.model.health.exposure import partition_exposure
from twinlog.model.health.loss_range import since_known
from twinlog.model.health.states import PartitionStatus
from twinlog.model.ledger.records import Memo
from twinlog.model.ledger.source_ends import CHORE, SEEN, EndsTracker, known_ends
from twinlog.model.names import TopicPartition

ORDERS = TopicPartition("orders", 0)
TOPICS = {"orders": ("id-1", 1)}


@dataclass
class World:
    """A source partition, what is copied of it, and an engine that looks now and then."""

    now: int = 1_000_000
    appended: list[int] = field(default_factory=list)  # the time of each record
    copied: int = 0
    tracker: EndsTracker = field(default_factory=EndsTracker)
    memos: dict[str, Memo] = field(default_factory=dict)

    def look(self) -> None:
        self.tracker.take(self.now, {ORDERS: len(self.appended)}, {ORDERS: self.copied}, TOPICS)
        for name, body in self.tracker.bodies(self.now, {}):
            self.memos[name] = Memo(chore=CHORE, name=name, body=body)
        self.memos[SEEN] = Memo(chore=CHORE, name=SEEN, body={"at": self.now})

    def restart(self) -> None:
        self.tracker = EndsTracker()
        self.tracker.restore(self.memos)

    def exposed(self, *, live: bool) -> PartitionExposure:
        known = known_ends(self.memos, {ORDERS: self.copied}, {"orders": "id-1"})
        end = len(self.appended) if live else None
        part = PartitionStatus(ORDERS, "A.orders", self.copied, end, self.copied)
        return partition_exposure(part, known.get(ORDERS), self.now, 10.0)

    def true_age(self) -> float:
        """Of the oldest record that is not copied."""
        return (self.now - self.appended[self.copied]) / 1000 if self.copied < len(self.appended) else 0.0


steps = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 3)),
        st.tuples(st.just("copy"), st.integers(1, 4)),
        st.tuples(st.just("wait"), st.integers(1, 90_000)),
        st.tuples(st.just("look"), st.just(0)),
        st.tuples(st.just("look"), st.just(0)),
        st.tuples(st.just("restart"), st.just(0)),
    ),
    max_size=200,
)


@pytest.mark.proves("R7")
@settings(max_examples=300)
@given(steps)
def test_the_loss_is_never_told_smaller_than_it_is(script: list[tuple[str, int]]) -> None:
    world = World()
    for verb, amount in script:
        world.now += 1
        match verb:
            case "append":
                world.appended += [world.now] * amount
            case "copy":
                world.copied = min(len(world.appended), world.copied + amount)
            case "wait":
                world.now += amount
            case "look":
                world.look()
            case _:
                world.restart()
        live, gone = world.exposed(live=True), world.exposed(live=False)
        assert live.records == len(world.appended) - world.copied
        assert live.seconds is None or live.seconds >= world.true_age()
        if gone.records is None:
            assert SEEN not in world.memos
        else:
            assert gone.known_at_ms is not None
            assert gone.records <= len(world.appended) - world.copied
            assert gone.seconds is None or gone.seconds >= world.true_age()
            assert gone.seconds != 0 or gone.known_at_ms == world.now


@given(st.integers(1, 200), st.integers(0, 50))
def test_a_link_in_step_is_told_to_the_last_look(looks: int, idle: int) -> None:
    world = World()
    for _ in range(looks):
        world.now += 2000
        world.appended += [world.now]
        world.copied = len(world.appended)
        world.look()
    world.now += idle * 1000
    assert world.exposed(live=True).seconds == 0
    assert world.exposed(live=False).seconds == idle


def test_a_lag_is_as_old_as_the_last_look_that_is_copied() -> None:
    world = World()
    for _ in range(300):
        world.now += 2000
        world.appended += [world.now] * 10
        world.look()
    world.copied = 2500
    world.now += 2000
    world.look()
    seconds = world.exposed(live=True).seconds
    assert seconds is not None
    # Samples are thinned out: some accuracy is given up, to the safe side.
    assert world.true_age() <= seconds <= world.true_age() * 1.5


def test_an_idle_topic_needs_no_new_memo() -> None:
    world = World(appended=[1, 2, 3], copied=3)
    world.look()
    before = world.memos["orders"]
    world.now += 60_000
    world.look()
    assert world.memos["orders"] == before
    assert known_ends(world.memos, {ORDERS: 3}, {"orders": "id-1"})[ORDERS].at_ms == world.now


def test_ends_of_another_incarnation_are_not_known() -> None:
    world = World(appended=[1, 2, 3], copied=3)
    world.look()
    assert known_ends(world.memos, {ORDERS: 0}, {"orders": "id-2"}) == {}


@pytest.mark.proves("R7")
def test_a_partition_that_does_not_answer_is_known_as_of_its_last_answer() -> None:
    world = World(appended=[1, 2, 3], copied=1)
    world.look()
    told = world.now
    world.now += 30_000
    world.tracker.take(world.now, {}, {ORDERS: 1}, TOPICS)
    for name, body in world.tracker.bodies(world.now, {}):
        world.memos[name] = Memo(chore=CHORE, name=name, body=body)
    world.memos[SEEN] = Memo(chore=CHORE, name=SEEN, body={"at": world.now})
    assert world.exposed(live=False).known_at_ms == told


def test_what_comes_while_nobody_looks_is_guessed_from_the_rate() -> None:
    world = World()
    for _ in range(200):
        world.now += 2000
        world.appended += [world.now] * 20
        world.copied = len(world.appended)
        world.look()
    world.now += 60_000
    assert world.exposed(live=False).maybe_more == pytest.approx(600, rel=0.1)


@pytest.mark.proves("R7")
def test_the_most_that_may_be_lost_does_not_shrink_while_the_source_is_away() -> None:
    """An engine goes on looking. Questions without an answer say nothing about how fast the topic grows."""
    world = World()
    for _ in range(50):
        world.now += 2000
        world.appended += [world.now] * 20
        world.copied = len(world.appended)
        world.look()

    def at_most() -> int:
        known = known_ends(world.memos, {ORDERS: world.copied}, {"orders": "id-1"})
        return since_known(known[ORDERS], world.copied, heard)

    heard = world.now
    before = at_most()
    assert before > 0
    for _ in range(300):
        world.now += 2000
        world.tracker.take(world.now, {}, {ORDERS: world.copied}, TOPICS)
        for name, body in world.tracker.bodies(world.now, {}):
            world.memos[name] = Memo(chore=CHORE, name=name, body=body)
    assert at_most() == before
