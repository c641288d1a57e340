"""Members and committed offsets of consumer groups. Blocking; runs in worker threads and in commands."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Future
from typing import Any, NamedTuple

from confluent_kafka import ConsumerGroupTopicPartitions
from confluent_kafka.admin import AdminClient

from twinlog.errors import ClusterError
from twinlog.kafka.admin import ClusterAdmin
from twinlog.model.names import NextOffset, TopicPartition


class GroupMembers(NamedTuple):
    """The state of a group, and its members as people know them."""

    state: str
    members: tuple[str, ...]


def list_groups(admin: ClusterAdmin) -> list[str]:
    """Name all groups that we may see, sorted."""

    def everything(client: AdminClient, timeout_s: float) -> dict[str, Future[Any]]:
        return {"all": client.list_consumer_groups(request_timeout=timeout_s)}

    answer = admin.ask(everything)["all"]
    if isinstance(answer, ClusterError):
        raise answer
    return sorted(group.group_id for group in answer.valid)


def fetch_members(admin: ClusterAdmin, groups: Iterable[str]) -> dict[str, GroupMembers | ClusterError]:
    """Ask about each group; one that does not exist is dead and has no members."""
    wanted = list(dict.fromkeys(groups))

    def describe(client: AdminClient, timeout_s: float) -> dict[str, Future[Any]]:
        return client.describe_consumer_groups(wanted, request_timeout=timeout_s)

    return {
        group: answer if isinstance(answer, ClusterError) else _members(answer)
        for group, answer in (admin.ask(describe) if wanted else {}).items()
    }


def _members(description: Any) -> GroupMembers:
    members = tuple(f"{member.client_id} on {member.host.lstrip('/')}" for member in description.members)
    return GroupMembers(description.state.name.lower(), members)


def fetch_client_ids(admin: ClusterAdmin, group: str) -> tuple[str, ...] | None:
    """The client ids of the members; None while members come or go. Raises ClusterError."""

    def describe(client: AdminClient, timeout_s: float) -> dict[str, Future[Any]]:
        return client.describe_consumer_groups([group], request_timeout=timeout_s)

    answer = admin.ask(describe)[group]
    if isinstance(answer, ClusterError):
        raise answer
    if answer.state.name.lower() != "stable":
        return None
    return tuple(member.client_id for member in answer.members)


def fetch_committed(admin: ClusterAdmin, group: str) -> dict[TopicPartition, NextOffset]:
    """Return the committed offsets of a group; empty if it has none. Raises ClusterError."""

    def offsets(client: AdminClient, timeout_s: float) -> dict[str, Future[Any]]:
        return client.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)], request_timeout=timeout_s)

    answer = admin.ask(offsets)[group]
    if isinstance(answer, ClusterError):
        raise answer
    return {
        TopicPartition(position.topic, position.partition): NextOffset(position.offset)
        for position in answer.topic_partitions
        if position.offset >= 0 and position.error is None
    }
