"""What steps leave in the journal: typed here, JSON there, and journals of earlier versions are read as they are."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.model.names import TopicPartition
from twinlog.model.switch.facts import (
    BackStopped,
    CopiedAll,
    CopiedBack,
    CutAt,
    FenceFacts,
    FenceNote,
    Findings,
    LinkStopped,
    Loss,
    OldFence,
    PositionsKnown,
    Promoted,
    Redirected,
    Released,
    SourceFence,
    StepFacts,
    TailFacts,
    Wiped,
    findings_of,
)
from twinlog.model.switch.log import Claim, Fenced, StepEntry, SwitchLog, Written, read_switch_entry
from twinlog.recovery.execute import STEPS

PAIR = "A<->B"
ORDERS = TopicPartition("or-ders", 1)

# As versions before typed facts wrote them.
OLD: dict[str, dict[str, Any]] = {
    "fence-source": {"ends": {"or-ders": [10, 11], "empty": []}, "means": "topic-config"},
    "fence-old": {"pending": True, "why": "no answer within 5 s"},
    "stop-link": {
        "cut": {"or-ders": [[10, 9], [11, 0]]},
        "unnoted": {"or-ders-1": 3},
        "dead": {"or-ders-0": "it has no leader"},
        "findings": ["a sentence"],
        "found": 7,
    },
    "loss": {"records": None, "known_at_ms": None, "lost": {}},
    "positions-known": {"cuts": [{"set": "s", "group": "g", "as_of_ms": 5, "read_again": 2}], "groups": ["g"]},
    "promote": {"active": "B"},
    "release": {"acls": ["x"], "missing_for_writers": [], "findings": []},
    "redirect": {"hook dns": "set", "hook etcd": "written", "active": "B"},
    "tail": {
        "tails": {"or-ders-1": {"first": 3, "next": 5, "records": 2, "expired": 0, "oldest_ms": 1, "newest_ms": 2}},
        "records": 2,
        "torn": [{"producer_id": 4}],
        "file": "/x/tail.jsonl",
        "topic": None,
    },
    "wipe": {"deleted": ["or-ders"]},
    "copy-back": {"seeded": ["or-ders"], "appended": True, "findings": [], "found": 0},
    "copy-all": {"full": True},
    "stop-back": {"cut_back": {"or-ders": [[1, 2]]}, "strays": {"or-ders-1": 8}},
}


def journal(facts: dict[str, dict[str, Any]]) -> SwitchLog:
    """A log with one switch whose steps left these."""
    claim = Claim(pair=PAIR, switch="s", runner="r", command="failover-planned", link="A->B")
    log = SwitchLog(PAIR).take(Written(0, 1, claim))
    for at, (step, left) in enumerate(facts.items(), 1):
        entry = StepEntry(pair=PAIR, switch="s", runner="r", step=step, event="done", facts=left)
        read = read_switch_entry(entry.value())
        assert read is not None
        log = log.take(Written(at, at, read))
    return log


def kinds(of: type[StepFacts] = StepFacts) -> list[type[StepFacts]]:
    return [kind for one in of.__subclasses__() for kind in (one, *kinds(one))]


def test_every_step_has_one_model_of_what_it_leaves() -> None:
    steps = [kind.step for kind in kinds() if kind not in {Findings, FenceFacts}]
    assert sorted(steps) == sorted(STEPS)


def test_a_journal_of_an_earlier_version_is_read() -> None:
    switch = journal(OLD).open
    assert switch is not None

    def left(kind: type[StepFacts]) -> Any:
        found = switch.facts(kind)
        assert found is not None
        return found

    fence = left(SourceFence)
    assert fence.ends == {TopicPartition("or-ders", 0): 10, ORDERS: 11}
    assert fence.means == "topic-config"
    assert (left(OldFence).pending, left(OldFence).ends) == (True, None)
    assert left(LinkStopped).cut == {"or-ders": (CutAt(10, 9), CutAt(11, 0))}
    assert left(LinkStopped).unnoted == {ORDERS: 3}
    assert left(LinkStopped).found == 7
    assert left(Loss).records is None
    assert left(PositionsKnown).cuts[0].read_again == 2
    assert left(Promoted).active == "B"
    assert left(Released).acls == ("x",)
    assert left(Redirected) == Redirected(active="B", called={"dns": "set", "etcd": "written"})
    assert left(TailFacts).ends == {ORDERS: 5}
    assert left(Wiped).deleted == ("or-ders",)
    assert left(CopiedBack).appended
    assert left(CopiedAll).full
    assert left(BackStopped).cut_back["or-ders"][0].target == 2
    assert left(BackStopped).strays == {ORDERS: 8}


@pytest.mark.parametrize("kind", [kind for kind in kinds() if kind.__dict__.get("step") in OLD])
def test_what_is_written_now_has_the_form_that_earlier_versions_read(kind: type[StepFacts]) -> None:
    old = {name: value for name, value in OLD[kind.step].items() if value is not None}
    if kind is SourceFence:
        del old["ends"]["empty"]  # a topic without partitions has no ends
    written = json.loads(json.dumps(kind.model_validate(OLD[kind.step]).as_json()))
    assert {name: value for name, value in written.items() if value is not None} == old


@given(st.dictionaries(st.tuples(st.text("ab-.", min_size=1), st.integers(0, 3)), st.integers(0, 2**62)))
def test_partitions_come_back_as_they_went(found: dict[tuple[str, int], int]) -> None:
    by_partition = {TopicPartition(*place): count for place, count in found.items()}
    stopped = LinkStopped(unnoted=by_partition)
    assert LinkStopped.model_validate(json.loads(json.dumps(stopped.as_json()))) == stopped


@given(st.dictionaries(st.text("ab-.", min_size=1), st.lists(st.integers(0, 2**62), min_size=1)))
def test_ends_come_back_as_they_went(ends: dict[str, list[int]]) -> None:
    found = {TopicPartition(topic, number): end for topic, rows in ends.items() for number, end in enumerate(rows)}
    fence = SourceFence(ends=found, means="acl")
    assert fence.as_json() == {"ends": ends, "means": "acl"}
    assert SourceFence.model_validate(fence.as_json()) == fence


def test_each_hook_that_was_called_stays_in_the_journal() -> None:
    log = journal({})
    notes = [Redirected(called={"dns": "set"}), Redirected(called={"etcd": "written"}), Redirected(active="B")]
    for at, note in enumerate(notes, 1):
        event: Any = "done" if at == len(notes) else "note"
        entry = StepEntry(pair=PAIR, switch="s", runner="r", step="redirect", event=event, facts=note.as_json())
        log = log.take(Written(at, at, entry))
    assert log.open is not None
    assert log.open.facts(Redirected) == Redirected(active="B", called={"dns": "set", "etcd": "written"})


def test_a_step_that_left_nothing_so_far_has_no_facts() -> None:
    log = journal({"fence-source": {}})
    assert log.open is not None
    assert log.open.facts(SourceFence) is None
    assert log.open.facts(TailFacts) is None


def test_facts_that_are_none_are_refused() -> None:
    switch = journal({"stop-link": {"cut": "everything"}}).open
    assert switch is not None
    with pytest.raises(ValueError, match="cut"):
        switch.facts(LinkStopped)


def test_many_findings_are_counted_and_the_first_are_kept() -> None:
    found = LinkStopped(**findings_of([f"finding {number}" for number in range(60)]))
    assert (len(found.findings), found.found) == (50, 60)


def test_the_note_of_a_fence_is_read_as_earlier_versions_wrote_it() -> None:
    facts = {"topics": ["a"], "means": "acl", "denied": [["a", "User:x"]], "kept": {"a": {"retention.ms": None}}}
    written = json.dumps({"kind": "fenced", "pair": PAIR, "cluster": "A", "facts": facts}).encode()
    read = read_switch_entry(written)
    assert isinstance(read, Fenced)
    assert read.facts == FenceNote(
        topics=("a",), means="acl", denied=(("a", "User:x"),), kept={"a": {"retention.ms": None}}
    )
    # None in `kept` says that the topic had no value of its own: it must outlive the journal.
    assert read_switch_entry(read.value()) == read
