"""Which brokers that lead partitions of a link do not answer, by id: the cause that an operator can act on.

Runs in any asyncio loop, beside a question that waits for those brokers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from twinlog.model.names import TopicPartition
from twinlog.wire import protocol_errors as codes
from twinlog.wire.connection import Cluster
from twinlog.wire.silence import silent_brokers

_NOBODY: Final = -1
_LISTED: Final = 5


@dataclass(frozen=True)
class SilentLeaders:
    """Leaders that did not answer at one moment. Later, other brokers may lead."""

    brokers: tuple[int, ...]
    led: tuple[TopicPartition, ...]  # by those brokers
    leaderless: tuple[TopicPartition, ...]

    def says(self, what: str) -> str:
        """The brokers in a sentence; `what` they lead."""
        ids = ", ".join(map(str, self.brokers))
        if len(self.brokers) == 1:
            return f"broker {ids} does not answer; it is the leader of {what}"
        return f"brokers {ids} do not answer; they are the leaders of {what}"


async def silent_leaders(cluster: Cluster, places: Iterable[TopicPartition]) -> SilentLeaders:
    """Ask who leads these partitions, then ask the leaders. Raises ClusterError."""
    wanted = list(places)
    metadata = await cluster.refresh({place.topic for place in wanted})
    led: dict[int, list[TopicPartition]] = {}
    for place in wanted:
        if metadata[place.topic].error == codes.UNKNOWN_TOPIC_OR_PARTITION:
            continue  # it was deleted: no broker is to blame
        leader = metadata[place.topic].leaders.get(place.partition)
        led.setdefault(_NOBODY if leader is None else leader.node, []).append(place)
    leaderless = led.pop(_NOBODY, [])
    silent = await silent_brokers(cluster, led)
    return SilentLeaders(tuple(silent), tuple(sorted(p for node in silent for p in led[node])), tuple(leaderless))


def listed(places: Sequence[TopicPartition]) -> str:
    """The first of them."""
    return ", ".join(map(str, sorted(places)[:_LISTED])) + (" …" if len(places) > _LISTED else "")
