"""The card of a switch says who is active, where to connect, what is missing and what to do next."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from twinlog.model.groups.positions import continues
from twinlog.model.names import LinkName
from twinlog.model.naming import ReplicationNaming
from twinlog.model.switch.card import Card, card_facts, card_of
from twinlog.model.switch.log import Claim, End, StateEntry, StepRecord, Switch
from twinlog.model.switch.plan import Facts

LINK = LinkName("east", "west")
SERVERS = {"east": ("e1:9092",), "west": ("w1:9092", "w2:9092")}
FACTS = Facts(
    link=LINK,
    command="failover-unplanned",
    topics=("orders", "payments"),
    missing_for_writers=("orders",),
    groups=3,
    read_again={"billing": 120, "idle": 0},
)


def ended(facts: Facts = FACTS, outcome: str = "done", *, pending: bool = False, fenced: bool = False) -> Switch:
    naming = ReplicationNaming()
    options = {"card": card_facts(facts, naming, SERVERS).model_dump(mode="json")}
    claim = Claim(pair="east<->west", switch="s1", runner="r", command=facts.command, link=str(LINK), options=options)
    active = facts.new_active if outcome == "done" else facts.active
    on_return = {"east": "acl"} if pending else {}
    state = StateEntry(pair="east<->west", generation=1, active=active, links={}, fence_on_return=on_return)
    steps = {"fence-source": StepRecord("fence-source", "done", "shut", {}, 1, 2, 1)} if fenced else {}
    loss = StepRecord("loss", "done", "", {"records": 0, "at_most": 7, "known_at_ms": 1, "copied_ms": 2}, 1, 2, 1)
    end = End(pair="east<->west", switch="s1", runner="r", outcome=outcome)
    return Switch("s1", claim, "r", 1, 2, {**steps, "loss": loss}, end, 3, state)


def card(switch: Switch) -> Card:
    found = card_of(switch)
    assert found is not None
    return found


def test_a_failover_tells_application_teams_where_to_go() -> None:
    shown = card(ended(pending=True))
    facts = dict(shown.facts)
    assert shown.title == "west is active: unplanned failover of east->west done"
    assert facts["Connect to"] == "w1:9092,w2:9092"
    assert facts["Read from"] == "east.orders, east.payments"
    assert facts["Write to"] == "orders, payments"
    assert facts["Missing for producers"] == "orders"
    assert facts["Consumer groups"] == f"3 moved; billing {continues(120)}"
    assert "7" in facts["Not copied"]
    assert facts["Old side"].startswith("east did not answer; its producers are shut out as soon as it answers")
    assert shown.next[0] == "Create the missing topics: `twinlog link prepare 'east->west'`"
    assert "When east is back: `twinlog failback 'east->west' --dry-run`" in shown.next


def test_what_is_not_known_about_the_old_side_is_said() -> None:
    assert dict(card(ended()).facts)["Old side"] == "it is not known whether producers can still write to east"
    assert dict(card(ended(fenced=True)).facts)["Old side"] == "producers of east are shut out"


def test_a_side_that_was_opened_for_the_link_again_is_not_called_shut() -> None:
    shut = ended(replace(FACTS, command="failback-delta"), fenced=True)
    for says in ("the topics are open to everybody: a topic config cannot tell producers apart", "there is no fence"):
        opened = StepRecord("resume", "done", "", {"old_side": says}, 1, 2, 1)
        shown = card(replace(shut, steps={**shut.steps, "resume": opened}))
        assert dict(shown.facts)["Old side"] == f"west: {says}"
    assert dict(card(shut).facts)["Old side"] == "producers of west are shut out"


def test_without_a_redirect_hook_the_card_says_that_clients_must_be_moved() -> None:
    step = "Point producers and consumers to w1:9092,w2:9092"
    switch = ended(fenced=True)
    none = StepRecord("redirect", "done", "", {"active": "west"}, 1, 2, 1)
    assert step in card(replace(switch, steps={**switch.steps, "redirect": none})).next
    called = StepRecord("redirect", "done", "", {"active": "west", "hook dns": "moved"}, 1, 2, 1)
    assert step not in card(replace(switch, steps={**switch.steps, "redirect": called})).next


def test_a_switch_that_was_given_up_has_no_advice_for_applications() -> None:
    shown = card(ended(outcome="aborted"))
    assert (dict(shown.facts), len(shown.next)) == ({"Active side": "east"}, 1)


def test_a_switch_that_runs_and_one_of_an_older_version_have_no_card() -> None:
    switch = ended()
    assert card_of(replace(switch, end=None)) is None
    assert card_of(replace(switch, claim=switch.claim.model_copy(update={"options": {}}))) is None


@given(st.lists(st.from_regex(r"[a-z]{1,9}", fullmatch=True), unique=True, max_size=60))
def test_long_lists_are_cut_and_say_so(topics: list[str]) -> None:
    shown = card(ended(replace(FACTS, topics=tuple(topics))))
    read = dict(shown.facts)["Read from"]
    assert (" more" in read) == (len(topics) > 20)
    assert (read == "no topic") == (not topics)
    assert shown.markdown().startswith(f"**{shown.title}**")
