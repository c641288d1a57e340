"""The outbox against a broker that loses answers, repeats, refuses and outlives owners; each run is drawn from a seed.

An owner shapes, sends, is answered and notes its position; at any moment it may crash and another one takes over with
other settings, while requests of the old one are still in some socket.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kit.outbox_world import WHERE, World, source_log

from twinlog.flow import outbox
from twinlog.flow.shape import Shaper


@pytest.mark.proves("R1", "R2", "R3", "R4", "R9")
@settings(max_examples=80)
@given(st.integers(0, (1 << 32) - 1))
def test_nothing_is_lost_doubled_or_out_of_order_whatever_happens(seed: int) -> None:
    rng = random.Random(seed)
    with mock.patch.object(outbox, "SEAL_AT", 3):
        world = World(rng, source_log(rng))
        world.live(rng.randint(0, 250))
        world.settle_everything(until=world.end)
        world.flush()
        world.check_all()


@pytest.mark.proves("R1", "R2", "R5", "R9")
@settings(max_examples=15)
@given(st.integers(0, (1 << 32) - 1))
def test_an_owner_may_die_between_any_two_entries_that_it_notes(seed: int) -> None:
    """The ledger then holds the first of them: parts of the map without the state that refers to them."""
    behind, ways = 0, 1
    while behind < ways:
        rng = random.Random(seed)
        with mock.patch.object(outbox, "SEAL_AT", 2):
            world = World(rng, source_log(rng))
            for _ in range(60):
                rng.choice((world.fetch, world.send, world.arrive, world.answer))()
            ways = 2 + len(world.box.unsaved)
            world.flush(crash_behind=behind)
            with mock.patch.object(outbox, "SEAL_AT", rng.choice([1, 3, 4])):  # the next owner seals elsewhere
                world.settle_everything(until=world.end)
                world.flush()
            world.check_all()
        behind += 1


@dataclass
class LongLine(World):
    """Much more is under way than a broker remembers, and connections break while it is."""

    recalls: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.depth = 40

    def make_shaper(self) -> Shaper:
        return Shaper(WHERE, 1 << 20, 0)

    def burst(self) -> None:
        for step in (self.fetch, self.send, self.arrive):
            for _ in range(self.rng.randint(0, 15)):
                step()

    def live(self, steps: int) -> None:
        for _ in range(steps):
            self.rng.choice((self.burst, self.burst, self.answer, self.answer, self.cut, self.stale_arrives))()
            if self.rng.random() < 0.05:
                self.rng.choice((self.refuse, self.append_and_complain, self.flush, self.stranger, self.crash))()

    def recall(self) -> bool:
        recalled = super().recall()
        self.recalls += recalled
        return recalled


@pytest.mark.proves("R1", "R2", "R3", "R9")
@settings(max_examples=60)
@given(st.integers(0, (1 << 32) - 1))
def test_a_long_line_loses_and_doubles_nothing_when_it_breaks(seed: int) -> None:
    rng = random.Random(seed)
    world = LongLine(rng, source_log(rng))
    world.live(rng.randint(10, 80))
    world.settle_everything(until=world.end)
    world.flush()
    world.check_all()


def test_long_lines_that_broke_had_to_look_into_the_log() -> None:
    """The property above proves little where the broker remembers everything."""
    for seed in range(40):
        rng = random.Random(seed)
        world = LongLine(rng, source_log(rng))
        world.live(60)
        if world.recalls:
            return
    pytest.fail("no run needed the log")
