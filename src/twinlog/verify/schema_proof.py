"""The schemas of sampled records: each id resolves in both registries to one schema, and the bytes are what it says.

    newest records of each copy ─▶ ids ─▶ both topics of schemas ─▶ missing, different, or the same
                                └▶ bytes behind the id ─▶ decoded with the schema

Runs in a loop (the commands, the service). Bounded: so many records of so many partitions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from twinlog.config.settings import LinkSettings
from twinlog.errors import ClusterError
from twinlog.logs.read import Batches, is_there, open_records, read_to_end
from twinlog.model.ledger.records import RosterTopic
from twinlog.model.names import TopicPartition
from twinlog.model.verify.schemas import SchemaProof
from twinlog.registry.pair.index import TopicIndex
from twinlog.registry.pair.reading import SILENT_S
from twinlog.registry.pair.sampling import Sample, has_schemas, sample_topics, unresolved
from twinlog.registry.parsing import Parser
from twinlog.registry.reads import entry_of_id
from twinlog.registry.state import State
from twinlog.registry.store import PARTITION, fetch_end
from twinlog.verify.decoding import NotChecked, Undecodable, check_decodes
from twinlog.wire.connection import Cluster
from twinlog.wire.offsets import EARLIEST, OffsetsRefused

MOST_PARTITIONS: Final = 500
_LANE: Final = "schema-proof"
_WITHIN_S: Final = 60.0
_LISTED: Final = 50


async def prove_schemas(
    link: LinkSettings, roster: Mapping[str, RosterTopic], wanted: Callable[[str], bool] = lambda _topic: True
) -> SchemaProof | None:
    """Sample the copies of a link; None when it mirrors no registry. Raises ClusterError."""
    registry = link.registry
    if not registry.mirrored or registry.topic not in roster:
        return None
    topics, left_out = topics_to_sample(link, roster, wanted)
    source = Cluster(link.clients.source_consumer, f"twinlog|{link.name}|schemas")
    target = Cluster(link.clients.target_consumer, f"twinlog|{link.name}|schemas")
    try:
        async with asyncio.timeout(_WITHIN_S):
            home, copy = await asyncio.gather(_read(source, registry.topic), _read(target, registry.topic))
            samples = await sample_topics(target, topics)
    except TimeoutError:
        told = f"the schemas of sampled records could not be looked at within {_WITHIN_S:.0f} s"
        return SchemaProof(0, 0, 0, 0, 0, (told,))
    finally:
        await source.close()
        await target.close()
    return proof_of(samples, home, copy, link.target, left_out)


def topics_to_sample(
    link: LinkSettings, roster: Mapping[str, RosterTopic], wanted: Callable[[str], bool] = lambda _topic: True
) -> tuple[dict[str, list[TopicPartition]], int]:
    """Copies by the name of their topic, and how many topics are left out because there are too many partitions."""
    topics: dict[str, list[TopicPartition]] = {}
    count = left_out = 0
    for entry in sorted(roster.values(), key=lambda each: each.topic):
        is_own = entry.topic in link.registry.topics or link.naming.is_heartbeats(entry.topic)
        if is_own or entry.problem is not None or not wanted(entry.topic):
            continue
        count += entry.partitions
        if count <= MOST_PARTITIONS:
            topics[entry.topic] = [TopicPartition(entry.remote, number) for number in range(entry.partitions)]
        else:
            left_out += 1
    return topics, left_out


class Schemas:
    """A topic of schemas, read once: the index for comparing, the state for decoding."""

    def __init__(self) -> None:
        self.index = TopicIndex()
        self.state = State()

    def take(self, key: bytes | None, value: bytes | None, offset: int) -> None:
        """One record of the topic."""
        self.index.apply(key, value, offset)
        self.state.apply(key, value, offset, 0)


async def _read(cluster: Cluster, topic: str) -> Schemas | None:
    """None when there is no such topic."""
    if not await is_there(cluster, topic):
        return None
    schemas = Schemas()
    try:
        positions = {PARTITION: await fetch_end(cluster, topic, EARLIEST)}
    except OffsetsRefused as refused:
        raise ClusterError(cluster.alias, f"{topic}: {refused}") from None

    def take(_partition: int, batches: Batches) -> None:
        for record in open_records(batches):
            schemas.take(record.key, record.value, record.offset)

    await read_to_end(cluster, topic, positions, take, _LANE, silent_for_s=SILENT_S)
    return schemas


def proof_of(
    samples: list[Sample], home: Schemas | None, copy: Schemas | None, where: str, left_out: int = 0
) -> SchemaProof:
    """What the samples prove. Pure."""
    index = TopicIndex() if copy is None else copy.index
    problems = [str(schema) for schema in unresolved(samples, index, None if home is None else home.index, where)]
    decoded = unchecked = 0
    with_schemas = list(_with_schemas(samples, index))
    if copy is not None:
        parser = Parser()
        for sample in with_schemas:
            good, odd, wrong = _decoded(parser, copy.state, sample)
            decoded, unchecked = decoded + good, unchecked + odd
            problems += wrong
    if left_out:
        problems.append(f"{left_out} topics were not sampled: there are more than {MOST_PARTITIONS} partitions")
    return SchemaProof(
        len(with_schemas),
        sum(sample.records for sample in samples),
        len({number for sample in with_schemas for number in sample.ids}),
        decoded,
        unchecked,
        tuple(problems[:_LISTED]),
    )


def _with_schemas(samples: Iterable[Sample], index: TopicIndex) -> Iterator[Sample]:
    subjects, known = {place.subject for place in index.places}, {number for _, number in index.digests()}
    return (sample for sample in samples if sample.ids and has_schemas(sample, subjects, known))


def _decoded(parser: Parser, state: State, sample: Sample) -> tuple[int, int, list[str]]:
    decoded = unchecked = 0
    problems: list[str] = []
    for number, bodies in sorted(sample.bodies.items()):
        entry = entry_of_id(state, number, "")
        if entry is None:
            continue  # told already
        wrong: list[str] = []
        for body in bodies:
            try:
                check_decodes(parser, state, entry, body)
                decoded += 1
            except NotChecked:
                unchecked += 1
            except Undecodable as why:
                wrong.append(str(why))
        if wrong:
            told = f"{len(wrong)} of {len(bodies)} records with id {number} are not what its schema says: {wrong[0]}"
            problems.append(f"{sample.topic}: {told}")
    return decoded, unchecked, problems
