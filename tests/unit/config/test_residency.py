"""Topics of a residency rule never leave their clusters, under no name, over no link."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.config.resolve import resolve
from twinlog.config.settings import LinkSettings
from twinlog.errors import SettingsInvalid
from twinlog.model.selection import replicates

RULE = """
residency = eu
residency.eu.topics = eu\\\\..*, customers
residency.eu.clusters = east, north
"""


def links(more: str, policy: str = "Default", rule: str = RULE) -> dict[str, LinkSettings]:
    text = f"""
clusters = east, north, west
bootstrap.servers = k:9092
replication.policy.class = org.apache.kafka.connect.mirror.{policy}ReplicationPolicy
{more}
{rule}"""
    return {link.name: link for link in resolve(text.encode(), "f", (), {}).links}


def copies(link: LinkSettings, topic: str) -> bool:
    return replicates(topic, link.source, link.target, link.topics, link.naming)


CHAIN = "east->north.enabled = true\nnorth->west.enabled = true\n"


@given(st.sampled_from(["eu.orders", "eu.a.b", "customers"]), st.sampled_from(["Default", "Identity"]))
def test_a_topic_stays_within_its_clusters_also_behind_a_hop(topic: str, policy: str):
    both = links(CHAIN, policy)
    assert copies(both["east->north"], topic)
    arrived = both["east->north"].naming.remote("east", topic)
    assert not copies(both["north->west"], arrived)
    assert not copies(both["north->west"], topic)


def test_other_topics_travel():
    both = links(CHAIN)
    for topic in ("orders", "europe", "logs.eu.x", "customers2", "east.orders"):
        assert copies(both["north->west"], topic), topic


def test_without_the_rule_the_topic_would_travel():
    assert copies(links(CHAIN, rule="")["north->west"], "eu.orders")


@pytest.mark.parametrize("topics", ["customers", "orders, eu\\\\.invoices", "eu\\\\..*"])
def test_a_link_that_asks_for_it_by_name_is_refused(topics: str):
    with pytest.raises(SettingsInvalid, match="must not reach west: residency eu keeps it on east, north"):
        links(f"east->west.enabled = true\neast->west.topics = {topics}\n")


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("residency = eu\nresidency.eu.topics = a", "eu has no clusters"),
        ("residency = eu\nresidency.eu.clusters = east", "eu has no topics"),
        ("residency = eu\nresidency.eu.topics = a\nresidency.eu.clusters = esat", "esat is not listed in `clusters`"),
        ("residency.eu.topics = a", "`residency` does not list eu"),
        (f"{RULE}residency.eu.topic = a", "unknown; after the name comes topics or clusters"),
    ],
)
def test_a_rule_that_would_not_hold_is_an_error(rule: str, said: str):
    with pytest.raises(SettingsInvalid, match=said):
        links(CHAIN, rule=rule)


def test_renamed_copies_that_could_travel_on_are_refused():
    renamed = "east->north.topic.rename.format = ${topic}-copy\n"
    with pytest.raises(SettingsInvalid, match="east->north renames topics, so north->west would not recognise them"):
        links(CHAIN + renamed, "Identity")


def test_the_file_says_what_each_link_leaves_out():
    text = f"clusters = east, north, west\nbootstrap.servers = k:9092\n{CHAIN}{RULE}"
    said = [str(finding) for finding in resolve(text.encode(), "f", (), {}).findings]
    assert any("stays on east, north; north->west leaves it out" in one for one in said)
    assert not any("east->north leaves" in one for one in said)
