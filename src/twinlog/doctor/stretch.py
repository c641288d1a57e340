"""Asks one cluster where its replicas are, for the judgement of a stretch cluster. Changes nothing."""

from __future__ import annotations

import re
from typing import Final

from twinlog.config.settings import ClientSettings
from twinlog.errors import ClusterError
from twinlog.kafka.admin import ClusterAdmin
from twinlog.kafka.inspection import fetch_broker_configs, look_at_cluster, look_at_replicas
from twinlog.model.topics.stretch import Stretched

_MIN_IN_SYNC: Final = "min.insync.replicas"
_VOTER: Final = re.compile(r"(\d+)@")


def look_at_stretch(settings: ClientSettings, trip_ms: float | None) -> Stretched:
    """Ask for brokers, replicas and configs. Raises ClusterError when the cluster does not answer."""
    admin = ClusterAdmin(settings)
    cluster = look_at_cluster(admin)
    names = admin.list_topics()
    placed = look_at_replicas(admin, names)
    least = {
        name: int(config.value)
        for name, configs in admin.fetch_topic_configs(names).items()
        if not isinstance(configs, ClusterError)
        for config in configs
        if config.name == _MIN_IN_SYNC and config.value is not None
    }
    try:
        of_brokers = fetch_broker_configs(admin, [broker.node for broker in cluster.brokers])
    except ClusterError:
        of_brokers = {}  # without the right to describe them, voters and the selector stay unknown
    voters = {
        vote
        for configs in of_brokers.values()
        for vote in _VOTER.findall(configs.get("controller.quorum.voters") or "")
    }
    selectors = {configs.get("replica.selector.class") or "" for configs in of_brokers.values()}
    return Stretched(
        {broker.node: broker.rack for broker in cluster.brokers},
        placed,
        least,
        tuple(sorted(map(int, voters))) if voters else None,
        all("RackAware" in selector for selector in selectors) if selectors else None,
        trip_ms,
    )
