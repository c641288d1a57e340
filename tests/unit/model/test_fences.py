"""Whose fence a note is about: the id of the cluster decides, the alias only where there is none."""

from __future__ import annotations

from typing import Any

import pytest

from twinlog.model.access.acls import AclBinding
from twinlog.model.switch.fences import Fences
from twinlog.model.switch.log import Fenced
from twinlog.model.topics.configs import ConfigOrigin, TopicConfig

SHUT = TopicConfig("max.message.bytes", "0", ConfigOrigin.TOPIC)


def fences(*notes: Fenced, alias: str = "hub", cluster_id: str = "id-1") -> Fences:
    found = Fences(alias, cluster_id)
    for note in notes:
        found.take(note)
    return found


BY_CONFIG: dict[str, Any] = {"topics": ["orders"], "means": "topic-config", "former": {"orders": "1000"}}
BY_ACL: dict[str, Any] = {"topics": ["orders"], "means": "acl", "denied": [["orders", "User:mallory"]]}


def note(
    cluster: str,
    cluster_id: str = "",
    facts: dict[str, Any] = BY_CONFIG,
    *,
    pair: str = "A<->B",
    lifted: bool = False,
) -> Fenced:
    return Fenced(pair=pair, cluster=cluster, cluster_id=cluster_id, lifted=lifted, facts=facts)


def limit(found: Fences) -> str | None:
    (config,) = found.configs_before("orders", [SHUT])
    return config.value


@pytest.mark.parametrize(
    ("noted", "expected"),
    [
        (note("A", "id-1"), "1000"),  # another file, another alias, the same cluster
        (note("hub", "id-2"), "0"),  # the same alias, another cluster
        (note("hub"), "1000"),  # of a version that wrote no ids
        (note("A"), "0"),
    ],
)
def test_a_note_counts_for_the_cluster_of_its_id(noted: Fenced, expected: str) -> None:
    assert limit(fences(noted)) == expected


def test_a_fence_is_lifted_by_its_own_cluster_only() -> None:
    shut = note("A", "id-1")
    assert limit(fences(shut, note("A", "id-1", lifted=True))) == "0"
    assert limit(fences(shut, note("A", "id-2", lifted=True))) == "1000"
    assert limit(fences(shut, note("A", "id-1", pair="A<->C", lifted=True))) == "1000"
    assert limit(fences(note("hub"), note("hub", "id-1", lifted=True))) == "0"


def test_rules_that_were_there_before_the_fence_are_nobody_elses() -> None:
    def rule(who: str) -> AclBinding:
        return AclBinding("topic", "literal", "orders", who, "*", "WRITE", "DENY")

    found = fences(note("A", "id-1", BY_ACL))
    assert found.acls_before([rule("User:mallory"), rule("User:*"), rule("User:app")]) == {rule("User:mallory")}
