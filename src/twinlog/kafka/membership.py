"""Membership of a consumer group that owns a topic of one partition: Kafka lets one member own it at a time.

The client id of a member says what it tells the others, for whoever describes the group. A member has one client id
for as long as it is a member, so one that has something new to say leaves and joins again, unless it is the owner.
"""

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
    settings: ClientSettings,
    group: str,
    topic: str,
    closing: Event,
    *,
    on_owned: Callable[[], None],
    on_members: Callable[[], None],
    client_id: Callable[[], str | None],
) -> None:
    """Be a member until `closing` is set, then leave the group. `on_owned` is called whenever the partition is ours.

    `on_members` is called when members came or went, `client_id` tells what to be called (None: as the settings say).
    Blocking: runs in a thread of its own, and calls these there.
    """
    settled = Event()  # it is known whether the partition is ours: to leave earlier would only delay that

    def assigned(consumer: Consumer, partitions: list[TopicPartition]) -> None:
        consumer.incremental_assign(partitions)
        settled.set()
        if partitions:
            consumer.pause(partitions)  # owning it is all that we want of it
            on_owned()
        on_members()

    while not closing.is_set():
        shown = client_id()
        settled.clear()
        member = _member(settings, group, shown)
        member.subscribe([topic], on_assign=assigned)
        while not closing.is_set() and (client_id() == shown or not settled.is_set() or member.assignment()):
            member.poll(_POLL_S)
        member.close()


def _member(settings: ClientSettings, group: str, client_id: str | None) -> Consumer:
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
    if client_id is not None:
        options["client.id"] = client_id
    return Consumer(options)
