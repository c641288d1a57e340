"""Whether producers can be shut out of topics by name, while the link keeps writing there. Pure.

A rule that denies Write to every principal but ours shuts out exactly those who may write by a rule with their name.
Where anybody may write without being named, such a fence would stand open.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from twinlog.model.access.acls import AclBinding

EVERYBODY: Final = "User:*"
WRITES: Final = frozenset({"WRITE", "ALL"})


def writers_of(topic: str, bindings: Iterable[AclBinding]) -> frozenset[str]:
    """Who may write to a topic, by the rules there are."""
    return frozenset(
        binding.principal
        for binding in bindings
        if binding.resource == "topic" and binding.allows and binding.operation in WRITES and binding.covers(topic)
    )


def why_not_by_name(topics: Collection[str], bindings: Collection[AclBinding]) -> str | None:
    """The reason why rules by name cannot shut these topics; None when they can.

    A topic without any rule may be open to everybody: brokers can be told so, and do not tell.
    """
    about_topics = [binding for binding in bindings if binding.resource == "topic"]
    for topic in sorted(topics):
        if EVERYBODY in writers_of(topic, about_topics):
            return f"everybody may write to {topic}"
        if not any(binding.covers(topic) for binding in about_topics):
            return f"no ACL speaks of {topic}"
    return None
