"""With prefixed names producers look for topics that the other side does not have: said before and after a failover."""

from __future__ import annotations

from twinlog.local.links import links_properties
from twinlog.model.ledger.records import RosterTopic
from twinlog.model.names import LinkName
from twinlog.model.naming import ReplicationNaming
from twinlog.model.switch.plan import Facts, plan_of
from twinlog.model.topics.writers_topics import missing_for_writers, says_missing


def entry(topic: str, remote: str) -> RosterTopic:
    return RosterTopic(topic=topic, source_id="1", remote=remote, target_id="2", origins=[0])


def test_what_producers_look_for_is_missing_unless_it_is_there_or_keeps_its_name() -> None:
    roster = [entry("orders", "east.orders"), entry("logs", "logs"), entry("heartbeats", "east.heartbeats")]
    naming = ReplicationNaming(source_alias="east")
    assert missing_for_writers(roster, naming, {"east.orders", "logs"}) == ("orders",)
    assert missing_for_writers(roster, naming, {"orders"}) == ()


def test_the_plan_of_a_failover_says_what_is_missing_and_that_there_is_no_way_back() -> None:
    link = LinkName("east", "west")
    for command in ("failover-planned", "failover-unplanned"):
        facts = Facts(link, command, same_names=False, missing_for_writers=("orders",))
        warnings = plan_of(facts).warnings
        assert says_missing(["orders"], "east->west", "west") in warnings
        assert any("`west->east.enabled = true`" in warning for warning in warnings)
        prepared = Facts(link, command, same_names=False, back_enabled=True)
        assert not any("west->east" in warning or "producers" in warning for warning in plan_of(prepared).warnings)


def test_the_file_of_local_clusters_keeps_names() -> None:
    assert "IdentityReplicationPolicy" in links_properties((), same_names=True)
