"""What an operator must look at, worst first: the top lines of the overview."""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from twinlog.errors.clusters import likely_remedy
from twinlog.model.counted import counted
from twinlog.model.health.states import LinkStatus, silent_seconds, source_down_since
from twinlog.model.moments import clock
from twinlog.model.switch.log import switch_name
from twinlog.surface.answers.links import faults_of, state_of, without_copy
from twinlog.surface.cli.words import duration
from twinlog.surface.page.words import segment, tone
from twinlog.watch.clusters import ClusterCard
from twinlog.watch.monitor import LinkSnapshot

_FAULTS_TOLD: Final = 2
_CHORES_TOLD: Final = 2
_TOLD: Final = 8
FULL_DISK: Final = 0.85
_AWAY: Final = re.compile(r"([^\s:]+): no broker answers")


@dataclass(frozen=True)
class Need:
    """One thing: which link or cluster, what is wrong, the way out, and the tab that tells more."""

    link: str
    says: str
    remedy: str = ""
    tab: str = ""
    tone: str = "bad"
    of_cluster: bool = False

    @property
    def address(self) -> str:
        """Where the page tells more."""
        return "#clusters" if self.of_cluster else f"/ui/links/{segment(self.link)}{self.tab}"


@dataclass(frozen=True)
class Needs:
    """The first of them, and how many links have more that is not told."""

    told: tuple[Need, ...]
    untold: int


def needs_of(snapshots: Iterable[LinkSnapshot], clusters: Iterable[ClusterCard] = ()) -> Needs:
    """Collect them over all links and clusters: what is bad before what is only odd."""
    snapshots = list(snapshots)
    lone = without_copy(snapshots)
    of_links = [need for snapshot in snapshots for need in _of(snapshot, lone)]
    named = {alias for need in of_links for alias in _AWAY.findall(need.says)}
    silent = [alias for alias in unanswering(snapshots, clusters) if alias not in named]
    of_clusters = [need for card in clusters for need in _of_cluster(card, silent)]
    needs = sorted([*of_links, *of_clusters], key=lambda need: need.tone != "bad")
    return Needs(tuple(needs[:_TOLD]), len(needs) - len(needs[:_TOLD]))


def _of(snapshot: LinkSnapshot, lone: Collection[str]) -> Iterator[Need]:
    name, status = snapshot.link.name, snapshot.status
    if snapshot.trouble:
        yield Need(name, f"it cannot be looked at: {snapshot.trouble}", snapshot.remedy)
    if snapshot.switches is not None and snapshot.switches.open is not None:
        yield Need(name, f"a {switch_name(snapshot.switches.open.claim.command)} is open", tab="/switch", tone="warn")
    if snapshot.superseded:
        yield Need(name, snapshot.superseded)
    if status is None or snapshot.trouble:
        return
    state = state_of(snapshot)
    if state == "SWITCHED":  # it rests on purpose, and what it says of the side that was left is old
        if name in lone:
            yield _one_copy(snapshot)
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


def unanswering(snapshots: Iterable[LinkSnapshot], clusters: Iterable[ClusterCard]) -> list[str]:
    """The clusters that do not answer. A link that moves since the last look at a cluster proves that it answers."""
    snapshots = list(snapshots)
    answered = [
        (alias, snapshot.looked_ms)
        for snapshot in snapshots
        if state_of(snapshot) in {"RUNNING", "CATCHING_UP"}
        for alias in (snapshot.link.source, snapshot.link.target)
    ]
    down = {s.link.source for s in snapshots if s.status is not None and source_down_since(s.status) is not None}
    silent = {
        card.alias
        for card in clusters
        if card.trouble and not any(alias == card.alias and at_ms > card.looked_ms for alias, at_ms in answered)
    }
    return sorted(down | silent)


def _of_cluster(card: ClusterCard, silent: Collection[str]) -> Iterator[Need]:
    """What a look at a whole cluster finds. A source that is down is named by its link."""
    alias = card.alias
    if card.trouble:
        if alias in silent:
            says = card.trouble.removeprefix(f"{alias}: ")
            yield Need(alias, says, likely_remedy(alias, card.trouble), of_cluster=True)
        return
    if card.without_leader:
        verb = "has" if card.without_leader == 1 else "have"
        says = f"{counted(card.without_leader, 'partition')} {verb} no replica in sync: nobody can read or write there"
        yield Need(alias, says, "Start the brokers that are missing.", of_cluster=True)
    elif card.under_replicated:
        verb = "lacks" if card.under_replicated == 1 else "lack"
        says = f"{counted(card.under_replicated, 'partition')} {verb} a replica in sync"
        yield Need(alias, says, "Look for a broker that is missing or slow.", tone="warn", of_cluster=True)
    if (card.fullest or 0) > FULL_DISK:
        says = f"its fullest disk is {card.fullest:.0%} full"
        yield Need(alias, says, "Add disk space, or lower the retention of large topics.", tone="warn", of_cluster=True)


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


def _one_copy(snapshot: LinkSnapshot) -> Need:
    """After a failover nothing copies what is new, until the way back does."""
    source, target = snapshot.link.source, snapshot.link.target
    says = f"{target} is active and nothing copies it: new data on {target} has no copy anywhere"
    way = f'When {source} is healthy again: Switch, then "Back to {source}".'
    return Need(snapshot.link.name, says, way, "/switch", "warn")
