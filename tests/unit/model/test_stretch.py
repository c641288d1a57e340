"""One cluster over several racks: what dies with each of them."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from twinlog.model.topics.stretch import Placed, Stretched, judge_stretch

RACKS = {1: "a", 2: "a", 3: "b", 4: "b", 5: "c", 6: "c"}
GOOD = Stretched(RACKS, [Placed("orders", 0, (1, 3, 5), (1, 3, 5))], {"orders": 2}, (1, 3, 5), True, 4.0)


def verdicts(seen: Stretched) -> dict[str, str]:
    return {one.name: one.verdict for one in judge_stretch(seen)}


def test_three_racks_with_three_replicas_are_fine():
    assert set(verdicts(GOOD).values()) == {"ok"}


def test_brokers_without_racks_and_one_rack_alone_fail():
    assert verdicts(replace(GOOD, racks={**RACKS, 6: None}))["racks"] == "fail"
    assert verdicts(replace(GOOD, racks=dict.fromkeys(RACKS, "a")))["racks"] == "fail"


def test_brokers_without_racks_prove_nothing():
    lonely = Stretched({1: None}, [Placed("orders", 0, (1,), (1,))], {"orders": 1}, (1,))
    found = verdicts(lonely)
    assert {found[name] for name in ("racks", "replicas", "in-sync", "controllers")} == {"fail"}
    found = verdicts(replace(GOOD, racks={**RACKS, 3: None}))
    assert (found["replicas"], found["controllers"]) == ("ok", "unknown")
    assert {found[f"loss-of-{rack}"] for rack in "abc"} == {"unknown"}
    found = verdicts(replace(GOOD, racks={1: "a", 2: None}, partitions=[Placed("orders", 0, (1, 2), (1, 2))]))
    assert (found["replicas"], found["in-sync"]) == ("fail", "fail")


def test_controllers_that_are_no_brokers_may_be_anywhere():
    assert verdicts(replace(GOOD, voters=(101, 102, 103)))["controllers"] == "unknown"


def test_replicas_in_one_rack_die_with_it():
    found = verdicts(replace(GOOD, partitions=[Placed("orders", 0, (1, 2), (1, 2))]))
    assert (found["replicas"], found["loss-of-a"], found["loss-of-b"]) == ("fail", "fail", "ok")


def test_in_sync_replicas_in_one_rack_are_told_though_others_exist():
    found = verdicts(replace(GOOD, partitions=[Placed("orders", 0, (1, 2, 3), (1, 2))]))
    assert (found["replicas"], found["in-sync"], found["loss-of-a"]) == ("ok", "fail", "fail")


def test_two_racks_lose_nothing_but_stop():
    found = verdicts(replace(GOOD, partitions=[Placed("orders", 0, (1, 3), (1, 3))]))
    assert (found["loss-of-a"], found["loss-of-c"]) == ("warn", "ok")


def test_weak_acknowledgement_controllers_reads_and_distance():
    assert verdicts(replace(GOOD, min_in_sync={"orders": 1}))["min-in-sync"] == "fail"
    assert verdicts(replace(GOOD, voters=(1, 2, 3)))["controllers"] == "fail"
    assert verdicts(replace(GOOD, voters=None))["controllers"] == "unknown"
    assert verdicts(replace(GOOD, rack_aware_reads=False))["follower-fetching"] == "warn"
    assert verdicts(replace(GOOD, trip_ms=80.0))["fit"] == "warn"
    assert verdicts(replace(GOOD, trip_ms=None))["fit"] == "unknown"


def test_a_cluster_without_partitions_is_unknown_not_fine():
    assert verdicts(replace(GOOD, partitions=[]))["replicas"] == "unknown"


_SETS = st.lists(st.sampled_from(sorted(RACKS)), min_size=1, max_size=4, unique=True).map(tuple)


@given(_SETS, st.integers(1, 3))
def test_a_rack_whose_loss_is_fine_leaves_enough_in_sync_elsewhere(nodes: tuple[int, ...], least: int):
    found = verdicts(replace(GOOD, partitions=[Placed("t", 0, nodes, nodes)], min_in_sync={"t": least}))
    for rack in "abc":
        outside = sum(RACKS[node] != rack for node in nodes)
        expected = "fail" if not outside else "warn" if outside < least else "ok"
        assert found[f"loss-of-{rack}"] == expected
