"""Membership of a consumer group that owns a topic of one partition: Kafka lets one member own it at a time."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from typing import Any, Final

from confluent_kafka import Consumer, TopicPartition

from twinlog.config.settings import ClientSettings
from twinlog.kafka.client_options import client_options

_SESSION_MS: Final = 9_000
"""How long a silent owner is waited for; a tenth of this would let a long pause of the machine change the owner."""
_POLL_S: Final = 0.2


def stand_in_line(
    settings: ClientSettings, group: str, topic: str, on_owned: Callable[[], None], closing: Event
) -> None:
    """Be a member until `closing` is set, then leave the group. `on_owned` is called whenever the partition is ours.

    Blocking: runs in a thread of its own, and calls `on_owned` there.
    """
    options: dict[str, Any] = {
        **client_options(settings),
        "group.id": group,
        "enable.auto.commit": False,
        "auto.offset.reset": "latest",
        "session.timeout.ms": _SESSION_MS,
        "heartbeat.interval.ms": _SESSION_MS // 4,
        # The owner keeps the partition when another member comes: a standby that starts must not move it.
        "partition.assignment.strategy": "cooperative-sticky",
    }
    member = Consumer(options)

    def assigned(consumer: Consumer, partitions: list[TopicPartition]) -> None:
        consumer.incremental_assign(partitions)
        if partitions:
            consumer.pause(partitions)  # owning it is all that we want of it
            on_owned()

    member.subscribe([topic], on_assign=assigned)
    while not closing.is_set():
        member.poll(_POLL_S)
    member.close()
