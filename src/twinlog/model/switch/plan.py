"""The plan of a switch: which steps, what each will change, what is at risk, and when it is refused. Pure.

    facts (observed) ──▶ refusal, or Plan = ordered steps ──▶ shown, confirmed, executed (recovery/execute)

Each step says which side it closes to producers and which it opens. In no plan are both sides open after any step: the
side that is left is shut before the other one is opened, or it is gone and is shut first when it returns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from twinlog.model.counted import counted
from twinlog.model.groups.positions import continues
from twinlog.model.health.loss_range import LossRange
from twinlog.model.names import LinkName
from twinlog.model.switch.facts import Means
from twinlog.model.switch.log import Command, StateEntry, Switch
from twinlog.model.topics.writers_topics import says_missing

Side: TypeAlias = Literal["source", "target"]
Fence: TypeAlias = Means | Literal["auto"]
"""How a side is shut; `auto` where it could not be asked yet which means suits it."""


@dataclass(frozen=True)
class Facts:
    """What was observed before a plan is made. None is unknown, never zero."""

    link: LinkName
    command: Command
    fence: Fence = "topic-config"  # around the source
    target_fence: Fence = "topic-config"
    fence_why: str = ""  # why `auto` is no ACL around the source …
    target_fence_why: str = ""  # … and around the target
    reverse: Literal["auto", "start", "stop"] = "auto"
    tail: Literal["append", "keep"] = "append"
    same_names: bool = True
    source_trouble: str | None = None
    target_trouble: str | None = None
    engine_trouble: str | None = None  # why no engine could drain the link
    ledger_there: bool = True
    state: StateEntry | None = None
    open: Switch | None = None
    lag_records: int | None = None
    lag_bytes: int | None = None
    lag_seconds: float | None = None
    known_at_ms: int | None = None  # when the source was last heard of
    loss: LossRange | None = None  # of an unplanned failover
    faults: tuple[str, ...] = ()
    dead_copies: tuple[str, ...] = ()  # on the target: deleted, or without a leader; one sentence each
    topics: tuple[str, ...] = ()
    registry_topics: tuple[str, ...] = ()  # of these topics: they are merged, never deleted
    missing_for_writers: tuple[str, ...] = ()  # names that producers use and that the new active side does not have
    partitions: int = 0
    groups: int = 0
    read_again: Mapping[str, int] = field(default_factory=dict)  # by group, at most, after an unplanned failover
    active_groups: tuple[str, ...] = ()  # on the side that becomes active
    held_back_acls: int = 0
    cuts: tuple[str, ...] = ()  # where groups of cut sets start, one sentence each
    redirects: tuple[str, ...] = ()
    back_enabled: bool = False
    objective_rto_seconds: int | None = None
    registry: bool = False  # whether the link mirrors a schema registry
    transforms: tuple[str, ...] = ()  # steps of the link: what the target holds is not what the source has

    @property
    def wiped(self) -> tuple[str, ...]:
        """What a full failback deletes."""
        return tuple(topic for topic in self.topics if topic not in self.registry_topics)

    @property
    def active(self) -> str:
        """The side that is active now."""
        return self.state.active if self.state else self.link.source

    @property
    def new_active(self) -> str:
        """The side that will be."""
        return self.link.target if self.command.startswith("failover") else self.link.source


@dataclass(frozen=True)
class PlannedStep:
    """One step as an operator reads it."""

    id: str
    title: str
    changes: str = ""
    risk: str = ""
    reversible: bool = True
    closes: Side | None = None
    opens: Side | None = None


@dataclass(frozen=True)
class AtRisk:
    """What an operator puts at stake with this command. None is unknown."""

    records: int | None
    bytes: int | None
    seconds: float | None
    groups: int
    known_at_ms: int | None = None
    sentences: tuple[str, ...] = ()
    at_most: int | None = None  # records, with those that may have come since the source was last heard of

    @property
    def is_range(self) -> bool:
        """Whether the source is away, so that the records are at least so many, and at most another number."""
        return self.at_most is not None and self.at_most != self.records


@dataclass(frozen=True)
class Plan:
    """What will be done, in this order."""

    command: Command
    link: LinkName
    steps: tuple[PlannedStep, ...]
    at_risk: AtRisk
    wiped: tuple[str, ...] = ()
    warnings: tuple[str, ...] = field(default=())


@dataclass(frozen=True)
class Refusal:
    """Why nothing is begun, and the way out."""

    reason: str
    way: str


_NAMED: Final = 10
_RESUME: Final = "`twinlog switch status {link}` shows it; `twinlog switch resume {link}` continues with it."


def refusal_of(facts: Facts) -> Refusal | None:
    """The first thing that speaks against it."""
    link = facts.link
    failover = facts.command.startswith("failover")
    if facts.target_trouble is not None:
        way = f"A switch needs {link.target}: its journal lives there. Bring it back first."
        return Refusal(f"the target does not answer ({facts.target_trouble})", way)
    if facts.open is not None:
        who = f"{facts.open.claim.operator}@{facts.open.claim.host}"
        command = facts.open.claim.command
        return Refusal(f"a switch is already running ({command}, started by {who})", _RESUME.format(link=link))
    if not facts.ledger_there:
        return Refusal("the link never ran", "Start it with `twinlog run` and let it catch up.")
    if failover and facts.active == link.target:
        return Refusal(
            f"{link.target} is the active side already",
            f"`twinlog failback {link} --delta` leads back to {link.source}.",
        )
    if not failover and facts.active == link.source:
        return Refusal(f"{link.source} is the active side", "There is nothing to fail back from.")
    if facts.active_groups:
        names = ", ".join(facts.active_groups[:5])
        return Refusal(
            f"groups have members on {facts.new_active} already: {names}",
            "Their positions could not be set. Stop these consumers, then try again.",
        )
    if facts.command == "failover-unplanned":
        return None
    if facts.source_trouble is not None:
        way = f"If it is lost, use `twinlog failover {link} --unplanned`." if failover else "Bring it back first."
        return Refusal(f"the source does not answer ({facts.source_trouble})", way)
    if facts.command == "failover-planned":
        return _planned_refusal(facts)
    if facts.command == "failback-delta" and not facts.same_names and not facts.back_enabled:
        way = f"Enable {link.target}->{link.source} in the file: with prefixed names it carries what was written there."
        return Refusal("the copies have other names, and the way back is not enabled", way)
    if facts.command == "failback-full" and facts.transforms:
        return Refusal(
            f"{link} transforms records ({', '.join(facts.transforms)}): what {link.target} holds would replace the "
            f"originals on {link.source}, and dropped records would be lost",
            "Use --delta: it brings back only what was written on the target since the failover.",
        )
    if facts.command == "failback-full" and not facts.same_names:
        return Refusal(
            "the copies have other names than the originals",
            "A full failback needs IdentityReplicationPolicy; with prefixed names use --delta.",
        )
    return None


def _planned_refusal(facts: Facts) -> Refusal | None:
    if facts.engine_trouble is not None:
        return Refusal(
            f"no engine drains the link ({facts.engine_trouble})",
            "Start it with `twinlog run`; a planned failover copies everything first.",
        )
    if facts.faults:
        return Refusal(
            f"{len(facts.faults)} partitions or topics are faulted, the first is {facts.faults[0]}",
            "Repair them (`twinlog status` says how), or accept the loss with --unplanned.",
        )
    if facts.dead_copies:
        return Refusal(
            f"{len(facts.dead_copies)} copies cannot be used, the first is {facts.dead_copies[0]}",
            "Bring them back (`twinlog status` says how), or give them up with --unplanned.",
        )
    if facts.lag_records is None:
        return Refusal("how far the copy is behind is not known", "`twinlog status` says why; try again when it is.")
    return None


def plan_of(facts: Facts) -> Plan:
    """The plan for facts that do not speak against it."""
    steps = {
        "failover-planned": _planned,
        "failover-unplanned": _unplanned,
        "failback-delta": _delta,
        "failback-full": _full,
    }[facts.command]
    wiped = facts.wiped if facts.command == "failback-full" else ()
    warnings = tuple(_warnings(facts))
    return Plan(facts.command, facts.link, tuple(steps(facts)), at_risk_of(facts), wiped, warnings)


def at_risk_of(facts: Facts) -> AtRisk:
    """What is at stake, told before anything is done."""
    unplanned = facts.command == "failover-unplanned"
    if not unplanned:
        return AtRisk(0, 0, 0.0, facts.groups, sentences=("Nothing is lost: every record is copied first.",))
    if facts.lag_records is None:
        told = "How much was not copied is not known: the source never answered."
    elif facts.loss is not None:
        told = f"lost: {facts.loss.says(facts.link.source)}; what is written to {facts.link.source} since is not known"
    else:
        told = f"{facts.lag_records:,} records were not copied when the source last answered"
    return AtRisk(
        facts.lag_records,
        facts.lag_bytes,
        facts.lag_seconds,
        facts.groups,
        facts.known_at_ms,
        sentences=(told, *_read_again(facts), *facts.cuts),
        at_most=facts.loss.at_most if facts.loss else None,
    )


def _read_again(facts: Facts) -> Iterator[str]:
    """Where groups continue: those that may read most a second time by name."""
    most = sorted(facts.read_again.items(), key=lambda entry: (-entry[1], entry[0]))
    for group, records in most[:_NAMED]:
        yield f"group {group} {continues(records)}"
    if len(most) > _NAMED:
        rest = sum(records for _, records in most[_NAMED:])
        yield f"{len(most) - _NAMED} more groups: {rest:,} records before the end in all"


def writable_sides(steps: Iterable[PlannedStep], initially: Iterable[Side]) -> Iterator[frozenset[Side]]:
    """Which sides producers can write to, after each step."""
    sides = set(initially)
    for step in steps:
        if step.closes is not None:
            sides.discard(step.closes)
        if step.opens is not None:
            sides.add(step.opens)
        yield frozenset(sides)


def copies_back_at_once(facts: Facts) -> bool:
    """Whether the way back begins to copy right after a planned failover."""
    if facts.reverse != "auto":
        return facts.reverse == "start"
    apart = not facts.same_names and facts.back_enabled  # it writes into topics of its own: nothing is opened for it
    return apart or (facts.same_names and facts.fence != "topic-config")


# --- the four lists of steps ------------------------------------------------------------------------------------------


def _planned(facts: Facts) -> Iterator[PlannedStep]:
    source, target = facts.link
    yield PlannedStep(
        "freeze", "Stop syncing configs, ACLs and groups; keep copying records", "the links' engines drain only"
    )
    yield _fence_source(facts)
    yield PlannedStep("drain", "Copy everything that is left", risk="waits until the copy has caught up")
    yield PlannedStep(
        "stop-link", f"Stop {facts.link} and record the last copied offsets", f"{facts.link} does not copy any more"
    )
    yield PlannedStep("positions", "Set the final positions of all groups", f"offsets of groups on {target}")
    yield PlannedStep("promote", f"Make {target} the active side", "who is active, on both clusters")
    yield from _registry(facts)
    yield _release(facts)
    yield _redirect(facts, target)
    if copies_back_at_once(facts):
        change = f"{target}->{source} copies what is written on {target} from the cut on"
        yield PlannedStep("reverse", f"Begin to copy back to {source}", change)


def _unplanned(facts: Facts) -> Iterator[PlannedStep]:
    source, target = facts.link
    change = f"{facts.link} does not copy any more, even if only part of {source} comes back"
    yield PlannedStep("stop-link", f"Stop {facts.link} and record the last copied offsets", change)
    yield PlannedStep(
        "fence-old",
        f"Shut producers out of {source}, if it answers",
        f"{_fence_words(facts, facts.fence)} on {source}{_no_acl(facts.fence_why)}",
        risk=f"if it does not answer: when {source} returns, its topics are closed before anything else; until then "
        f"producers may still write to {source}",
        closes="source",
    )
    yield PlannedStep("loss", "Name what was not copied", risk="records that only the lost cluster has")
    yield PlannedStep("positions-known", "Set positions of groups from ledger and checkpoints", f"groups on {target}")
    yield PlannedStep("promote", f"Make {target} the active side", "who is active, on every cluster that answers")
    yield from _registry(facts)
    yield _release(facts)
    yield _redirect(facts, target)


def _delta(facts: Facts) -> Iterator[PlannedStep]:
    source, target = facts.link
    yield _fence_source(facts)
    fate = f"appended to {target}" if facts.tail == "append" else f"left on {source} and noted as a gap"
    yield PlannedStep(
        "tail",
        f"Find and export what {source} has and {target} never got",
        f"a file, and a topic if one is set; then it is {fate}",
        risk="records of the tail lie in another order on the two sides" if facts.same_names else "",
    )
    yield _admit(facts)
    yield PlannedStep("copy-back", f"Copy what was written on {target} since the cut", f"topics on {source}")
    yield from _swap_back(facts)


def _full(facts: Facts) -> Iterator[PlannedStep]:
    source = facts.link.source
    yield _fence_source(facts)
    yield PlannedStep(
        "wipe",
        f"Delete {counted(len(facts.wiped), 'topic')} on {source}",
        f"every mirrored topic of {source} and the ledgers about them",
        risk=f"what only {source} has is gone for good",
        reversible=False,
    )
    yield PlannedStep("copy-all", f"Copy everything back to {source}", f"new topics on {source}")
    yield from _swap_back(facts)


def _swap_back(facts: Facts) -> Iterator[PlannedStep]:
    source, target = facts.link
    yield PlannedStep(
        "fence-target",
        f"Shut producers out of {target}",
        f"{_fence_words(facts, facts.target_fence)} on {target}{_no_acl(facts.target_fence_why)}",
        risk="writes wait, or fail with an error, from here until the clients are redirected",
        closes="target",
    )
    yield PlannedStep("drain-back", "Copy everything that is left")
    yield PlannedStep("stop-back", "Stop copying and record the last copied offsets")
    yield PlannedStep("positions-back", "Set positions of all groups", f"offsets of groups on {source}")
    yield PlannedStep("promote", f"Make {source} the active side", "who is active, on both clusters")
    yield PlannedStep("open-source", f"Let producers write to {source}", f"the fence on {source}", opens="source")
    if facts.registry:
        change = f"new schemas of {target} are written into the registry of {source}, under their ids"
        yield PlannedStep("registry-home", f"Bring new schemas home to {source}", change)
    yield _redirect(facts, source)
    yield PlannedStep("resume", f"Let {facts.link} copy again", f"the fence on {target} as far as the link needs it")


def _fence_source(facts: Facts) -> PlannedStep:
    source = facts.link.source
    return PlannedStep(
        "fence-source",
        f"Shut producers out of {source}",
        f"{_fence_words(facts, facts.fence)} on {source}{_no_acl(facts.fence_why)}",
        risk="writes wait, or fail with an error, from here until the clients are redirected",
        closes="source",
    )


def _fence_words(facts: Facts, fence: Fence) -> str:
    match fence:
        case "auto":
            return f"an ACL or max.message.bytes of {counted(len(facts.topics), 'topic')}, by what it allows,"
        case "acl":
            return f"an ACL that denies Write on {counted(len(facts.topics), 'topic')}"
        case "topic-config":
            return f"max.message.bytes of {counted(len(facts.topics), 'topic')}"
        case "none":
            return "nothing (switch.fence = none: somebody else stops the producers)"


def _no_acl(why: str) -> str:
    return f" (no ACL: {why})" if why else ""


def _admit(facts: Facts) -> PlannedStep:
    source = facts.link.source
    if not facts.same_names:
        return PlannedStep("admit", f"Keep {source} shut: the way back writes into topics of its own")
    if facts.fence == "topic-config":
        risk = f"a topic config cannot tell producers apart: until the swap a stray producer could write to {source}"
        return PlannedStep("admit", f"Let the link write to {source}", f"max.message.bytes on {source}", risk=risk)
    return PlannedStep("admit", f"Let the link, and nobody else, write to {source}", f"ACLs on {source}")


def _release(facts: Facts) -> PlannedStep:
    target = facts.link.target
    return PlannedStep(
        "release",
        f"Let producers write to {target}",
        f"{facts.held_back_acls} ACLs that were held back",
        opens="target",
    )


def _registry(facts: Facts) -> Iterator[PlannedStep]:
    target = facts.link.target
    if facts.registry:
        change = f"the registry of {target} takes new schemas, with ids that {facts.link.source} cannot have given"
        yield PlannedStep("registry", f"Promote the schema registry of {target}", change)


def _redirect(facts: Facts, active: str) -> PlannedStep:
    hooks = ", ".join(facts.redirects) or "none is set: tell the clients yourself"
    return PlannedStep("redirect", f"Send clients to {active}", f"hooks: {hooks}")


def _warnings(facts: Facts) -> Iterator[str]:
    if facts.fence == "none":
        yield "switch.fence = none: make sure that nobody writes to the side that is left"
    if facts.transforms:
        steps = ", ".join(facts.transforms)
        if facts.command.startswith("failover"):
            yield f"{facts.link} transforms records ({steps}): applications on {facts.link.target} read these copies"
        else:
            yield f"{facts.link} transforms records ({steps}): its copies are not brought back to {facts.link.source}"
    if not facts.redirects:
        yield "no redirect hook is set: clients must be moved by other means"
    if facts.command.startswith("failover") and facts.missing_for_writers:
        yield says_missing(facts.missing_for_writers, str(facts.link), facts.link.target)
    if facts.command.startswith("failover") and not facts.same_names and not facts.back_enabled:
        back = f"{facts.link.target}->{facts.link.source}"
        yield f"the way back is not enabled: `failback --delta` needs `{back}.enabled = true` in the file"
    if facts.command == "failover-unplanned" and facts.source_trouble is None:
        yield f"{facts.link.source} answers: a planned failover (`--planned`) would lose nothing"
    if facts.command == "failover-unplanned" and facts.faults:
        yield f"{len(facts.faults)} partitions or topics are faulted: {facts.faults[0]}"
    if facts.command == "failover-unplanned":
        yield from facts.dead_copies[:_NAMED]
        if len(facts.dead_copies) > _NAMED:
            yield f"{len(facts.dead_copies) - _NAMED} more copies on {facts.link.target} cannot be used"
