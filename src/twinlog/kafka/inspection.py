"""Looking at a whole cluster through the ordinary admin client: brokers, replicas, rights, broker configs.

Runs in the doctor, in any thread. Every call is batched and changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from confluent_kafka import TopicCollection
from confluent_kafka.admin import ConfigResource, ResourceType, TopicDescription

from twinlog.errors import ClusterError
from twinlog.kafka.admin import ClusterAdmin
from twinlog.model.health.inspection import BrokerFacts, ClusterFacts, TopicFacts
from twinlog.model.topics.stretch import Placed

_TOPICS_PER_REQUEST = 500


def look_at_cluster(admin: ClusterAdmin) -> ClusterFacts:
    """Ask for the brokers and what we may do with the cluster."""
    answer = admin.ask(
        lambda client, timeout_s: {
            "": client.describe_cluster(include_authorized_operations=True, request_timeout=timeout_s)
        }
    )[""]
    if isinstance(answer, ClusterError):
        raise answer
    brokers = (BrokerFacts(node.id, node.host, node.port, node.rack) for node in answer.nodes)
    return ClusterFacts(str(answer.cluster_id), tuple(brokers), _operations(answer.authorized_operations))


def look_at_topics(admin: ClusterAdmin, names: Iterable[str]) -> dict[str, TopicFacts | ClusterError]:
    """Ask for replicas and rights of each topic."""
    wanted = list(dict.fromkeys(names))
    facts: dict[str, TopicFacts | ClusterError] = {}
    for begin in range(0, len(wanted), _TOPICS_PER_REQUEST):
        part = TopicCollection(wanted[begin : begin + _TOPICS_PER_REQUEST])
        answers = admin.ask(
            lambda client, timeout_s, part=part: client.describe_topics(  # type: ignore[misc]
                part, include_authorized_operations=True, request_timeout=timeout_s
            )
        )
        for name, answer in answers.items():
            facts[name] = answer if isinstance(answer, ClusterError) else _topic(answer)
    return facts


def look_at_replicas(admin: ClusterAdmin, names: Iterable[str]) -> list[Placed]:
    """Ask where the replicas of each partition are, and which are in sync. Raises when a topic is not told."""
    wanted = list(dict.fromkeys(names))
    placed: list[Placed] = []
    for begin in range(0, len(wanted), _TOPICS_PER_REQUEST):
        part = TopicCollection(wanted[begin : begin + _TOPICS_PER_REQUEST])
        answers = admin.ask(
            lambda client, timeout_s, part=part: client.describe_topics(  # type: ignore[misc]
                part, request_timeout=timeout_s
            )
        )
        for name, answer in answers.items():
            if isinstance(answer, ClusterError):
                raise answer
            for partition in answer.partitions:
                nodes = tuple(node.id for node in partition.replicas), tuple(node.id for node in partition.isr)
                placed.append(Placed(name, partition.id, *nodes))
    return placed


def fetch_broker_configs(admin: ClusterAdmin, nodes: Iterable[int]) -> dict[int, dict[str, str | None]]:
    """Ask each broker for its configs. Raises when one refuses."""
    configs: dict[int, dict[str, str | None]] = {}
    for node in nodes:
        # Each broker tells only its own, so the client takes one per call.
        resource = ConfigResource(ResourceType.BROKER, str(node))
        answer = admin.ask(
            lambda client, timeout_s, resource=resource: {  # type: ignore[misc]
                "": client.describe_configs([resource], request_timeout=timeout_s)[resource]
            }
        )[""]
        if isinstance(answer, ClusterError):
            raise answer
        configs[node] = {name: entry.value for name, entry in answer.items()}
    return configs


def look_at_groups(admin: ClusterAdmin, names: Iterable[str]) -> dict[str, frozenset[str] | ClusterError]:
    """Ask what we may do with each group."""
    wanted = list(names)
    if not wanted:
        return {}
    answers = admin.ask(
        lambda client, timeout_s: client.describe_consumer_groups(
            wanted, include_authorized_operations=True, request_timeout=timeout_s
        )
    )
    return {
        name: answer if isinstance(answer, ClusterError) else _operations(answer.authorized_operations)
        for name, answer in answers.items()
    }


def _topic(answer: TopicDescription) -> TopicFacts:
    parts = answer.partitions
    return TopicFacts(
        name=answer.name,
        partitions=len(parts),
        replication_factor=min((len(part.replicas) for part in parts), default=0),
        under_replicated=tuple(part.id for part in parts if len(part.isr) < len(part.replicas)),
        offline=tuple(part.id for part in parts if part.leader is None or not part.isr),
        operations=_operations(answer.authorized_operations),
    )


def _operations(operations: list[Any] | None) -> frozenset[str]:
    # The client says None where the broker said "nothing at all".
    return frozenset(operation.name for operation in operations or ())
