"""What would be lost if the source vanished now, and how long until it loses something by itself. Pure.

    records   offsets that are not copied; at most so many records, since markers and compacted records count too
    bytes     those records, by the mean size of what was copied before
    seconds   everything older than this is copied (see source_ends: no producer's clock is asked)

While the source does not answer, records and bytes are the last known ones, `known_at_ms` says of when, and
`maybe_more` what may have come since, until its last sign of life (loss_range). The seconds grow: producers may
still write to a source that is only cut off. `covered_ms` does not move: everything written before it is copied. What
nobody knows is None, never 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from twinlog.model.health.exposed import LinkExposure, PartitionExposure, TopicExposure
from twinlog.model.health.loss_range import last_copied, lived_until, since_known
from twinlog.model.health.objectives import Objectives, kept
from twinlog.model.health.states import LinkStatus, PartitionStatus
from twinlog.model.ledger.source_ends import KnownEnd
from twinlog.model.names import TopicPartition

IN_STEP_S: Final = 10.0
"""A link that is less than this behind has nothing to catch up: positions are noted every second."""


def link_exposure(
    status: LinkStatus, known: Mapping[TopicPartition, KnownEnd], objectives: Objectives, *, live: bool
) -> LinkExposure:
    """Judge one look at a link."""
    sizes = _sizes(status.partitions)
    copied_ms = last_copied((part.newest_ms, part.at_ms) for part in status.partitions)
    until_ms = lived_until(status.source_seen_ms, copied_ms, status.engine, status.now_ms)
    by_topic: dict[str, list[PartitionExposure]] = {}
    for part in status.partitions:
        size = sizes.get(part.partition.topic, sizes.get(None))
        exposure = partition_exposure(part, known.get(part.partition), status.now_ms, size, until_ms)
        by_topic.setdefault(part.partition.topic, []).append(exposure)
    topics = []
    for name, parts in by_topic.items():
        objective = objectives.of(name)
        topics.append(_sum(name, objective.name, objective.rpo_seconds, parts))
    everything = [part for parts in by_topic.values() for part in parts]
    total = _sum(status.link, objectives.otherwise.name, None, everything)
    if status.untold:
        total = replace(total, records=None, bytes=None, seconds=None)
    arriving = sum(known[part.partition].rate for part in status.partitions if part.partition in known)
    copying = status.records_per_second
    behind = (total.seconds or 0.0) > IN_STEP_S and bool(total.records)
    falling = behind and copying is not None and copying <= arriving
    catch_up = None
    if total.records is not None and not behind and live:
        catch_up = 0.0
    elif total.records and copying is not None and copying > arriving and live and not status.faults:
        catch_up = total.records / (copying - arriving)
    return LinkExposure(
        status.link,
        live,
        status.now_ms,
        tuple(topics),
        total,
        catch_up,
        falling,
        status.now_ms if live else status.source_seen_ms,
        copied_ms,
        arriving,
        sizes.get(None),
    )


def partition_exposure(
    part: PartitionStatus,
    known: KnownEnd | None,
    now_ms: int,
    record_bytes: float | None,
    until_ms: int | None = None,
) -> PartitionExposure:
    """Judge one partition from what the source says now, or else from what it said last.

    `until_ms` is until when the source may have taken records; None: until now.
    """
    if part.source_end is not None:
        end, at, more = part.source_end, now_ms, 0
    elif known is not None:
        more = since_known(known, part.source_next, now_ms if until_ms is None else until_ms)
        end, at = known.end, known.at_ms
    else:
        return PartitionExposure(part.partition, None, None, None, None, 0.0, None, None)
    records = max(0, end - part.source_next)
    covered = _covered(part, known, at, records)
    return PartitionExposure(
        partition=part.partition,
        records=records,
        bytes=0.0 if not records else None if record_bytes is None else records * record_bytes,
        seconds=None if covered is None else max(0.0, (now_ms - covered) / 1000),
        known_at_ms=at,
        maybe_more=more,
        covered_ms=covered,
        time_to_loss_s=_time_to_loss(part, known, now_ms, records, record_bytes) if records else None,
    )


def _covered(part: PartitionStatus, known: KnownEnd | None, at_ms: int, records: int) -> int | None:
    """The time up to which everything is copied."""
    if not records:
        return at_ms
    if known is not None and known.covered_ms is not None:
        return known.covered_ms
    # The engine has not looked yet: what is left is the clock of the newest record's producer.
    return part.newest_ms if part.newest_ms > 0 else None


def _time_to_loss(
    part: PartitionStatus, known: KnownEnd | None, now_ms: int, records: int, record_bytes: float | None
) -> float | None:
    """When retention may reach the oldest record that is not copied. The log is in order of time, more or less."""
    if known is None:
        return None
    times: list[float] = []
    oldest = part.newest_ms if part.newest_ms > 0 else known.covered_ms
    if known.retention_ms >= 0 and oldest is not None:
        times.append((oldest + known.retention_ms - now_ms) / 1000)
    if known.retention_bytes >= 0 and record_bytes:
        room = known.retention_bytes - records * record_bytes
        if room <= 0:
            times.append(0.0)
        elif known.rate > 0:
            times.append(room / (known.rate * record_bytes))
    return max(0.0, min(times)) if times else None


def _sizes(parts: Iterable[PartitionStatus]) -> dict[str | None, float]:
    """Mean bytes per record of each topic; under None of the whole link, for topics of which nothing was copied yet."""
    sums: dict[str | None, tuple[int, int]] = {}
    for part in parts:
        for name in (part.partition.topic, None):
            records, size = sums.get(name, (0, 0))
            sums[name] = (records + part.records, size + part.bytes)
    return {name: size / records for name, (records, size) in sums.items() if records}


def _sum(name: str, objective: str, rpo_seconds: int | None, parts: list[PartitionExposure]) -> TopicExposure:
    told = [part for part in parts if part.records is not None]
    unknown = len(parts) - len(told)
    records = sum(_numbers(part.records for part in told))
    sizes = [part.bytes for part in told]
    ages = [part.seconds for part in parts]
    seconds = None if any(age is None for age in ages) else max(_numbers(ages), default=0.0)
    return TopicExposure(
        topic=name,
        objective=objective,
        rpo_seconds=rpo_seconds,
        partitions=len(parts),
        unknown=unknown,
        records=None if unknown and not records else int(records),
        bytes=None if (unknown and not records) or any(size is None for size in sizes) else int(sum(_numbers(sizes))),
        seconds=seconds,
        known_at_ms=min((part.known_at_ms for part in told if part.known_at_ms is not None), default=None),
        maybe_more=round(sum(part.maybe_more for part in told)),
        covered_ms=None if any(part.covered_ms is None for part in parts) else _oldest(parts),
        time_to_loss_s=min(_numbers(part.time_to_loss_s for part in parts), default=None),
        kept=kept(seconds, rpo_seconds),
    )


def _oldest(parts: list[PartitionExposure]) -> int | None:
    return min((part.covered_ms for part in parts if part.covered_ms is not None), default=None)


def _numbers(values: Iterable[float | None]) -> Iterator[float]:
    return (value for value in values if value is not None)
