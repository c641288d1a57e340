"""Which topics a link mirrors, and from where on: the rules between what is observed and what the ledger knows. Pure.

    observed (sync.topics) + known (the ledger's roster)  ──▶  entries to write, entries to remove

A topic is identified by its ids on both sides. If one of the two changes behind our back the topic stops with a named
problem, because continuing would mix two histories (R7); if both are new, nothing needs protection and it starts anew.
So it does where the copy went away before it got a record: one that is being deleted can still be seen for a moment.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from types import MappingProxyType

from twinlog.errors import PartitionFault, SourceTopicMissing, SourceTopicRecreated, TargetTopicMissing
from twinlog.model.ledger.records import ChoreNote, FaultEntry, PartitionState, RosterTopic
from twinlog.model.names import TopicPartition
from twinlog.model.topics.target_topics import MirroredTopic


@dataclass(frozen=True)
class Origins:
    """Where source partitions are read from first, and the topics that must not be begun at all."""

    at: Mapping[TopicPartition, int] = field(default_factory=dict)
    refused: Mapping[str, PartitionFault] = field(default_factory=dict)
    note: ChoreNote | None = None  # what was found out on the way


@dataclass(frozen=True)
class RosterChanges:
    """What the ledger should hear."""

    entries: list[RosterTopic] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)


def may_create(known: Mapping[str, RosterTopic], topic: str, source_id: str) -> bool:
    """Whether a missing target topic may be created: not when it was there and somebody deleted it (R7)."""
    entry = known.get(topic)
    return entry is None or not entry.target_id or entry.source_id != source_id


def empty_copies(
    known: Mapping[str, RosterTopic], states: Mapping[TopicPartition, PartitionState]
) -> dict[str, RosterTopic]:
    """Topics whose copy never got a record from us, as if they had none: deleted, nothing is lost with it."""
    return {
        name: entry.model_copy(update={"target_id": "", "origins": [], "problem": None})
        for name, entry in known.items()
        if entry.target_id and not any(_was_copied(entry, number, states) for number in range(entry.partitions))
    }


def _was_copied(entry: RosterTopic, number: int, states: Mapping[TopicPartition, PartitionState]) -> bool:
    state = states.get(TopicPartition(entry.topic, number))
    if state is None or state.incarnation != entry.incarnation:
        return False
    # Offsets of the target tell nothing: records of others and markers of take-overs lie there as well.
    return bool(state.records) or state.source_next > state.source_first


def wanted_origins(observed: Iterable[MirroredTopic], known: Mapping[str, RosterTopic]) -> list[TopicPartition]:
    """The source partitions whose starting point must be looked up: those the ledger has none for."""
    wanted: list[TopicPartition] = []
    for topic in observed:
        entry = known.get(topic.name)
        have = entry.partitions if entry and not _is_new(topic, entry) else 0
        wanted += [TopicPartition(topic.name, number) for number in range(have, _carried(topic))]
    return wanted


def roster_changes(
    observed: Mapping[str, MirroredTopic],
    known: Mapping[str, RosterTopic],
    origins: Mapping[TopicPartition, int],
    states: Mapping[TopicPartition, PartitionState],
    selected: Callable[[str], bool],
    *,
    refused: Mapping[str, PartitionFault] = MappingProxyType({}),
    halted: Mapping[str, PartitionFault] = MappingProxyType({}),
    unseen: Container[str] = (),
    vanished: Container[str] = (),
) -> RosterChanges:
    """Compare; an entry that would not change is not written again.

    `refused` are new topics that must not be begun: they are listed with their problem and asked about again.
    `halted` are topics that must not be begun nor continue for now, whether they were mirrored before or not.
    `unseen` are topics about which the source does not say whether they exist, `vanished` those that are gone for
    certain on both ends: nothing is left to protect, and a new topic of that name begins anew.
    """
    changes = RosterChanges()
    for topic in observed.values():
        stopped = halted.get(topic.name)
        entry = _entry(
            topic, known.get(topic.name), origins, states, stopped or refused.get(topic.name), halted=stopped
        )
        if entry is not None and entry != known.get(topic.name):
            changes.entries.append(entry)
    for name, entry in known.items():
        if name in observed:
            continue
        if not selected(name) or name in vanished:
            changes.removed.append(name)
        elif entry.problem is None and name not in unseen:
            reached = _reached(name, states)
            gone = entry.model_copy(update={"problem": _problem(SourceTopicMissing(name, 0, reached))})
            changes.entries.append(gone)
    return changes


def _entry(
    topic: MirroredTopic,
    known: RosterTopic | None,
    origins: Mapping[TopicPartition, int],
    states: Mapping[TopicPartition, PartitionState],
    refused: PartitionFault | None,
    *,
    halted: PartitionFault | None,
) -> RosterTopic | None:
    numbers = range(_carried(topic))
    problem = _observed_problem(topic)
    if known is None or _is_new(topic, known):
        if refused is not None:
            # Without an id of the target it stays new, so that the next cycle asks again.
            return RosterTopic(
                topic=topic.name,
                source_id=topic.topic_id,
                remote=topic.remote,
                target_id="",
                origins=[],
                problem=_problem(refused),
            )
        if topic.remote_topic_id is None and problem is None:
            return None  # about to appear
        if any(TopicPartition(topic.name, n) not in origins for n in numbers):
            return None  # the source did not tell where it begins: the next cycle asks again
        return RosterTopic(
            topic=topic.name,
            source_id=topic.topic_id,
            remote=topic.remote,
            target_id=topic.remote_topic_id or "",
            origins=[origins[TopicPartition(topic.name, n)] for n in numbers],
            max_message_bytes=topic.remote_max_message_bytes or 1_048_588,
            problem=problem,
            created_with=None if topic.created_with is None else dict(topic.created_with),
        )
    if topic.topic_id != known.source_id:
        problem = _problem(SourceTopicRecreated(topic.name, 0, known.source_id, topic.topic_id))
    elif (topic.remote_topic_id or "") != known.target_id:
        problem = _problem(TargetTopicMissing(topic.name, 0, _reached(topic.name, states)))
    if halted is not None:
        problem = _problem(halted)
    # A partition whose origin is not known yet holds back those behind it: the place in the list is the partition.
    fresh = (TopicPartition(topic.name, n) for n in numbers[known.partitions :])
    grown = [origins[partition] for partition in takewhile(origins.__contains__, fresh)]
    if known.problem is not None and problem is not None and known.problem.code == problem.code:
        problem = known.problem  # the same trouble as before, since then
    return known.model_copy(
        update={
            "origins": known.origins + grown,
            "max_message_bytes": topic.remote_max_message_bytes or known.max_message_bytes,
            "problem": problem,
        }
    )


def _is_new(topic: MirroredTopic, known: RosterTopic) -> bool:
    """Nothing of the earlier topic is left on either side, or there never was anything on the target."""
    both_changed = topic.topic_id != known.source_id and topic.remote_topic_id not in {None, known.target_id}
    return both_changed or (not known.target_id and (known.source_id, None) != (topic.topic_id, topic.remote_topic_id))


def _carried(topic: MirroredTopic) -> int:
    return min(topic.partitions, topic.remote_partitions)


def _observed_problem(topic: MirroredTopic) -> FaultEntry | None:
    fault = topic.fault(0)
    return _problem(fault) if fault is not None else None


def _problem(fault: PartitionFault) -> FaultEntry:
    return FaultEntry(code=fault.code, says=str(fault), remedy=fault.remedy_text(), facts=fault.facts())


def _reached(topic: str, states: Mapping[TopicPartition, PartitionState]) -> int:
    state = states.get(TopicPartition(topic, 0))
    return state.source_next if state else 0
