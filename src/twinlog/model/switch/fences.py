"""What a switch changed on a cluster to shut it: values that no other link may copy. Pure.

A fence is noted in the switch log of the cluster that it shuts, before anything is changed there. Links from that
cluster to third clusters read the note: for them the topics are as they were before. Another file may call the same
cluster by another alias, or another cluster by the same one: the cluster's id decides.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from twinlog.model.access.acls import AclBinding
from twinlog.model.switch.facts import FenceNote
from twinlog.model.switch.log import Fenced, SwitchEntry
from twinlog.model.topics.configs import FENCE_CONFIG, ConfigOrigin, TopicConfig

_ACL: Final = "acl"


@dataclass
class Fences:
    """The fences of one cluster, of every pair it belongs to. The id is known once the cluster has answered."""

    cluster: str
    cluster_id: str = ""
    _noted: list[Fenced] = field(default_factory=list)

    def take(self, entry: SwitchEntry) -> None:
        """Read one more entry of the cluster's switch log."""
        if not isinstance(entry, Fenced):
            return
        before = next((note for note in self._noted if note.pair == entry.pair and _same_cluster(note, entry)), None)
        if before is not None:
            self._noted.remove(before)
        if not entry.lifted:
            note = entry.facts if before is None else before.facts.merged(entry.facts)
            self._noted.append(entry.model_copy(update={"facts": note}))

    @property
    def _standing(self) -> list[FenceNote]:
        """What is noted of this cluster."""
        here = Fenced(pair="", cluster=self.cluster, cluster_id=self.cluster_id)
        return [noted.facts for noted in self._noted if _same_cluster(noted, here)]

    def configs_before(self, topic: str, configs: Iterable[TopicConfig]) -> tuple[TopicConfig, ...]:
        """The configs of a topic without what fences changed.

        A config that the topic itself did not set counts as one of the brokers' files: nobody wishes it.
        """
        before: dict[str, str | None] = {}
        for note in self._standing:
            if topic in (note.former or {}):
                before.setdefault(FENCE_CONFIG, (note.former or {})[topic])
            for name, value in (note.kept or {}).get(topic, {}).items():
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
        own: set[AclBinding] = set()
        for note in self._standing:
            if note.means != _ACL:
                continue
            earlier, topics = set(note.denied or ()), set(note.topics)
            own |= {
                binding
                for binding in bindings
                if (binding.resource, binding.pattern, binding.host, binding.operation, binding.permission)
                == ("topic", "literal", "*", "WRITE", "DENY")
                and binding.name in topics
                and (binding.name, binding.principal) not in earlier
            }
        return frozenset(bindings) - own


def _same_cluster(fenced: Fenced, other: Fenced) -> bool:
    """By id. Notes of earlier versions have none: their aliases must do."""
    if fenced.cluster_id and other.cluster_id:
        return fenced.cluster_id == other.cluster_id
    return fenced.cluster == other.cluster
