"""The ledger of a link that copied many small transactions, written as its writers write it."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass

from bench.clusters import End, Pair

from twinlog.ledger.writer import LedgerWriter
from twinlog.model.ledger.packed_runs import pack
from twinlog.model.ledger.records import (
    ROSTER_PARTITION,
    SEAL_AT,
    Engine,
    Entry,
    LedgerOwners,
    PartitionState,
    RosterTopic,
    SealedRuns,
    ledger_topic,
    shard_of,
)
from twinlog.model.ledger.runs import Run, RunMap
from twinlog.model.names import TopicPartition
from twinlog.model.topics.target_topics import TopicFacts
from twinlog.wire.connection import Cluster

PARTITIONS, SHARDS = 10, 4
LARGEST = 10
TOPIC = "transactions"


@dataclass
class History:
    """What was written: transactions, their records, and where each partition ends."""

    source: str
    transactions: int = 0
    records: int = 0


def past_of(roster: RosterTopic, number: int, transactions: int, history: History) -> Iterator[list[Entry]]:
    """What the owner of one partition noted, flush by flush: a full part and the state behind it."""
    rng = random.Random(number)
    source = target = map_first = 0
    known = RunMap()
    for _ in range(transactions):
        length = rng.randint(1, LARGEST)
        if len(known) >= SEAL_AT:
            part = SealedRuns(
                topic=TOPIC,
                partition=number,
                incarnation=roster.incarnation,
                first=map_first,
                next=source,
                packed=pack(known),
            )
            known, map_first = RunMap(), source
            yield [part, _state(roster, number, (source, target), map_first, known)]
        known.add(Run(source, target, length))
        source, target = source + length + 1, target + length
        history.transactions += 1
        history.records += length
    yield [_state(roster, number, (source, target), map_first, known)]


def _state(roster: RosterTopic, number: int, ends: tuple[int, int], first: int, known: RunMap) -> PartitionState:
    source, target = ends
    return PartitionState(
        topic=TOPIC,
        partition=number,
        incarnation=roster.incarnation,
        phase="closed",
        source_first=0,
        target_first=0,
        source_next=source,
        target_next=target,
        producer_id=1,
        records=target,
        bytes=100 * target,
        map_first=first,
        open_map=pack(known),
    )


def _id(end: End, topic: str) -> str:
    facts = end.admin.describe_topics([topic])[topic]
    if not isinstance(facts, TopicFacts):
        raise facts
    return facts.topic_id


async def write_history(pair: Pair, source: str, remote: str, transactions: int) -> History:
    """Write it all; the ledger topic, the topic and its copy must be there."""
    here, there = _id(pair.source, TOPIC), _id(pair.target, remote)
    roster = RosterTopic(topic=TOPIC, source_id=here, remote=remote, target_id=there, origins=[0] * PARTITIONS)
    history = History(source)
    cluster = Cluster(pair.target.settings, "bench|history")
    try:
        pens = {n: LedgerWriter(cluster, ledger_topic(source), n, source) for n in range(1 + SHARDS)}
        owners = LedgerOwners(source=pair.source.admin.fetch_cluster_id(), target=pair.target.admin.fetch_cluster_id())
        engine = Engine(engine_id="bench", phase="stopped", at_ms=int(time.time() * 1000))
        await pens[ROSTER_PARTITION].write([engine, owners, roster])
        for number in range(PARTITIONS):
            pen = pens[1 + shard_of(TopicPartition(TOPIC, number), SHARDS)]
            for entries in past_of(roster, number, transactions // PARTITIONS, history):
                await pen.write(entries)
    finally:
        await cluster.close()
    return history
