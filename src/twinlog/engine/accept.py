"""Accepting that a source lost records: the operator's decision about SOURCE_TRUNCATED. Runs in the command line.

    source   … │ 0..99 kept │ 100..199 lost, then written again with other records │ 200.. new
    copy     … │ 0..99      │ 100..199 as they were │ 100.. of the new history, behind them

The copy keeps what the source lost, and copying continues where the histories part. The decision is a note in the
roster's partition of the ledger; the owner of the shard follows it, and the note stays as the record of the loss.
"""

from __future__ import annotations

from dataclasses import dataclass

from twinlog.config.settings import LinkSettings
from twinlog.errors import SourceTruncated, UsageError
from twinlog.ledger.view import LedgerView
from twinlog.ledger.writer import roster_writer
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.ledger.records import TRUNCATIONS, Memo, PartitionState, ledger_topic, truncation_name
from twinlog.model.names import TopicPartition
from twinlog.wire.connection import Cluster


@dataclass(frozen=True)
class Truncation:
    """What the source lost of one partition."""

    partition: TopicPartition
    first: int  # the first offset that it lost …
    next: int  # … and the one behind the last

    def __str__(self) -> str:
        lost = f"offsets {self.first}..{self.next - 1} are on the copy only" if self.next > self.first else "nothing"
        return f"{self.partition}: {lost}; copying continues at source offset {self.first}"


async def accept_truncation(link: LinkSettings, topic: str, *, dry_run: bool = False) -> list[Truncation]:
    """Decide about all truncated partitions of a topic. Raises UsageError where there is nothing to decide."""
    target = Cluster(link.clients.target_producer, f"twinlog|{link.name}|accept")
    try:
        name = ledger_topic(link.source)
        partitions = (await target.refresh([name]))[name].leaders
        view = LedgerView(dict.fromkeys(partitions, 0))
        await view.catch_up(target, link.source)
        truncated = {p: s for p, s in view.states.items() if p.topic == topic and _is_truncated(view, s)}
        if not truncated:
            raise UsageError(f"{topic}: no partition of it on {link.name} has the fault {SourceTruncated.code}")
        memos, truncations = [], []
        for partition, state in sorted(truncated.items()):
            assert state.fault is not None  # noqa: S101  narrowing only: see _is_truncated
            first = int(state.fault.facts["latest"])
            if first < max(state.map_first, state.source_first):
                raise UsageError(
                    f"{partition}: the source lost offsets that lie before the open part of the offset map ({first} < "
                    f"{state.map_first}); delete the copy and run `twinlog link reset {link.name} {topic}`"
                )
            body = {
                "since_ms": state.fault.since_ms,
                "first": first,
                "next": state.source_next,
                "target_next": state.target_next,
                "incarnation": state.incarnation,
                "at_ms": SYSTEM_CLOCK.now_ms(),
            }
            memos.append(Memo(chore=TRUNCATIONS, name=truncation_name(partition), body=body))
            truncations.append(Truncation(partition, first, state.source_next))
        if not dry_run:
            await roster_writer(target, link.source, link.name).write(memos)
        return truncations
    finally:
        await target.close()


def _is_truncated(view: LedgerView, state: PartitionState) -> bool:
    topic = view.roster.get(state.topic)
    return (
        topic is not None
        and topic.incarnation == state.incarnation
        and state.phase == "faulted"
        and state.fault is not None
        and state.fault.code == SourceTruncated.code
    )
