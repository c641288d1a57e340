"""What a link did lately: samples for charts, events for people. Pure.

two looks at a link ──▶ events_between: what changed, each with its level and the way out
one look            ──▶ sample_of: the numbers of that moment
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple, TypeAlias

from twinlog.model.health.exposed import TopicExposure
from twinlog.model.health.states import LinkState, LinkStatus
from twinlog.model.ledger.records import ChoreNote, FaultEntry
from twinlog.model.ledger.stage_times import Durations
from twinlog.model.moments import clock

Level: TypeAlias = Literal["good", "info", "warning", "bad"]
Kind: TypeAlias = Literal["state", "fault", "engine", "chore", "source", "switch", "operation", "objective"]
SAMPLES: Final = 1800
"""How many samples are kept: an hour, when a look is taken every two seconds."""
EVENTS: Final = 5000
_BAD_STATES: Final = frozenset({"DEGRADED", "FAULTED", "STALLED", "SOURCE_DOWN", "UNKNOWN"})
_CANARY: Final = "canary_ms"
_LISTED: Final = 3


class Sample(NamedTuple):
    """The numbers of one moment. None is unknown, never 0."""

    at_ms: int
    state: LinkState
    lag_records: int | None
    lag_seconds: float | None
    rpo_seconds: float | None
    rpo_records: int | None
    records_per_second: float | None
    bytes_per_second: float | None
    latency_ms: int | None
    faults: int
    copied_p50_ms: float | None = None  # from the source's time to the target's acknowledgement
    copied_p99_ms: float | None = None


@dataclass(frozen=True)
class Event:
    """Something that changed. `ended` marks the end of what an earlier event of the same thing began."""

    at_ms: int
    link: str
    kind: Kind
    level: Level
    thing: str
    says: str
    remedy: str = ""
    ended: bool = False
    card: str = ""  # of a switch that ended: what application teams must know, as Markdown


class Band(NamedTuple):
    """A stretch of time to be marked in a chart. `until_ms` None: it lasts."""

    kind: Kind
    thing: str
    from_ms: int
    until_ms: int | None


@dataclass
class Latencies:
    """How long heartbeats took."""

    durations: Durations = field(default_factory=Durations)
    heard_ms: int = 0

    def hear(self, chores: Iterable[ChoreNote]) -> None:
        """Count the heartbeat of a note that was not seen before."""
        for note in chores:
            took_ms = note.counts.get(_CANARY)
            if note.chore == "heartbeats" and took_ms is not None and note.at_ms > self.heard_ms:
                self.heard_ms = note.at_ms
                self.durations.observe(took_ms * 1000)


def sample_of(status: LinkStatus) -> Sample:
    """The numbers of one observation."""
    total = status.exposure.total if status.exposure is not None else None
    copied = status.stages.get("copied")
    return Sample(
        at_ms=status.now_ms,
        state=status.state,
        lag_records=status.lag,
        lag_seconds=status.lag_seconds,
        rpo_seconds=status.exposure.age_of(total) if status.exposure and total else None,
        rpo_records=total.records if total else None,
        records_per_second=status.records_per_second,
        bytes_per_second=status.bytes_per_second,
        latency_ms=latency_of(status.chores),
        faults=len(status.faults),
        copied_p50_ms=copied.quantile_ms(0.5) if copied else None,
        copied_p99_ms=copied.quantile_ms(0.99) if copied else None,
    )


def latency_of(chores: Iterable[ChoreNote]) -> int | None:
    """How long the last heartbeat of the source took (the canary); None where none is mirrored."""
    return next((note.counts.get(_CANARY) for note in chores if note.chore == "heartbeats"), None)


def events_between(before: LinkStatus | None, after: LinkStatus) -> Iterator[Event]:
    """What became different from one look to the next; of a first look only what is wrong or has begun."""

    def event(kind: Kind, level: Level, thing: str, says: str, remedy: str = "", *, ended: bool = False) -> Event:
        return Event(after.now_ms, after.link, kind, level, thing, says, remedy, ended)

    state = before.state if before is not None else None
    if state is None and after.engine is None:
        yield event("state", "info", after.link, "no engine has run it yet", ended=True)
    elif state != after.state:
        bad = after.state in _BAD_STATES
        was = f", was {state}" if state is not None else ""
        level: Level = "bad" if bad else "warning" if after.state == "STOPPED" else "good"
        yield event("state", level, after.link, f"{after.state}{was}", ended=not bad)
    generation = before.engine.generation if before is not None and before.engine else None
    engine = after.engine
    if engine is not None and before is not None and engine.generation != generation:
        yield event("engine", "info", after.link, f"an engine on {engine.host} (process {engine.pid}) took over")
    trouble = before.source_trouble if before is not None else None
    source = after.link.partition("->")[0]
    if after.source_trouble and not trouble:
        heard = f"; the engine last heard it at {clock(after.source_seen_ms)}" if after.source_seen_ms else ""
        says = f"{source} does not answer: {after.source_trouble}" if not after.source_partly else after.source_trouble
        yield event("source", "bad", after.link, f"{says}{heard}")
    elif trouble and not after.source_trouble:
        yield event("source", "good", after.link, f"{source} answers again", ended=True)
    now, then = _faults(after), _faults(before) if before is not None else {}
    for thing in sorted(now.keys() - then.keys()):
        yield event("fault", "bad", thing[0], now[thing].says, now[thing].remedy)
    for thing in sorted(then.keys() - now.keys()):
        yield event("fault", "good", thing[0], f"{thing[1]} is over", ended=True)
    yield from _chore_events(before, after)
    now_broken, was_broken = _broken(after), _broken(before)
    if now_broken and not was_broken:
        remedy = "`twinlog rpo` shows each topic; `twinlog advise` names what slows the link."
        yield event("objective", "bad", after.link, _not_kept(now_broken), remedy)
    elif was_broken and not now_broken and after.exposure is not None:
        yield event("objective", "good", after.link, "all objectives are kept again", ended=True)


def _broken(status: LinkStatus | None) -> list[TopicExposure]:
    exposure = status.exposure if status is not None else None
    return [] if exposure is None else [topic for topic in exposure.topics if topic.kept == "broken"]


def _not_kept(topics: list[TopicExposure]) -> str:
    shown = [
        f"{topic.topic} ({topic.seconds or 0:,.0f} s, objective {topic.rpo_seconds} s)" for topic in topics[:_LISTED]
    ]
    more = f" and {len(topics) - _LISTED} more" if len(topics) > _LISTED else ""
    many = (
        f"{len(topics)} topics do not keep their objective"
        if len(topics) > 1
        else "1 topic does not keep its objective"
    )
    return f"{many}: {', '.join(shown)}{more}"


def _chore_events(before: LinkStatus | None, after: LinkStatus) -> Iterator[Event]:
    """Sync jobs that fail or work again. A source that does not answer is one event, not one for each job."""
    away = f"{after.link.partition('->')[0]}: no broker answers"
    then = {} if before is None else {note.chore: _own_trouble(note, away) for note in before.chores}
    for note in after.chores:
        was, now = then.get(note.chore), _own_trouble(note, away)
        if now and not was:
            yield Event(after.now_ms, after.link, "chore", "bad", note.chore, now)
        elif was and not note.trouble:
            says = "done again, without trouble"
            yield Event(after.now_ms, after.link, "chore", "good", note.chore, says, ended=True)


def _own_trouble(note: ChoreNote, away: str) -> str | None:
    return None if note.trouble is None or away in note.trouble else note.trouble


def _faults(status: LinkStatus) -> dict[tuple[str, str], FaultEntry]:
    faults = {(str(p.partition), p.fault.code): p.fault for p in status.partitions if p.fault is not None}
    return faults | {
        (str(problem.facts.get("topic", status.link)), problem.code): problem for problem in status.problems
    }


def bands(events: Iterable[Event], kinds: Iterable[Kind] = ("fault", "source", "switch")) -> list[Band]:
    """The stretches between the beginning and the end of things, oldest first."""
    wanted = set(kinds)
    open_: dict[tuple[Kind, str], Band] = {}
    closed: list[Band] = []
    for event in events:
        key = (event.kind, event.thing)
        if event.kind not in wanted:
            continue
        if event.ended:
            begun = open_.pop(key, None)
            if begun is not None:
                closed.append(begun._replace(until_ms=event.at_ms))
        else:
            open_.setdefault(key, Band(event.kind, event.thing, event.at_ms, None))
    return sorted([*closed, *open_.values()], key=lambda band: band.from_ms)


def thinned(samples: list[Sample], most: int) -> list[Sample]:
    """At most so many samples, evenly chosen, always with the last one: a chart has fewer pixels than an hour."""
    if most < 1 or len(samples) <= most:
        return samples
    step = -(-len(samples) // most)
    return samples[::-1][::step][::-1]


def summary(samples: Iterable[Sample]) -> Mapping[str, float | None]:
    """The worst of the time that is kept: what an auditor asks for."""
    kept = list(samples)
    rpo = [sample.rpo_seconds for sample in kept if sample.rpo_seconds is not None]
    lag = [sample.lag_records for sample in kept if sample.lag_records is not None]
    latency = sorted(sample.latency_ms for sample in kept if sample.latency_ms is not None)
    return {
        "worst_rpo_seconds": max(rpo, default=None),
        "worst_lag_records": max(lag, default=None),
        "median_latency_ms": latency[len(latency) // 2] if latency else None,
    }
