"""What somebody must look at, worst first: the few lines of the overview that are read at four in the morning."""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from twinlog.model.health.states import LinkStatus, silent_seconds, source_down_since
from twinlog.model.moments import clock
from twinlog.surface.answers.links import faults_of, state_of
from twinlog.surface.cli.words import duration
from twinlog.surface.page.words import tone
from twinlog.watch.monitor import LinkSnapshot

_FAULTS_TOLD: Final = 2
_CHORES_TOLD: Final = 2
_TOLD: Final = 8
_AWAY: Final = re.compile(r"([^\s:]+): no broker answers")


@dataclass(frozen=True)
class Need:
    """One thing: which link, what is wrong, the way out, and the tab that tells more."""

    link: str
    says: str
    remedy: str = ""
    tab: str = ""
    tone: str = "bad"


@dataclass(frozen=True)
class Needs:
    """The first of them, and how many links have more that is not told."""

    told: tuple[Need, ...]
    untold: int


def needs_of(snapshots: Iterable[LinkSnapshot]) -> Needs:
    """Collect them over all links: what is bad before what is only odd."""
    snapshots = list(snapshots)
    moving = {
        snapshot.link.name for snapshot in snapshots if state_of(snapshot) in {"RUNNING", "CATCHING_UP", "DEGRADED"}
    }
    needs = sorted(
        (need for snapshot in snapshots for need in _of(snapshot, moving)), key=lambda need: need.tone != "bad"
    )
    return Needs(tuple(needs[:_TOLD]), len(needs) - len(needs[:_TOLD]))


def _of(snapshot: LinkSnapshot, moving: Collection[str]) -> Iterator[Need]:
    name, status = snapshot.link.name, snapshot.status
    if snapshot.trouble:
        yield Need(name, f"it cannot be looked at: {snapshot.trouble}", snapshot.remedy)
    if snapshot.switches is not None and snapshot.switches.open is not None:
        yield Need(name, f"a {snapshot.switches.open.claim.command} is open", tab="/switch", tone="warn")
    if snapshot.superseded:
        yield Need(name, snapshot.superseded)
    if status is None or snapshot.trouble:
        return
    state = state_of(snapshot)
    if state == "SWITCHED":  # it rests on purpose, and what it says of the side that was left is old
        yield from _one_copy(snapshot, moving)
        return
    needs = [*_causes(snapshot, status)]
    if state == "STOPPED" and not snapshot.superseded:
        way = f"`twinlog link resume '{name}'` where the service still runs, `twinlog run` where it does not."
        needs.append(Need(name, _stopped(status), way, tone="warn"))
    elif not needs and tone(state) == "bad":
        never = Need(name, "no engine has ever run it", "`twinlog run` starts one; the first start takes a while.")
        needs = [never if status.engine is None else Need(name, f"it is {state}")]
    yield from needs
    if status.exposure is not None and status.exposure.broken:
        broken = status.exposure.broken
        rest = f" and {len(broken) - 1:,} more" if len(broken) > 1 else ""
        yield Need(name, f"objective not kept: {broken[0].topic}{rest}", tone="warn")


def _causes(snapshot: LinkSnapshot, status: LinkStatus) -> Iterator[Need]:
    name = snapshot.link.name
    silent, engine = silent_seconds(status), status.engine
    if silent is not None and engine is not None:
        says = f"its engine on {engine.host} (process {engine.pid}) has been silent for {duration(silent)}"
        yield Need(name, says, "Is the service that runs it alive? `twinlog run` starts it; another one takes over.")
    trouble = status.source_trouble or (engine.trouble if engine else None)
    if (since := source_down_since(status)) is not None:
        yield _down(snapshot, status, since)
    elif trouble:
        yield _away(snapshot, trouble) if snapshot.link.source in _AWAY.findall(trouble) else Need(name, trouble)
    faults = faults_of(status)
    for fault in faults[:_FAULTS_TOLD]:
        yield Need(name, fault.says, fault.remedy, "/faults")
    if len(faults) > _FAULTS_TOLD:
        yield Need(name, f"and {len(faults) - _FAULTS_TOLD:,} more faults", tab="/faults")
    # A cluster that is gone troubles everything, in more or less the same words.
    gone = set(_AWAY.findall(trouble or ""))
    by_trouble: dict[str, list[str]] = {}
    for note in status.chores:
        if note.trouble and note.trouble != trouble and not gone.intersection(_AWAY.findall(note.trouble)):
            by_trouble.setdefault(note.trouble, []).append(note.chore)
    for says, chores in [*by_trouble.items()][:_CHORES_TOLD]:
        if snapshot.link.source in _AWAY.findall(says):
            yield _away(snapshot, f"{', '.join(chores)}: {says}")
            continue
        yield Need(name, f"{', '.join(chores)}: {says}", tab="/faults", tone="bad" if not trouble else "warn")


def _stopped(status: LinkStatus) -> str:
    """Who stopped, and when: nothing is copied until an engine runs again."""
    engine = status.engine
    if engine is None:
        return "it is stopped: nothing is copied"
    at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(engine.at_ms / 1000))
    took = f"; it had taken the link from {engine.took_from}" if engine.took_from else ""
    return f"nothing is copied: the engine on {engine.host} (process {engine.pid}) was stopped at {at}{took}"


def _down(snapshot: LinkSnapshot, status: LinkStatus, since_ms: int) -> Need:
    """The source does not answer, neither here nor to the engine: since when, and what is lost with it."""
    source, target = snapshot.link.source, snapshot.link.target
    heard = f"last heard {clock(since_ms)}" if since_ms else "never heard"
    loss = f" Lost with it: {status.exposure.loss.says(source)}." if status.exposure is not None else ""
    way = f'Copying continues by itself when it answers. If {source} is lost: Switch, then "Move to {target} now".'
    return Need(snapshot.link.name, f"SOURCE_DOWN: {source} does not answer, {heard}.{loss}", way, "/switch")


def _away(snapshot: LinkSnapshot, trouble: str) -> Need:
    """The source does not answer: whoever is woken by it wants to know whether to switch."""
    source, target = snapshot.link.source, snapshot.link.target
    way = f'Copying continues by itself when it answers. If {source} is lost: Switch, then "Move to {target} now".'
    return Need(snapshot.link.name, trouble, way, "/switch")


def without_copy(snapshots: Iterable[LinkSnapshot]) -> list[str]:
    """The clusters that are active after a switch and whose new records nothing copies."""
    snapshots = list(snapshots)
    moving = {
        snapshot.link.name for snapshot in snapshots if state_of(snapshot) in {"RUNNING", "CATCHING_UP", "DEGRADED"}
    }
    lone = [s.link.target for s in snapshots if state_of(s) == "SWITCHED" and any(_one_copy(s, moving))]
    return sorted(set(lone))


def _one_copy(snapshot: LinkSnapshot, moving: Collection[str]) -> Iterator[Need]:
    """After a failover nothing copies what is new, until the way back does."""
    source, target = snapshot.link.source, snapshot.link.target
    state = snapshot.switches.state if snapshot.switches else None
    if state is None or state.active != target or f"{target}->{source}" in moving:
        return
    says = f"{target} is active and nothing copies it: new data on {target} has no copy anywhere"
    yield Need(
        snapshot.link.name, says, f'When {source} is healthy again: Switch, then "Back to {source}".', "/switch", "warn"
    )
