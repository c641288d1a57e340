"""Topics that a source writes to and that do not exist yet: Connect's `topic.creation.*` rules."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from twinlog.config.settings import ClientSettings
from twinlog.pipelines.dead_letters import ensure_topic

_PREFIX: Final = "topic.creation."
_OWN: Final = frozenset({"include", "exclude", "partitions", "replication.factor"})
_BROKERS_DEFAULT: Final = -1


class TopicCreation:
    """How a new topic is made: by the first group whose patterns match, else by the group `default`."""

    def __init__(self, config: Mapping[str, str]) -> None:
        self._config = config
        groups = config.get(f"{_PREFIX}groups", "")
        self._groups = [*(group.strip() for group in groups.split(",") if group.strip()), "default"]

    def group_of(self, topic: str) -> str:
        for group in self._groups[:-1]:
            if self._matches(group, "include", topic) and not self._matches(group, "exclude", topic):
                return group
        return "default"

    def order(self, topic: str) -> tuple[int, int, dict[str, str]]:
        """Partitions, replicas and configs of a new topic; -1 is the broker's default."""
        prefix = f"{_PREFIX}{self.group_of(topic)}."
        own = {key.removeprefix(prefix): value for key, value in self._config.items() if key.startswith(prefix)}
        fallback = {
            key.removeprefix(f"{_PREFIX}default."): value
            for key, value in self._config.items()
            if key.startswith(f"{_PREFIX}default.") and key.removeprefix(f"{_PREFIX}default.") in _OWN
        }
        settings = fallback | own
        partitions = int(settings.get("partitions", _BROKERS_DEFAULT))
        replicas = int(settings.get("replication.factor", _BROKERS_DEFAULT))
        return partitions, replicas, {key: value for key, value in own.items() if key not in _OWN}

    def ensure(self, cluster: ClientSettings, topic: str) -> None:
        """Create the topic unless it is there. Raises ClusterError."""
        partitions, replicas, configs = self.order(topic)
        ensure_topic(cluster, topic, replicas, partitions, configs)

    def _matches(self, group: str, key: str, topic: str) -> bool:
        patterns = self._config.get(f"{_PREFIX}{group}.{key}", "").split(",")
        return any(re.fullmatch(pattern.strip(), topic) for pattern in patterns if pattern.strip())
