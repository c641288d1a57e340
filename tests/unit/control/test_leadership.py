"""Whose turn it is to run the links: a turn that comes early is not lost."""

from __future__ import annotations

import pytest
from tests.kit.connect_paper import PaperService, PaperTopic, asked
from tests.kit.waiting import wait_until

from twinlog.model.connectors import GroupState, Leader


@pytest.mark.proves("R9", "R10")
def test_a_turn_that_is_told_before_the_other_leader_is_heard_of_counts() -> None:
    topic = PaperTopic()
    first, second = PaperService(topic, instance="one"), PaperService(topic, instance="two")
    with asked(first), asked(second, active=False):
        mine, other = topic.stores
        late: list[GroupState] = []
        tell, mine.on_news = mine.on_news, late.append
        other.lead([GroupState("g").leader_record(Leader("two", "http://two:8083"))])  # it had the turn and leads …
        mine.on_elected()  # … and left again: it is our turn before we heard of it
        wait_until(lambda: topic.leader is mine, bool, within_s=10, what="the first service to lead again")
        mine.on_news = tell
        for group_state in late:
            tell(group_state)
        wait_until(
            lambda: (first.control.leadership.active, topic.group_state.leader and topic.group_state.leader.instance),
            lambda seen: seen == (True, "one"),
            within_s=10,
            what="one leader",
        )


@pytest.mark.proves("R8", "R10")
def test_a_leader_that_somebody_planted_takes_nothing_from_the_one_who_leads(caplog: pytest.LogCaptureFixture) -> None:
    topic = PaperTopic()
    first = PaperService(topic, instance="one")
    with asked(first):
        topic.plant(*topic.group_state.leader_record(Leader("evil", "http://evil:8083")))
        wait_until(
            lambda: topic.group_state.leader and topic.group_state.leader.instance,
            lambda seen: seen == "one",
            within_s=10,
            what="the leader's answer",
        )
        assert first.control.leadership.active
    assert "wrote the record leader to the links topic; it does not count" in caplog.text


@pytest.mark.proves("R10")
def test_a_leader_who_is_shut_out_of_the_topic_stands_down() -> None:
    topic = PaperTopic()
    first, second = PaperService(topic, instance="one"), PaperService(topic, instance="two")
    with asked(first), asked(second, active=False):
        topic.stores[1].on_elected()
        wait_until(
            lambda: (first.control.leadership.active, second.control.leadership.active),
            lambda seen: seen == (False, True),
            within_s=10,
            what="another leader",
        )
