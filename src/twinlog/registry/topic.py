"""Making sure that the topic of the registry is there and safe: one partition, compacted. Blocking."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from twinlog.config.settings import ClientSettings
from twinlog.errors import RegistryTopicUnsafe
from twinlog.kafka.admin import ClusterAdmin
from twinlog.logs.configs import fetch_configs
from twinlog.logs.ensure import ensure_logs
from twinlog.logs.topic import LogTopic
from twinlog.wire.connection import Cluster

log = logging.getLogger("twinlog.registry.topic")

_COMPACT: Final = {"cleanup.policy": "compact"}


@dataclass(frozen=True)
class TopicWish:
    """What the file says about the topic."""

    name: str
    replication_factor: int = 3
    configs: Mapping[str, str] | None = None
    skip_checks: bool = False


def ensure_topic(settings: ClientSettings, wish: TopicWish, *, brokers: int) -> None:
    """Create the topic unless it is there. Raises ClusterError, and RegistryTopicUnsafe for one that loses schemas."""
    admin = ClusterAdmin(settings)
    factor = min(wish.replication_factor, max(brokers, 1))
    if factor < wish.replication_factor:
        problem = f"{brokers} brokers answer, so it has {factor} replicas, not {wish.replication_factor}"
        log.warning("%s: %s", wish.name, problem)
    topic = LogTopic(wish.name, {**_COMPACT, **(wish.configs or {})})
    facts = ensure_logs(admin, factor, topic)[wish.name]
    if wish.skip_checks:
        return
    if facts.partitions != 1:
        problem = f"it has {facts.partitions} partitions; it must have one"
        raise RegistryTopicUnsafe(settings.cluster, problem, wish.name)
    configs = fetch_configs(admin, wish.name)
    policy = None if configs is None else configs.get("cleanup.policy", "compact")
    if policy is not None and policy != "compact":
        problem = f"its cleanup.policy is {policy}; Kafka will delete schemas that are in use"
        raise RegistryTopicUnsafe(settings.cluster, problem, wish.name)


async def count_brokers(cluster: Cluster) -> int:
    """How many brokers the cluster has now."""
    await cluster.refresh(None)
    return len(cluster.nodes)
