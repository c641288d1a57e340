"""The switch log: one switch at a time, one runner at a time, whatever is written into it by whom."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.model.names import LinkName
from twinlog.model.naming import SWITCH_TOPIC, ReplicationNaming
from twinlog.model.switch.facts import FenceNote
from twinlog.model.switch.log import (
    SILENT_MS,
    Beat,
    Claim,
    End,
    Fenced,
    StateEntry,
    StepEntry,
    SwitchEntry,
    SwitchLog,
    Written,
    decision_after,
    held_because,
    may_copy,
    newest,
    pair_of,
    read_switch_entry,
)
from twinlog.recovery.report import report_of

PAIR = pair_of(LinkName("A", "B"))


def claim(switch: str, runner: str) -> Claim:
    return Claim(pair=PAIR, switch=switch, runner=runner, command="failover-planned", link="A->B")


def state(generation: int, runner: str = "", **links: str) -> StateEntry:
    return StateEntry.model_validate(
        {"pair": PAIR, "generation": generation, "active": "B", "links": links, "runner": runner}
    )


def read_on(log: SwitchLog, entries: Iterable[Written]) -> SwitchLog:
    return reduce(SwitchLog.take, entries, log)


def fold(*entries: tuple[int, SwitchEntry]) -> SwitchLog:
    return read_on(SwitchLog(PAIR), (Written(offset, at, entry) for offset, (at, entry) in enumerate(entries)))


def test_the_first_claim_wins() -> None:
    log = fold((0, claim("s1", "r1")), (1, claim("s2", "r2")))
    assert log.owned_by("s1", "r1")
    assert not log.owned_by("s2", "r2")


def test_a_second_switch_may_begin_when_the_first_has_ended() -> None:
    log = fold(
        (0, claim("s1", "r1")),
        (1, End(pair=PAIR, switch="s1", runner="r1", outcome="done")),
        (2, claim("s2", "r2")),
    )
    assert log.owned_by("s2", "r2")
    assert [one.id for one in log.ended] == ["s1"]


def test_a_switch_that_is_over_is_not_opened_again() -> None:
    log = fold(
        (0, claim("s1", "r1")),
        (1, End(pair=PAIR, switch="s1", runner="r1", outcome="aborted")),
        (90_000, claim("s1", "r2")),
    )
    assert log.open is None


@pytest.mark.proves("R10")
def test_a_runner_is_replaced_only_when_it_is_silent_and_adds_nothing_from_then_on() -> None:
    too_early = fold(
        (0, claim("s1", "r1")),
        (5_000, Beat(pair=PAIR, switch="s1", runner="r1")),
        (4_999 + SILENT_MS, claim("s1", "r2")),
    )
    assert too_early.owned_by("s1", "r1")
    log = fold(
        (0, claim("s1", "r1")),
        (SILENT_MS, claim("s1", "r2")),
        (SILENT_MS + 1, StepEntry(pair=PAIR, switch="s1", runner="r1", step="fence-source", event="done")),
        (SILENT_MS + 2, state(7, runner="r1")),
        (SILENT_MS + 3, End(pair=PAIR, switch="s1", runner="r1", outcome="done")),
    )
    assert log.owned_by("s1", "r2")
    assert log.state is None
    assert not log.open or not log.open.steps


def test_facts_of_a_step_gather_over_its_runs() -> None:
    def entry(runner: str, event: str, **facts: int) -> StepEntry:
        return StepEntry.model_validate(
            {"pair": PAIR, "switch": "s1", "runner": runner, "step": "x", "event": event, "facts": facts, "took_ms": 5}
        )

    log = fold(
        (0, claim("s1", "r1")),
        (1, entry("r1", "begun")),
        (2, entry("r1", "note", former=3)),
        (SILENT_MS + 2, claim("s1", "r2")),
        (SILENT_MS + 3, entry("r2", "begun")),
        (SILENT_MS + 4, entry("r2", "done", reached=9)),
    )
    assert log.open is not None
    step = log.open.steps["x"]
    assert (step.status, step.runs, dict(step.facts), step.began_ms) == ("done", 2, {"former": 3, "reached": 9}, 1)


def test_the_highest_generation_holds_and_says_what_a_link_may_do() -> None:
    older, newer = state(3, **{"A->B": "copying"}), state(4, **{"A->B": "held"})
    assert newest(newer, None, older) is newer
    assert may_copy(newer, "A->B") == "held"
    assert may_copy(newer, "B->A") == may_copy(None, "A->B") == "copying"
    assert "B is the active side" in held_because(newer, "A->B")
    assert fold((0, newer), (1, older)).state == newer


def test_a_decision_changes_what_it_names_and_the_active_side_is_so_since_it_became_so() -> None:
    link = LinkName("A", "B")
    held = decision_after(None, link, why="A is left", at_ms=10, links={"A->B": "held"})
    assert (held.generation, held.active, held.since_ms) == (2, "A", 0)
    moved = decision_after(held, link, why="failover", at_ms=20, active="B", fence_on_return={"A": "acl"})
    assert (moved.generation, moved.active, moved.since_ms, moved.links) == (4, "B", 20, {"A->B": "held"})
    later = decision_after(moved, link, why="B->A copies back", at_ms=30, active="B", links={"B->A": "copying"})
    assert (later.generation, later.at_ms, later.since_ms) == (6, 30, 20)
    assert later.links == {"A->B": "held", "B->A": "copying"}
    assert later.fence_on_return == {"A": "acl"}
    assert decision_after(later, link, why="", at_ms=40, fence_on_return={}).fence_on_return == {}


@pytest.mark.proves("R10")
def test_two_clusters_that_decided_without_each_other_agree_on_one_decision() -> None:
    there, back = LinkName("A", "B"), LinkName("B", "A")
    east = west = decision_after(None, there, why="both know this", at_ms=1)
    for number in range(7):
        west = decision_after(west, there, why="A is lost", at_ms=number, active="B", fence_on_return={"A": "auto"})
        for _ in range(1 + number % 2):
            east = decision_after(east, back, why="B is lost", at_ms=number, active="A", fence_on_return={"B": "auto"})
        assert east.generation != west.generation
        assert newest(east, west) == newest(west, east)
    logs = [fold((0, east), (1, west)), fold((0, west), (1, east))]
    assert logs[0].state == logs[1].state == newest(east, west)


def test_a_later_note_of_a_fence_only_adds_topics() -> None:
    first = FenceNote(topics=("a",), means="acl", former={"a": "7"}, denied=())
    rules = (("a", "x"), ("b", "y"))
    more = FenceNote(topics=("a", "b"), means="acl", former={"a": "0", "b": None}, denied=rules, kept={"b": {}})
    log = fold(*((at, Fenced(pair=PAIR, cluster="A", facts=note)) for at, note in enumerate((first, more))))
    both = {"topics": ("a", "b"), "former": {"a": "7", "b": None}, "denied": (("b", "y"),), "kept": {"b": {}}}
    assert log.fenced == {"A": FenceNote(means="acl", **both)}


def test_the_report_of_a_switch_tells_its_own_end_whatever_was_decided_later() -> None:
    planned = claim("s1", "r1").model_copy(update={"options": {"steps": ["x"], "titles": {"x": "Do it"}}})
    there, back = state(3, "r1"), state(5, "r2").model_copy(update={"active": "A"})
    given_up, done = (
        End(pair=PAIR, switch="s0", runner="r0", outcome="aborted"),
        End(pair=PAIR, switch="s1", runner="r1", outcome="done"),
    )
    log = fold(
        (1, claim("s0", "r0")),
        (2, given_up),
        (3, planned),
        (4, StepEntry(pair=PAIR, switch="s1", runner="r1", step="x", event="done")),
        (5, there),
        (6, done),
        (7, claim("s2", "r2")),
        (8, back),
    )
    reports = [report_of(one) for one in (*log.ended, log.open) if one is not None]
    assert [(one.switch, one.active, one.generation) for one in reports] == [
        ("s0", "A", 0),
        ("s1", "B", 3),
        ("s2", "A", 5),
    ]
    assert [step["title"] for step in reports[1].steps] == ["Do it"]


def test_a_foreign_record_is_nothing() -> None:
    for junk in (None, b"", b"{}", b"[1]", b'{"kind": "claim"}', b"\xff", b'{"kind": "state", "generation": "x"}'):
        assert read_switch_entry(junk) is None
    assert SwitchLog(pair_of(LinkName("A", "C"))).take(Written(0, 0, claim("s", "r"))).open is None


def test_the_topic_is_never_mirrored() -> None:
    for policy in ("default", "identity"):
        assert ReplicationNaming(policy).is_internal(SWITCH_TOPIC)


_RUNNERS = ("r1", "r2", "r3")
_SWITCHES = ("s1", "s2")
_ENTRIES = st.one_of(
    st.builds(claim, st.sampled_from(_SWITCHES), st.sampled_from(_RUNNERS)),
    st.builds(lambda s, r: Beat(pair=PAIR, switch=s, runner=r), st.sampled_from(_SWITCHES), st.sampled_from(_RUNNERS)),
    st.builds(
        lambda s, r: End(pair=PAIR, switch=s, runner=r, outcome="done"),
        st.sampled_from(_SWITCHES),
        st.sampled_from(_RUNNERS),
    ),
    st.builds(state, st.integers(1, 9), st.sampled_from(("", *_RUNNERS))),
)


@given(st.lists(st.tuples(st.integers(0, 2 * SILENT_MS), _ENTRIES), max_size=30), st.data())
def test_whoever_reads_the_log_in_whatever_pieces_comes_to_the_same_answer(
    waits: list[tuple[int, SwitchEntry]], data: st.DataObject
) -> None:
    now, entries = 0, []
    for offset, (wait, entry) in enumerate(waits):
        now += wait
        entries.append(Written(offset, now, entry))
    whole = read_on(SwitchLog(PAIR), entries)
    cut = data.draw(st.integers(0, len(entries)))
    assert read_on(read_on(SwitchLog(PAIR), entries[:cut]), entries[cut:]) == whole
    generations: list[int] = []
    log = SwitchLog(PAIR)
    for written in entries:
        before, log = log, log.take(written)
        if before.open is not None and log.open is not None and before.open.id != log.open.id:
            pytest.fail("a switch was replaced by another one while it was open")
        if log.state is not None and log.state != before.state:
            generations.append(log.state.generation)
    assert generations == sorted(set(generations))
    assert len({one.id for one in log.ended}) == len(log.ended)
