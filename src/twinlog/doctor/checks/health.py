"""Whether the link runs now and keeps its promises."""

from __future__ import annotations

from typing import Final

from twinlog.doctor.answers import Answer, Check, fail, known, named, ok, warn
from twinlog.doctor.facts import Facts
from twinlog.model.health.objectives import kept
from twinlog.model.health.states import engine_age_seconds
from twinlog.model.ledger.records import ENGINE_SILENT_MS

_THEME = "health"
_RUN: Final = "twinlog run -c FILE"
_OLD_DRILL_DAYS: Final = 92


def _engine(facts: Facts) -> Answer:
    status = known(facts.status)
    engine = status.engine
    if engine is None:
        return fail("no engine has ever run this link", _RUN)
    if status.rests:
        return warn(f"at rest on purpose: {engine.trouble or 'a switch holds the link'}", _next_of_switch(facts))
    if engine.phase == "stopped":
        return fail(f"the engine on {engine.host} was stopped", _RUN)
    silent = engine_age_seconds(status)  # at the moment of reading: asking a source that is away takes long
    if silent * 1000 > ENGINE_SILENT_MS:
        return fail(f"the engine on {engine.host} (pid {engine.pid}) is silent for {silent:,.0f} s", _RUN)
    return ok(f"generation {engine.generation} on {engine.host}, heard {silent:.0f} s ago")


def _next_of_switch(facts: Facts) -> str:
    if known(facts.status).active != facts.link.target:
        return f"twinlog switch status '{facts.link.name}' -c FILE"
    return f"twinlog failback '{facts.link.name}' -c FILE --dry-run   # when {facts.source.alias} is healthy again"


def _epochs(facts: Facts) -> Answer:
    engine = known(facts.status).engine
    if engine is None:
        return Answer("unknown", "no engine has ever run this link")
    if engine.trouble and not known(facts.status).rests:
        return fail(engine.trouble, "twinlog status -c FILE   # then the engine's log")
    return ok("the engine reports no trouble")


def _faults(facts: Facts) -> Answer:
    faults = known(facts.status).faults
    if faults:
        return fail(f"{len(faults):,} faults: {named(fault.says for fault in faults)}", faults[0].remedy)
    return ok("no partition is faulted")


def _chores(facts: Facts) -> Answer:
    bad = [f"{note.chore}: {note.trouble}" for note in facts.notes.values() if note.trouble]
    if bad:
        return fail(f"not kept in sync: {named(bad)}", "twinlog status -c FILE")
    return ok(f"{len(facts.notes)} sync jobs without trouble") if facts.notes else Answer("unknown", "none has run yet")


def _held_back(facts: Facts) -> Answer:
    if facts.link.acls.enabled and facts.link.acls.mode == "mm2":
        return warn(
            "writers' rights are not copied: sync.topic.acls.mode = mm2",
            f"{facts.link.name}.sync.topic.acls.mode = full   # writers are held back until the switch",
        )
    note = facts.notes.get("acls")
    if note is None:
        return (
            ok("ACLs are not synced")
            if not facts.link.acls.enabled
            else Answer("unknown", "ACLs were not compared yet")
        )
    if note.found:
        return warn(named(note.findings), f"twinlog diff '{facts.link.name}' -c FILE")
    return ok(f"{note.counts.get('held_back', 0):,} rights of writers are ready for the switch")


def _rpo(facts: Facts) -> Answer:
    exposure = known(facts.status).exposure
    if known(facts.status).rests:
        return warn("a switch holds the link: it copies nothing that is new", _next_of_switch(facts))
    if exposure is None:
        return Answer("unknown", "nothing is known of the source's ends")
    if all(objective.rpo_seconds is None for objective in facts.link.objectives.all):
        return warn("no objective says how much may be lost", f"{facts.link.name}.rpo.seconds = 60")
    if exposure.broken:
        return fail(
            f"not kept: {named(f'{t.topic} {t.seconds or 0:,.0f} s > {t.rpo_seconds} s' for t in exposure.broken)}",
            f"twinlog rpo '{facts.link.name}' -c FILE",
        )
    return ok(f"everything older than {exposure.total.seconds or 0:,.1f} s is copied")


def _rto(facts: Facts) -> Answer:
    limit = facts.link.objectives.strictest_rto_seconds
    drill = f"twinlog drill '{facts.link.name}' -c FILE --shadow"
    if limit is None:
        return warn("no objective says how long a switch may take", f"{facts.link.name}.rto.seconds = 900")
    if facts.drill is None:
        return warn("no drill has ever measured it", drill)
    measured = facts.drill.body.get("rto_seconds")
    if kept(measured, limit) == "broken":
        return fail(f"the last drill took {measured:,.0f} s of {limit} s", drill)
    if measured is None:
        return warn("the last drill measured no recovery time", f"twinlog drill '{facts.link.name}' -c FILE --canary")
    return ok(f"the last drill took {measured:,.1f} s of {limit} s")


def _drilled(facts: Facts) -> Answer:
    remedy = f"twinlog drill '{facts.link.name}' -c FILE --paper   # and --shadow, --canary"
    if facts.drill is None:
        return warn("this link was never rehearsed", remedy)
    days = (facts.now_ms - int(facts.drill.body.get("at_ms", 0))) / 86_400_000
    if facts.drill.body.get("verdict") == "failed":
        return fail(f"the last drill ({facts.drill.body.get('kind')}) failed", remedy)
    if days > _OLD_DRILL_DAYS:
        return warn(f"the last drill was {days:,.0f} days ago", remedy)
    return ok(f"{facts.drill.body.get('kind')} drill {days:,.0f} days ago: {facts.drill.body.get('verdict')}")


def _paused(facts: Facts) -> Answer:
    held = known(facts.status).control.held
    if held:
        remedy = f"twinlog link resume-topic '{facts.link.name}' TOPIC"
        return fail(f"paused by an operator, so not copied: {named(held)}", remedy)
    return ok("no topic is paused")


CHECKS: Final = (
    Check("engine", _THEME, "Without an engine nothing is copied, and the loss grows.", _engine),
    Check("engine-trouble", _THEME, "An engine that waits copies nothing.", _epochs),
    Check("faults", _THEME, "A faulted partition is not copied any more.", _faults),
    Check("paused", _THEME, "What is paused is missing after a failover.", _paused),
    Check("chores", _THEME, "What is not kept in sync is missing after the switch.", _chores),
    Check("writers-rights", _THEME, "After the switch producers must be allowed to write on the target.", _held_back),
    Check("rpo", _THEME, "This is what was promised to the owners of the data.", _rpo),
    Check("rto", _THEME, "This is what was promised to the users.", _rto),
    Check("drilled", _THEME, "What was never rehearsed does not work at 4 a.m.", _drilled),
)
