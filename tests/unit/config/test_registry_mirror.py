"""Which way the topic of the schema registry goes, whatever the patterns say."""

from __future__ import annotations

import pytest

from twinlog.config.pair import resolve_pair, stand_in_pair
from twinlog.config.resolve import resolve
from twinlog.config.settings import LinkSettings
from twinlog.errors import SettingsInvalid
from twinlog.model.selection import OtherWay, replicates, verdict

HEAD = "clusters = A, B\nA.bootstrap.servers = a:1\nB.bootstrap.servers = b:1\nA->B.enabled = true\n"


def links(text: str) -> dict[str, LinkSettings]:
    return {link.name: link for link in resolve((HEAD + text).encode(), "f", (), {}).links}


def takes(link: LinkSettings, topic: str) -> bool:
    return replicates(topic, link.source, link.target, link.topics, link.naming)


@pytest.mark.proves("R24")
def test_schemas_are_mirrored_under_their_own_name_whatever_the_patterns_say() -> None:
    link = links("A->B.topics = orders\nA->B.topics.exclude = _.*")["A->B"]
    assert takes(link, "_schemas")
    assert takes(link, "_schema_encoders")
    assert link.naming.remote("A", "_schemas") == "_schemas"
    assert link.naming.remote("A", "orders") == "A.orders"
    assert link.registry.mirrored


@pytest.mark.proves("R24")
def test_schemas_go_one_way_only() -> None:
    both = links("B->A.enabled = true\nA->B.replication.policy.class = IdentityReplicationPolicy\n")
    assert takes(both["A->B"], "_schemas")
    assert not takes(both["B->A"], "_schemas")
    back = both["B->A"]
    assert verdict("_schemas", "B", "A", back.topics, back.naming) == OtherWay()
    other = links("B->A.enabled = true\nB->A.registry.mirror = on")
    assert not takes(other["A->B"], "_schemas")
    assert takes(other["B->A"], "_schemas")


def test_off_leaves_the_topic_to_the_patterns() -> None:
    link = links("A->B.registry.mirror = off\nA->B.topics = .*")["A->B"]
    assert takes(link, "_schemas")
    assert link.naming.remote("A", "_schemas") == "A._schemas"
    assert not link.registry.mirrored


def test_both_ways_on_is_refused() -> None:
    with pytest.raises(SettingsInvalid, match="set it for one link"):
        links("B->A.enabled = true\nregistry.mirror = on")


def test_another_topic_can_be_named() -> None:
    link = links("A->B.registry.topic = _schemas_7\nA->B.topics = orders")["A->B"]
    assert takes(link, "_schemas_7")
    assert not takes(link, "_schemas")


@pytest.mark.proves("R27")
def test_a_way_back_that_the_file_does_not_enable_copies_no_schemas() -> None:
    text = HEAD + "replication.policy.class = IdentityReplicationPolicy\ntopics = .*\n"
    pair = resolve_pair(text.encode(), "f", "A->B", {})
    assert takes(pair.link, "_schemas")
    assert not takes(pair.back, "_schemas")
    assert takes(pair.back, "orders")
    assert not pair.back.registry.mirrored
    assert not takes(stand_in_pair(pair.link).back, "_schemas")
