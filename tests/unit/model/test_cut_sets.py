"""Consistent cuts: no input position is ahead of an output that the copy does not have."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.settings_text import link

from twinlog.model.groups.cut_sets import (
    Cut,
    CutBack,
    CutSet,
    CutTracker,
    Sample,
    cut_memos,
    positions_at_cuts,
    remembered_cuts,
)
from twinlog.model.ledger.records import Memo
from twinlog.model.names import TopicPartition
from twinlog.model.selection import Patterns

IN = TopicPartition("requests", 0)
OUT = [TopicPartition("payments", 0), TopicPartition("payments", 1)]
SET = CutSet("shop", Patterns(("requests|payments",)))


class Application:
    """Reads requests, writes payments, commits both together. Remembers which outputs each position depends on."""

    def __init__(self) -> None:
        self.ends = dict.fromkeys((IN, *OUT), 0)
        self.position = 0
        self.needs = {0: dict.fromkeys(OUT, 0)}

    def request(self) -> None:
        self.ends[IN] += 1

    def work(self, random_: random.Random) -> None:
        if self.position < self.ends[IN]:
            self.ends[random_.choice(OUT)] += random_.randint(1, 3)
            self.position += 1
            self.needs[self.position] = {out: self.ends[out] for out in OUT}


@pytest.mark.proves("R5")
@given(st.integers(), st.lists(st.sampled_from(["request", "work", "copy", "sample", "reach"]), max_size=120))
def test_a_cut_is_never_ahead_of_an_output_that_the_copy_lacks(seed, acts):
    random_ = random.Random(seed)
    application, tracker = Application(), CutTracker()
    copied = dict.fromkeys(application.ends, 0)
    half: Cut | None = None
    for act in acts:
        match act:
            case "request":
                application.request()
            case "work":
                application.work(random_)
            case "copy":
                one = random_.choice(list(copied))
                copied[one] = random_.randint(copied[one], application.ends[one])
            case "sample" if half is None:  # the positions; work may go on before the ends are asked
                half = Cut(0, {"billing": {IN: application.position}})
            case "sample" if half is not None:
                tracker.add(Sample(half, dict(application.ends)))
                half = None
            case "reach":
                tracker.reach(copied)
                if tracker.covered is not None:
                    position = tracker.covered.positions["billing"][IN]
                    assert all(copied[out] >= end for out, end in application.needs[position].items())


def test_the_newest_covered_sample_counts_and_older_ones_go():
    tracker = CutTracker()
    for number in range(5):
        tracker.add(Sample(Cut(number, {}), {IN: number * 10}))
    tracker.reach({IN: 25})
    assert tracker.covered is not None
    assert tracker.covered.at_ms == 2
    assert [sample.cut.at_ms for sample in tracker.pending] == [3, 4]


def test_samples_that_wait_are_bounded_and_the_newest_stays():
    tracker = CutTracker()
    for number in range(1000):
        tracker.add(Sample(Cut(number, {}), {IN: number}))
    assert len(tracker.pending) <= 33
    assert tracker.pending[-1].cut.at_ms == 999


def test_a_partition_that_nobody_copies_covers_nothing():
    assert not Sample(Cut(0, {}), {IN: 0}).covered_by({})


def test_memos_read_back_as_they_were_written():
    cut = Cut(17, {"billing": {IN: 5, OUT[1]: 7}, "a/b": {IN: 1}})
    memos = {name: Memo(chore="cuts", name=name, body=body) for name, body in cut_memos("shop", cut).items()}
    found = remembered_cuts(memos)["shop"]
    assert {group: one.positions[group] for group, one in found.items()} == dict(cut.positions)
    assert {one.at_ms for one in found.values()} == {17}


def test_groups_of_a_set_go_back_to_the_cut_and_nobody_goes_forward():
    other = TopicPartition("elsewhere", 0)
    known = {"billing": {IN: 100, OUT[0]: 10, other: 9}, "audit": {IN: 50}}
    cuts = {
        "shop": {"billing": Cut(7, {"billing": {IN: 80, OUT[0]: 12, other: 1}})},
        "gone": {"audit": Cut(1, {"audit": {IN: 0}})},
    }
    positions, back = positions_at_cuts(known, cuts, [SET])
    assert positions == {"billing": {IN: 80, OUT[0]: 10, other: 9}, "audit": {IN: 50}}
    assert back == [CutBack("shop", "billing", 7, 20)]


def test_a_set_is_read_from_the_file():
    found = link("A->B.cut.sets = shop\nA->B.cut.sets.shop.topics = requests, pay.*")
    assert [(one.name, one.topics.matches("payments"), one.topics.matches("x")) for one in found.cut_sets] == [
        ("shop", True, False)
    ]
