"""What a switch changed on a cluster to shut it: values that no other link may copy. Pure.

A fence is noted in the switch log of the cluster that it shuts, before anything is changed there. Links from that
cluster to third clusters read the note: for them the topics are as they were before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from twinlog.model.acls import AclBinding
from twinlog.model.switch import Fenced, SwitchEntry, merged_fence
from twinlog.model.topic_configs import FENCE_CONFIG, ConfigOrigin, TopicConfig

_ACL: Final = "acl"


@dataclass
class Fences:
    """The fences of one cluster, of every pair it belongs to."""

    cluster: str
    _noted: dict[str, Mapping[str, Any]] = field(default_factory=dict)  # by pair

    def take(self, entry: SwitchEntry) -> None:
        """Read one more entry of the cluster's switch log."""
        if not isinstance(entry, Fenced) or entry.cluster != self.cluster:
            return
        if entry.lifted:
            self._noted.pop(entry.pair, None)
        else:
            self._noted[entry.pair] = merged_fence(self._noted.get(entry.pair), entry.facts)

    def configs_before(self, topic: str, configs: Iterable[TopicConfig]) -> tuple[TopicConfig, ...]:
        """The configs of a topic without what fences changed.

        A config that the topic itself did not set counts as one of the brokers' files: nobody wishes it.
        """
        before: dict[str, str | None] = {}
        for facts in self._noted.values():
            if topic in facts.get("former", {}):
                before.setdefault(FENCE_CONFIG, facts["former"][topic])
            for name, value in facts.get("kept", {}).get(topic, {}).items():
                before.setdefault(name, value)
        return tuple(
            config
            if config.name not in before
            else replace(config, origin=ConfigOrigin.STATIC_BROKER)
            if before[config.name] is None
            else replace(config, value=before[config.name])
            for config in configs
        )

    def acls_before(self, bindings: Collection[AclBinding]) -> frozenset[AclBinding]:
        """The ACLs without the rules of fences."""
        ours: set[AclBinding] = set()
        for facts in self._noted.values():
            if facts.get("means") != _ACL:
                continue
            earlier = {(topic, who) for topic, who in facts.get("denied", ())}
            topics = set(facts.get("topics", ()))
            ours |= {
                one
                for one in bindings
                if (one.resource, one.pattern, one.host, one.operation, one.permission)
                == ("topic", "literal", "*", "WRITE", "DENY")
                and one.name in topics
                and (one.name, one.principal) not in earlier
            }
        return frozenset(bindings) - ours
