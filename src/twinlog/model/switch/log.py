"""The switch log: which side of a pair is active, which link may copy, who is switching. Pure.

Both clusters of a pair have a topic `__twinlog-switch` of one partition whose records are kept for ever. A
switch is written into the one of the link's target, the *home* of the switch; decisions (`StateEntry`) are copied to
the other cluster as soon as it answers. The log itself decides everything:

- A claim opens a switch when none is open. While one is open, claims for another switch count for nothing: two
  operators cannot run two switches.
- Whoever claims the open switch again continues with it, but only when its runner has been silent for a while. From
  then on nothing that the older runner writes counts, and it stops as soon as it reads that (R10).
- Decisions carry a generation; the one with the highest number is valid, whichever of the two clusters told it. Both
  clusters number their decisions differently, so that no two are equal.

Times are the broker's (the topic stamps records itself), so the clocks of operators' machines do not matter.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, NamedTuple, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from twinlog.model.names import LinkName
from twinlog.model.switch.facts import FenceNote, StepFacts

F = TypeVar("F", bound=StepFacts)

SILENT_MS: Final = 10_000
"""A runner that wrote nothing for so long is gone: it writes every two seconds."""

Copying: TypeAlias = Literal["copying", "draining", "draining-all", "held", "by-switch"]
"""What an engine may do with its link.

copying       everything, as if there was no switch
draining      copy records, but leave configs, ACLs and groups alone: the switch is changing them
draining-all  the same, with the records that came from the target: a full failback copies everything back to it
held          nothing
by-switch     nothing: the switch runs an engine of its own
"""
Command: TypeAlias = Literal["failover-planned", "failover-unplanned", "failback-delta", "failback-full"]
StepEvent: TypeAlias = Literal["begun", "note", "done", "failed"]


def switch_name(command: str) -> str:
    """Say which switch it is: `planned failover`, `full failback`."""
    kind, _, way = command.partition("-")
    return f"{way} {kind}" if way else kind


def pair_of(link: LinkName) -> str:
    """The two clusters of a link, whichever way it leads."""
    return "<->".join(sorted(link))


class _Entry(BaseModel):
    model_config = ConfigDict(extra="ignore")

    pair: str

    def value(self) -> bytes:
        """The bytes of the record's value."""
        return self.model_dump_json(exclude_none=True).encode()


class Claim(_Entry):
    """Somebody wants to run a switch, or to continue with one."""

    kind: Literal["claim"] = "claim"
    switch: str
    runner: str
    command: Command
    link: str
    operator: str = ""
    host: str = ""
    pid: int = 0
    options: dict[str, Any] = Field(default_factory=dict)


class StepEntry(_Entry):
    """What became of one step. `facts` are what a later run of the step, or another step, must know."""

    kind: Literal["step"] = "step"
    switch: str
    runner: str
    step: str
    event: StepEvent
    says: str = ""
    facts: dict[str, Any] = Field(default_factory=dict)
    took_ms: int = 0


class Beat(_Entry):
    """The runner lives; what it says is what the running step waits for, and how far it is."""

    kind: Literal["beat"] = "beat"
    switch: str
    runner: str
    says: str = ""


class End(_Entry):
    """The end of a switch, in its log."""

    kind: Literal["end"] = "end"
    switch: str
    runner: str
    outcome: Literal["done", "aborted"]
    says: str = ""


class StateEntry(_Entry):
    """A decision: who is active and what each link may do. It replaces every decision of a lower generation.

    A switch makes several: it stops links, then makes a side active, then lets links continue. Only one of them changes
    who is active, so `since_ms` stays through the others; 0 is since ever.
    """

    kind: Literal["state"] = "state"
    generation: int
    active: str
    links: dict[str, Copying] = Field(default_factory=dict)
    # Clusters whose producers must be shut out as soon as the cluster answers again, and by which means.
    fence_on_return: dict[str, str] = Field(default_factory=dict)
    switch: str = ""
    runner: str = ""
    why: str = ""
    at_ms: int = 0
    since_ms: int = 0


class Fenced(_Entry):
    """What a cluster was like before its producers were shut out: written before anything is changed.

    The first note of a topic counts until the fence is lifted; a later one would describe the fence itself, so it only
    adds topics. An engine that shuts an old primary on its return writes it too, so it needs no claim.
    """

    kind: Literal["fenced"] = "fenced"
    cluster: str
    cluster_id: str = ""  # empty in notes of versions that did not write it
    lifted: bool = False
    facts: FenceNote = FenceNote()


SwitchEntry: TypeAlias = Claim | StepEntry | Beat | End | StateEntry | Fenced
_KINDS: Final[dict[str, type[_Entry]]] = {
    "claim": Claim,
    "step": StepEntry,
    "beat": Beat,
    "end": End,
    "state": StateEntry,
    "fenced": Fenced,
}


def read_switch_entry(value: bytes | None) -> SwitchEntry | None:
    """Read one record; None for what we did not write."""
    try:
        raw: Any = json.loads(value or b"")
        kind = _KINDS.get(raw.get("kind", ""))
        entry: Any = None if kind is None else kind.model_validate(raw)
    except (ValueError, AttributeError):
        return None
    return entry  # type: ignore[no-any-return]


class Written(NamedTuple):
    """An entry where it lies in the log."""

    offset: int
    at_ms: int
    entry: SwitchEntry


@dataclass(frozen=True)
class StepRecord:
    """One step of a switch, as far as it got."""

    step: str
    status: Literal["begun", "done", "failed"]
    says: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    began_ms: int = 0
    ended_ms: int = 0
    took_ms: int = 0
    runs: int = 1


@dataclass(frozen=True)
class Switch:
    """One switch from its claim on."""

    id: str
    claim: Claim
    runner: str
    since_ms: int
    seen_ms: int
    steps: Mapping[str, StepRecord] = field(default_factory=dict)
    end: End | None = None
    ended_ms: int = 0
    state: StateEntry | None = None  # the decision that held at its end, or holds while it runs
    saying: str = ""  # what the running step waits for

    @property
    def titles(self) -> Mapping[str, str]:
        """Every step of its plan, in order, in the words in which it was confirmed."""
        words = self.claim.options.get("titles", {})
        return {step: words.get(step, "") for step in self.claim.options.get("steps", ())}

    def facts(self, kind: type[F]) -> F | None:
        """What a step left for others; None when it left nothing so far. Raises ValueError for unreadable facts."""
        step = self.steps.get(kind.step)
        return kind.model_validate(step.facts) if step is not None and step.facts else None

    def runner_lives(self, now_ms: int) -> bool:
        """Whether the process that runs it was heard lately; until it is silent nobody else may continue it."""
        return now_ms - self.seen_ms < SILENT_MS

    @property
    def progress(self) -> tuple[int, int, str]:
        """The step it is at, how many there are, and the title of that step."""
        steps = [*self.titles]
        done = sum(self.is_done(step) for step in steps)
        at = min(done, len(steps) - 1)
        return at + 1 if steps else 0, len(steps), (self.titles[steps[at]] or steps[at]) if steps else ""

    @property
    def to_come(self) -> tuple[str, ...]:
        """The titles of the steps behind the present one."""
        number, _, _ = self.progress
        return tuple(title or step for step, title in list(self.titles.items())[number:])

    def is_done(self, step: str) -> bool:
        """Whether a step need not run again."""
        noted = self.steps.get(step)
        return noted is not None and noted.status == "done"


@dataclass(frozen=True)
class SwitchLog:
    """What the log of one cluster says about one pair."""

    pair: str
    state: StateEntry | None = None
    open: Switch | None = None
    ended: tuple[Switch, ...] = ()
    fenced: Mapping[str, FenceNote] = field(default_factory=dict)  # by cluster: as it was before
    next_offset: int = 0

    def take(self, written: Written) -> SwitchLog:
        """Read one more record."""
        log = replace(self, next_offset=written.offset + 1)
        entry = written.entry
        if entry.pair != self.pair:
            return log
        if isinstance(entry, StateEntry):
            return _take_state(log, entry)
        if isinstance(entry, Fenced):
            others = {cluster: note for cluster, note in log.fenced.items() if cluster != entry.cluster}
            before = log.fenced.get(entry.cluster)
            note = entry.facts if before is None else before.merged(entry.facts)
            return replace(log, fenced=others if entry.lifted else {**others, entry.cluster: note})
        if isinstance(entry, Claim):
            return _take_claim(log, entry, written.at_ms)
        switch = log.open
        if switch is None or (entry.switch, entry.runner) != (switch.id, switch.runner):
            return log  # of a runner that was replaced, or of a switch that never was
        switch = replace(switch, seen_ms=written.at_ms)
        if isinstance(entry, End):
            ended = replace(switch, end=entry, ended_ms=written.at_ms)
            return replace(log, open=None, ended=(*log.ended, ended))
        if isinstance(entry, Beat):
            switch = replace(switch, saying=entry.says)
        if isinstance(entry, StepEntry):
            switch = replace(switch, saying="", steps={**switch.steps, entry.step: _step(switch, entry, written.at_ms)})
        return replace(log, open=switch)

    def owned_by(self, switch: str, runner: str) -> bool:
        """Whether this runner may continue."""
        return self.open is not None and (self.open.id, self.open.runner) == (switch, runner)

    def find(self, switch: str) -> Switch | None:
        """A switch by its id, open or ended."""
        known = [
            candidate for candidate in (*self.ended, self.open) if candidate is not None and candidate.id == switch
        ]
        return known[0] if known else None


def _take_state(log: SwitchLog, entry: StateEntry) -> SwitchLog:
    by_stranger = bool(entry.runner) and (log.open is None or entry.runner != log.open.runner)
    if by_stranger or (log.state is not None and entry.generation <= log.state.generation):
        return log
    running = None if log.open is None else replace(log.open, state=entry)
    return replace(log, state=entry, open=running)


def _take_claim(log: SwitchLog, claim: Claim, at_ms: int) -> SwitchLog:
    switch = log.open
    if switch is None:
        known = any(ended.id == claim.switch for ended in log.ended)
        if known:
            return log  # it is over; its runner reads that
        return replace(log, open=Switch(claim.switch, claim, claim.runner, at_ms, at_ms, state=log.state))
    silent = at_ms - switch.seen_ms >= SILENT_MS
    if claim.switch != switch.id or not (silent or claim.runner == switch.runner):
        return log
    return replace(log, open=replace(switch, runner=claim.runner, seen_ms=at_ms))


def _step(switch: Switch, entry: StepEntry, at_ms: int) -> StepRecord:
    before = switch.steps.get(entry.step)
    facts = {**(before.facts if before else {}), **entry.facts}
    if entry.event == "begun":
        runs = 1 if before is None else before.runs + 1
        began = at_ms if before is None else before.began_ms
        return StepRecord(entry.step, "begun", entry.says, facts, began, 0, before.took_ms if before else 0, runs)
    known = before or StepRecord(entry.step, "begun", began_ms=at_ms)
    if entry.event == "note":
        return replace(known, facts=facts)
    status: Literal["done", "failed"] = "done" if entry.event == "done" else "failed"
    took = known.took_ms + entry.took_ms
    return replace(known, status=status, says=entry.says, facts=facts, ended_ms=at_ms, took_ms=took)


def newest(*states: StateEntry | None) -> StateEntry | None:
    """The decision that holds: the one of the highest generation."""
    return max((state for state in states if state is not None), key=lambda state: state.generation, default=None)


def next_generation(known: int, link: LinkName) -> int:
    """The number of the next decision of a switch of this link.

    Decisions of the first cluster of a pair, by name, have odd numbers, those of the other one even ones. Each may
    have decided while the other one was away: two different decisions never have the same number (R10).
    """
    home = sorted(link).index(link.target)
    return known + 1 if known % 2 == home else known + 2


def decision_after(
    before: StateEntry | None,
    link: LinkName,
    *,
    why: str,
    at_ms: int,
    active: str | None = None,
    links: Mapping[str, Copying] | None = None,
    fence_on_return: Mapping[str, str] | None = None,
) -> StateEntry:
    """The next decision: what is not named stays as it was. While there never was one, the source is active."""
    known = before or StateEntry(pair=pair_of(link), generation=0, active=link.source)
    changed = {
        "generation": next_generation(known.generation, link),
        "active": active or known.active,
        "links": {**known.links, **(links or {})},
        "fence_on_return": dict(known.fence_on_return if fence_on_return is None else fence_on_return),
        "why": why,
        "at_ms": at_ms,
        "since_ms": known.since_ms if active in {None, known.active} else at_ms,
    }
    return known.model_copy(update=changed)


def may_copy(state: StateEntry | None, link: str) -> Copying:
    """What an engine may do with a link; everything while there never was a switch."""
    return "copying" if state is None else state.links.get(link, "copying")


def held_because(state: StateEntry, link: str) -> str:
    """Why a link stands still, for its status (R14)."""
    match may_copy(state, link):
        case "by-switch":
            doing = "the switch copies with an engine of its own"
        case _:
            doing = "this link does not copy"
    reason = f" ({state.why})" if state.why else ""
    if state.active == LinkName.parse(link).source:
        # A switch has just begun, or a failback is under way, or a failover has ended and this is the way back.
        return f"held by a switch{reason}; {doing}"
    return f"{state.active} is the active side{reason}; {doing}"
