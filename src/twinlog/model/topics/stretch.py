"""Judges one Kafka cluster that is stretched over several datacenters, each of them a rack. Pure.

A stretch cluster loses no acknowledged record when any one rack dies, if every partition keeps enough in-sync replicas
outside of that rack: at least `min.insync.replicas` to continue, at least one to lose nothing. It costs the round trip
between racks for every write with acks=all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

Verdict: TypeAlias = Literal["ok", "warn", "fail", "unknown"]
_NAMED: Final = 5
_TWO: Final = 2
_NEAR_MS: Final = 30.0
"""Beyond this round trip between racks a write with acks=all is too slow for most applications."""


class Placed(NamedTuple):
    """One partition: where its replicas are."""

    topic: str
    partition: int
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@dataclass(frozen=True)
class Stretched:
    """One cluster. `voters` are the controllers, None when unknown; `trip_ms` is what the operator says of the line."""

    racks: Mapping[int, str | None]  # by broker
    partitions: Sequence[Placed]
    min_in_sync: Mapping[str, int]
    voters: tuple[int, ...] | None = None
    rack_aware_reads: bool | None = None
    trip_ms: float | None = None


class Judged(NamedTuple):
    """The verdict of one check of a stretched cluster."""

    name: str
    verdict: Verdict
    seen: str
    way: str = ""


def judge_stretch(seen: Stretched) -> list[Judged]:
    """Answer everything about one cluster."""
    return [*_racks(seen), *_spread(seen), *_losses(seen), *_quorum(seen), *_reads(seen), *_fit(seen)]


def _known(seen: Stretched, nodes: Iterable[int]) -> set[str]:
    """Return the racks of these brokers. A broker without a rack may be anywhere, so it adds none."""
    return {rack for node in nodes if (rack := seen.racks.get(node))}


def _names(seen: Stretched) -> list[str]:
    return sorted({rack for rack in seen.racks.values() if rack})


def _racks(seen: Stretched) -> Iterator[Judged]:
    without = sorted(node for node, rack in seen.racks.items() if not rack)
    names = _names(seen)
    if without:
        way = "set broker.rack of each broker to its datacenter, then restart the brokers one by one"
        yield Judged("racks", "fail", f"brokers without a rack: {', '.join(map(str, without))}", way)
    elif len(names) < _TWO:
        yield Judged("racks", "fail", f"all brokers are in one rack ({', '.join(names)}): this is no stretch cluster")
    else:
        counts = ", ".join(f"{name} {sum(rack == name for rack in seen.racks.values())}" for name in names)
        yield Judged("racks", "ok", f"brokers by rack: {counts}")


def _spread(seen: Stretched) -> Iterator[Judged]:
    if not seen.partitions:
        yield Judged("replicas", "unknown", "there are no partitions to judge")
        return
    narrow = [partition for partition in seen.partitions if len(_known(seen, partition.replicas)) < _TWO]
    way = "kafka-reassign-partitions.sh moves replicas to another rack; topics that are made later follow broker.rack"
    yield _about("replicas", narrow, seen.partitions, ("have no replicas in two racks", "span two racks or more", way))
    close = [partition for partition in seen.partitions if len(_known(seen, partition.in_sync)) < _TWO]
    lagging = [partition for partition in close if partition not in narrow]
    way = "look for the replicas that lag: under-replicated partitions" if lagging else "first correct `replicas`"
    yield _about("in-sync", close, seen.partitions, ("are not in sync in two racks", "are in sync in two racks", way))
    weak = sorted({topic for topic, least in seen.min_in_sync.items() if least < _TWO})
    if weak:
        entity = f"--entity-type topics --entity-name '{weak[0]}'"
        way = f"kafka-configs.sh --alter {entity} --add-config min.insync.replicas=2"
        seen_ = f"min.insync.replicas is below 2 for {_list(weak)}: a write may be acknowledged by one broker"
        yield Judged("min-in-sync", "fail", seen_, way)
    elif seen.min_in_sync:
        yield Judged("min-in-sync", "ok", "min.insync.replicas is 2 or more everywhere; producers need acks=all")


def _losses(seen: Stretched) -> Iterator[Judged]:
    """What dies with each rack. A broker without a rack may die with any of them."""
    nowhere = {node for node, rack in seen.racks.items() if not rack}
    in_doubt = [partition for partition in seen.partitions if nowhere & {*partition.in_sync}]
    for rack in _names(seen):
        gone, stopped = [], []
        for partition in seen.partitions:
            left = [node for node in partition.in_sync if seen.racks.get(node) != rack]
            if not left:
                gone.append(partition)
            elif len(left) < seen.min_in_sync.get(partition.topic, 1):
                stopped.append(partition)
        name = f"loss-of-{rack}"
        if gone:
            yield Judged(
                name, "fail", f"without {rack} {_count(gone)} have no in-sync replica: {_list(map(str, gone))}"
            )
        elif in_doubt:
            told = f"{_count(in_doubt)} are in sync on brokers without a rack: {_list(map(str, in_doubt))}"
            yield Judged(name, "unknown", told)
        elif stopped:
            told = f"without {rack} nothing is lost, but {_count(stopped)} take no writes: {_list(map(str, stopped))}"
            yield Judged(name, "warn", told, "three racks with three replicas and min.insync.replicas=2 continue")
        elif seen.partitions:
            yield Judged(name, "ok", f"without {rack} every partition continues")


def _quorum(seen: Stretched) -> Iterator[Judged]:
    if seen.voters is None:
        yield Judged("controllers", "unknown", "the brokers do not tell who the controllers are")
        return
    for rack in _names(seen):
        outside = [node for node in seen.voters if seen.racks.get(node) != rack]
        if len(outside) * 2 <= len(seen.voters):
            way = "place controllers so that a majority is outside of each rack: a third, small datacenter does"
            inside = len(seen.voters) - len(outside)
            told = f"{inside} of {len(seen.voters)} controllers are in {rack}: without it there is no majority"
            yield Judged("controllers", "fail", told, way)
            return
    nowhere = [node for node in seen.voters if not seen.racks.get(node)]
    if len(seen.voters) == 1:
        way = "three controllers or more, with a majority outside of each rack"
        yield Judged("controllers", "fail", "there is one controller: without it nothing can be decided", way)
    elif nowhere:
        told = f"the racks of controllers are not known: {_list(map(str, nowhere))}"
        yield Judged("controllers", "unknown", told, "see that a majority of controllers is outside of each rack")
    else:
        yield Judged("controllers", "ok", f"{len(seen.voters)} controllers; each rack may be lost")


def _reads(seen: Stretched) -> Iterator[Judged]:
    if seen.rack_aware_reads is None:
        yield Judged("follower-fetching", "unknown", "replica.selector.class of the brokers is unknown")
    elif seen.rack_aware_reads:
        yield Judged("follower-fetching", "ok", "consumers with client.rack read from their own rack")
    else:
        selector = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
        way = f"replica.selector.class={selector} on brokers, client.rack in consumers"
        yield Judged("follower-fetching", "warn", "consumers read across racks", way)


def _fit(seen: Stretched) -> Iterator[Judged]:
    if seen.trip_ms is None:
        yield Judged("fit", "unknown", "the round trip between racks was not given (--trip-ms)")
    elif seen.trip_ms > _NEAR_MS:
        told = f"{seen.trip_ms:.0f} ms between racks is added to every write with acks=all: a mirror fits better"
        yield Judged("fit", "warn", told, "two clusters and a link: `twinlog init`")
    else:
        yield Judged("fit", "ok", f"{seen.trip_ms:.0f} ms between racks: a stretch cluster fits; a mirror still helps "
                     "against deleted topics and wrong configs")  # fmt: skip


def _about(name: str, bad: Sequence[Placed], all_: Sequence[Placed], told: tuple[str, str, str]) -> Judged:
    wrong, good, way = told
    if bad:
        return Judged(name, "fail", f"{_count(bad)} {wrong}: {_list(map(str, bad))}", way)
    return Judged(name, "ok", f"{_count(all_)} {good}")


def _count(items: Sequence[object]) -> str:
    return f"{len(items):,} partition{'' if len(items) == 1 else 's'}"


def _list(names: Iterator[str] | Sequence[str]) -> str:
    listed = list(names)
    more = f" and {len(listed) - _NAMED} more" if len(listed) > _NAMED else ""
    return ", ".join(listed[:_NAMED]) + more
