"""What `twinlog diff` says about a topic and its configs, and why."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.model.ledger.records import FaultEntry, RosterTopic
from twinlog.model.topics.configs import ConfigVerdict, Fate
from twinlog.model.topics.link_diff import Habits, config_difference, topic_differences
from twinlog.model.topics.target_topics import TopicFacts

HABITS = Habits(5, 30, 60, keeps_silently=False)
ENTRY = RosterTopic(topic="orders", source_id="s", remote="A.orders", target_id="t", origins=[0])
BROKEN = ENTRY.model_copy(update={"problem": FaultEntry(code="X", says="it is broken", remedy="mend it")})


def facts(name: str, partitions: int) -> TopicFacts:
    return TopicFacts(name, "id", partitions, 1, internal=False)


@given(st.integers(1, 4), st.integers(1, 4))
@pytest.mark.proves("R13")
def test_two_topics_differ_exactly_when_their_partitions_do(ours: int, theirs: int) -> None:
    found = topic_differences(facts("orders", ours), "A.orders", facts("A.orders", theirs), ENTRY, HABITS)

    assert [one.kind for one in found] == ([] if ours == theirs else ["partitions"])
    assert all((one.source, one.target) == (str(ours), str(theirs)) and one.why for one in found)


@pytest.mark.proves("R14")
def test_a_missing_topic_is_told_with_its_true_cause() -> None:
    (new,) = topic_differences(facts("orders", 1), "A.orders", None, None, HABITS)
    assert "within 5 s" in new.why
    (off,) = topic_differences(facts("orders", 1), "A.orders", None, None, Habits(None, 30, 60, keeps_silently=False))
    assert off.why == "refresh.topics.enabled = false"
    (broken,) = topic_differences(facts("orders", 1), "A.orders", None, BROKEN, HABITS)
    assert broken.why == "it is broken; mend it"
    (closed,) = topic_differences(facts("orders", 1), "A.orders", "access denied", ENTRY, HABITS)
    assert (closed.target, closed.why) == ("not to be seen", "access denied")


def test_configs_are_told_by_their_fate() -> None:
    def told(fate: Fate, refusals: dict[str, str] | None = None, *, silent: bool = False) -> str | None:
        verdict = ConfigVerdict("retention.ms", fate, "5", "5", "7", "6", "excluded")
        found = config_difference(ENTRY, verdict, refusals or {}, Habits(5, 30, 60, keeps_silently=silent))
        return None if found is None else found.why

    assert told(Fate.IN_STEP) is None
    assert told(Fate.NOT_COPIED) is None
    assert "by hand" in (told(Fate.BY_HAND) or "")
    assert told(Fate.BY_HAND, silent=True) is None
    assert "within 30 s" in (told(Fate.CHANGE) or "")
    assert told(Fate.CHANGE, {"retention.ms": "refused: no"}) == "refused: no"
