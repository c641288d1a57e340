"""What a topic is called on the other side, and what its name says about where it came from.

These are the rules of MirrorMaker 2's two replication policies, as of Kafka 4.4; consumers, dashboards and Java clients
(`RemoteClusterUtils`) rely on every one of them. Pure; used by planning (driver), the control plane and the faces.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

HEARTBEATS = "heartbeats"
TOPIC: Final = "${topic}"
"""What stands for the topic's own name in a rename format."""
OWN_PREFIX: Final = "__twinlog-"
"""Our own topics. Two underscores hide them from MirrorMaker 2, its Java clients and most tools, like Kafka's own."""
SWITCH_TOPIC: Final = f"{OWN_PREFIX}switch"
DRILL_PREFIX: Final = "twinlog-drill-"
DRILL_ALIAS: Final = "-drill"


def is_own(topic: str) -> bool:
    """Tell whether Twinlog keeps its books there: they describe one cluster and mean nothing elsewhere."""
    return topic.startswith(OWN_PREFIX)


def is_others_drill(topic: str, source: str) -> bool:
    """Tell whether a drill rehearses with this topic, and this is not the drill's own link: it is nobody else's."""
    return topic.startswith(DRILL_PREFIX) and not source.endswith(DRILL_ALIAS)


def fits_format(name: str, rename_format: str) -> bool:
    """Tell whether a topic's name looks like one that the format made."""
    before, _, after = rename_format.partition(TOPIC)
    longer = len(name) > len(before) + len(after)
    return longer and name.startswith(before) and name.endswith(after)


@dataclass(frozen=True)
class ReplicationNaming:
    """The names of one link's topics on the target.

    `default` puts the source's alias before the name (`A.orders`), `identity` keeps it. Both treat heartbeats by the
    default rule, because their prefixes are how clients discover the topology.

    `source_alias` is what `identity` answers for the source of any topic: the name itself does not tell.

    A `rename_format` other than `${topic}`, as Replicator has it, goes with `identity`. `opposite_format` is the one of
    the link that leads back, if there is one: what fits it came from the target already.

    `kept` are topics that have one name everywhere, because programs look for them by it: those of a schema registry.
    """

    policy: Literal["default", "identity"] = "default"
    separator: str = "."
    source_alias: str | None = None
    separator_in_internal_topics: bool = True
    rename_format: str = TOPIC
    opposite_format: str = TOPIC
    kept: tuple[str, ...] = ()

    @property
    def keeps_names(self) -> bool:
        """Whether a copy is called like its original, so that both directions write into the same topics."""
        return self.policy == "identity" and self.rename_format == TOPIC

    def remote(self, alias: str, topic: str) -> str:
        """Name on the target of a topic that comes from the cluster `alias`."""
        if topic in self.kept:
            return topic
        if self._keeps(topic):
            return self.rename_format.replace(TOPIC, topic)
        return f"{alias}{self.separator}{topic}"

    def topic_source(self, topic: str) -> str | None:
        """Alias of the cluster that the topic was copied from; None for a topic that looks local.

        With the default policy every name with a separator looks copied: `orders.v1` comes from a cluster `orders`.
        """
        if self._keeps(topic):
            return self.source_alias
        # Trailing separators do not count as a second part: `orders.` is local.
        name = topic
        while name.endswith(self.separator):
            name = name.removesuffix(self.separator)
        alias, separator, _ = name.partition(self.separator)
        return alias if separator else None

    def upstream_topic(self, topic: str) -> str | None:
        """Name of the topic one hop nearer to its origin; None if it is local."""
        if self._keeps(topic):
            return topic
        alias = self.topic_source(topic)
        return None if alias is None else topic[len(alias) + len(self.separator) :]

    def original_topic(self, topic: str) -> str:
        """Name at the origin, all hops stripped."""
        while (upstream := self.upstream_topic(topic)) is not None and upstream != topic:
            topic = upstream
        return topic

    def is_heartbeats(self, topic: str) -> bool:
        """Tell whether this is the heartbeats topic, here or copied over any number of hops."""
        return self.original_topic(topic) == HEARTBEATS

    def checkpoints_topic(self, source: str) -> str:
        """Where the positions of groups on `source` are told, on the target."""
        return f"{source}{self._internal_separator}checkpoints{self._internal_separator}internal"

    def offset_syncs_topic(self, other: str) -> str:
        """Where pairs of offsets are told; named after the other end than the one it lives on."""
        return f"mm2-offset-syncs{self._internal_separator}{other}{self._internal_separator}internal"

    def is_checkpoints(self, topic: str) -> bool:
        """Tell whether MirrorMaker 2 keeps checkpoints there."""
        return topic.endswith(f"{self._internal_separator}checkpoints{self._internal_separator}internal")

    def is_mm2_internal(self, topic: str) -> bool:
        """Tell whether MirrorMaker 2 keeps its own state there."""
        own = topic.startswith("mm2") and topic.endswith(f"{self._internal_separator}internal")
        return own or self.is_checkpoints(topic)

    def is_internal(self, topic: str) -> bool:
        """Tell whether the topic belongs to a machine (Kafka, MirrorMaker 2, Twinlog) and is never mirrored."""
        return topic.startswith(("__", ".")) or self.is_mm2_internal(topic)

    def is_cycle(self, topic: str, source: str, target: str) -> bool:
        """Tell whether copying the topic from `source` to `target` would bring records home or round again.

        Any hop through the target means that the records were born there. The default policy also refuses hops through
        the source: `A.orders` on A itself is the echo of a link that points at its own cluster under another alias.
        With rename formats both ways, `orders.copy` would otherwise come back as `orders.copy.copy`, and so on.
        """
        if self.opposite_format != TOPIC and self._keeps(topic) and fits_format(topic, self.opposite_format):
            return True
        forbidden = {target} if self.policy == "identity" else {source, target}
        name: str | None = topic
        while name is not None:
            if self.topic_source(name) in forbidden:
                return True
            upstream = self.upstream_topic(name)
            name = upstream if upstream != name else None
        return False

    @property
    def _internal_separator(self) -> str:
        return self.separator if self.separator_in_internal_topics else "."

    def _keeps(self, topic: str) -> bool:
        return self.policy == "identity" and not topic.endswith(HEARTBEATS)
