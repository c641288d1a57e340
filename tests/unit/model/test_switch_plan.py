"""Plans of a switch: never two writable sides, refusals before anything else, nothing at risk that is not told."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.model.names import LinkName
from twinlog.model.switch.log import Claim, StateEntry, Switch
from twinlog.model.switch.plan import Facts, Side, plan_of, refusal_of, writable_sides
from twinlog.recovery.execute import STEPS

LINK = LinkName("A", "B")
COMMANDS = ("failover-planned", "failover-unplanned", "failback-delta", "failback-full")


def state(active: str) -> StateEntry:
    return StateEntry(pair="A<->B", generation=3, active=active)


def facts(command: str, **more: Any) -> Facts:
    active = "A" if command.startswith("failover") else "B"
    wishes: dict[str, Any] = {"lag_records": 0, "topics": ("t",), "state": state(active)}
    return Facts(link=LINK, command=command, **(wishes | more))  # type: ignore[arg-type]


FACTS = st.builds(
    facts,
    st.sampled_from(COMMANDS),
    fence=st.sampled_from(("auto", "acl", "topic-config", "none")),
    target_fence=st.sampled_from(("acl", "topic-config", "none")),
    reverse=st.sampled_from(("auto", "start", "stop")),
    tail=st.sampled_from(("append", "keep")),
    same_names=st.booleans(),
    source_trouble=st.sampled_from((None, "gone")),
    target_trouble=st.sampled_from((None, "gone")),
    engine_trouble=st.sampled_from((None, "silent")),
    lag_records=st.sampled_from((None, 0, 7)),
    faults=st.sampled_from(((), ("t-0: broken",))),
    active_groups=st.sampled_from(((), ("g",))),
    back_enabled=st.booleans(),
    state=st.sampled_from((None, state("A"), state("B"))),
    redirects=st.sampled_from(((), ("dns",))),
)


@given(FACTS)
def test_no_plan_has_two_writable_sides_at_any_point(seen: Facts) -> None:
    if refusal_of(seen) is not None:
        return
    failover = seen.command.startswith("failover")
    initially: set[Side] = {"source"} if failover else {"target"}
    plan = plan_of(seen)
    sides = list(writable_sides(plan.steps, initially))
    assert all(len(open_sides) <= 1 for open_sides in sides)
    assert sides[-1] == ({"target"} if failover else {"source"})


@given(FACTS)
def test_a_plan_ends_where_it_should_and_every_step_can_be_run(seen: Facts) -> None:
    if refusal_of(seen) is not None:
        return
    ids = [step.id for step in plan_of(seen).steps]
    assert len(ids) == len(set(ids))
    assert set(ids) <= set(STEPS)
    assert ids.index("promote") < ids.index("redirect")
    shut = next(one for one in ("fence-target", "fence-old", "fence-source") if one in ids)
    assert ids.index(shut) < ids.index("promote")


@given(FACTS)
def test_the_first_thing_that_speaks_against_it_is_a_sentence_with_a_way_out(seen: Facts) -> None:
    refusal = refusal_of(seen)
    if seen.target_trouble is not None or seen.active_groups:
        assert refusal is not None
    if refusal is not None:
        assert refusal.reason
        assert refusal.way


@pytest.mark.parametrize(
    ("command", "wishes", "words"),
    [
        ("failover-planned", {"source_trouble": "no broker answers"}, "--unplanned"),
        ("failover-planned", {"engine_trouble": "silent"}, "twinlog run"),
        ("failover-planned", {"faults": ("t-0: broken",)}, "--unplanned"),
        ("failover-planned", {"lag_records": None}, "try again"),
        ("failover-planned", {"ledger_there": False}, "twinlog run"),
        ("failover-unplanned", {"state": state("B")}, "failback"),
        ("failover-unplanned", {"active_groups": ("g",)}, "Stop these consumers"),
        ("failback-delta", {"state": state("A")}, "nothing to fail back"),
        ("failback-delta", {"same_names": False}, "B->A"),
        ("failback-full", {"same_names": False}, "IdentityReplicationPolicy"),
        ("failback-full", {"transforms": ("mask",)}, "Use --delta"),
    ],
)
def test_what_cannot_work_is_refused(command: str, wishes: dict[str, Any], words: str) -> None:
    refusal = refusal_of(facts(command, **wishes))
    assert refusal is not None
    assert words in refusal.way


def test_a_second_switch_is_refused_and_told_who_runs_the_first() -> None:
    claim = Claim(
        pair="A<->B", switch="s", runner="r", command="failover-planned", link="A->B", operator="ann", host="h"
    )
    refusal = refusal_of(facts("failover-unplanned", open=Switch("s", claim, "r", 0, 0)))
    assert refusal is not None
    assert "ann@h" in refusal.reason
    assert "switch resume" in refusal.way


def test_what_an_unplanned_failover_may_lose_is_told_and_unknown_is_not_zero() -> None:
    known = plan_of(
        facts("failover-unplanned", lag_records=2, lag_bytes=80, lag_seconds=1.5, source_trouble="x")
    ).at_risk
    assert (known.records, known.bytes, known.seconds) == (2, 80, 1.5)
    unknown = plan_of(facts("failover-unplanned", lag_records=None, source_trouble="x")).at_risk
    assert unknown.records is None
    assert plan_of(facts("failover-planned")).at_risk.records == 0


def test_the_plan_says_why_a_side_is_not_shut_by_acl() -> None:
    plan = plan_of(facts("failback-delta", fence_why="it has no authorizer", target_fence="acl"))
    changes = {step.id: step.changes for step in plan.steps}
    assert changes["fence-source"] == "max.message.bytes of 1 topic on A (no ACL: it has no authorizer)"
    assert changes["fence-target"] == "an ACL that denies Write on 1 topic on B"
    assert "stray" in next(step.risk for step in plan.steps if step.id == "admit")


def test_a_full_failback_lists_what_it_deletes() -> None:
    plan = plan_of(facts("failback-full", topics=("orders", "payments")))
    assert plan.wiped == ("orders", "payments")
    assert [step.id for step in plan.steps if not step.reversible] == ["wipe"]
