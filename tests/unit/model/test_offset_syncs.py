"""Translation with MirrorMaker 2's offset syncs: never ahead of the truth, exact where a pair says so."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.model.ledger.translation import AtOrBefore, Exact, Untranslatable
from twinlog.model.mirrormaker.offset_syncs import SyncHistory


def history(*pairs):
    syncs = SyncHistory()
    for pair in pairs:
        syncs.add(*pair)
    return syncs


@pytest.mark.parametrize(
    ("position", "there"),
    [
        (0, Exact(0)),
        (1, AtOrBefore(1)),
        (100, AtOrBefore(1)),
        (101, Exact(97)),
        (150, AtOrBefore(98)),
        (10_000, AtOrBefore(199)),
    ],
)
def test_a_position_becomes_the_place_behind_the_pair_before_it(position, there):
    assert history((0, 0), (101, 97), (202, 198)).to_target(position) == there


@pytest.mark.parametrize(("position", "there"), [(97, Exact(101)), (98, AtOrBefore(102)), (500, AtOrBefore(203))])
def test_and_back(position, there):
    assert history((0, 0), (101, 97), (202, 198)).to_source(position) == there


def test_before_the_first_pair_nothing_is_known():
    assert isinstance(history((10, 3)).to_target(9), Untranslatable)
    assert isinstance(history().to_target(9), Untranslatable)


def test_a_rewind_on_either_side_voids_what_was_known():
    # Kafka's own test: after the sync 1500 -> 11000 only that one counts.
    syncs = history(*((n, n) for n in range(0, 10_001, 10)), (1500, 11_000))
    assert isinstance(syncs.to_target(1499), Untranslatable)
    assert syncs.to_target(1500) == Exact(11_000)
    assert syncs.to_target(2000) == AtOrBefore(11_001)
    recreated_target = history((10, 10), (20, 20), (30, 5))
    assert isinstance(recreated_target.to_target(20), Untranslatable)
    assert recreated_target.newest == (30, 5)


def test_the_same_pair_twice_changes_nothing():
    assert history((0, 0), (10, 8), (10, 8)).to_target(5) == AtOrBefore(1)


@pytest.mark.proves("R5")
@given(
    st.lists(st.tuples(st.integers(1, 5), st.integers(1, 3)), min_size=1, max_size=60),
    st.sets(st.integers(0, 59)),
    st.integers(0, 400),
)
def test_no_position_is_translated_past_an_unread_record(steps, told, position):
    """Steps are the distances between copied records on both sides; `told` are those that got a sync."""
    copied, up, down = [], 0, 0
    for on_source, on_target in steps:
        copied.append((up, down))
        up, down = up + on_source, down + on_target
    syncs = history(*(pair for index, pair in enumerate(copied) if index in told))
    there = syncs.to_target(position)
    unread = [target for source, target in copied if source >= position]
    if unread and not isinstance(there, Untranslatable):
        assert there.offset <= unread[0]
