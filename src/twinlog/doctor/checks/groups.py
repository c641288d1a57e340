"""Whether consumers will continue where they stopped."""

from __future__ import annotations

from typing import Final

from twinlog.doctor.answers import Answer, Check, fail, known, named, ok, warn
from twinlog.doctor.facts import Facts
from twinlog.model.groups.observed import SHARE
from twinlog.model.health.inspection import TopicFacts
from twinlog.model.naming import HEARTBEATS

_THEME = "groups"
_STALE_MS: Final = 120_000
_LATE_MS: Final = 30_000


def _enabled(facts: Facts) -> Answer:
    if not facts.link.group_offsets.enabled:
        return fail("positions are not written to the target", f"{facts.link.name}.sync.group.offsets.enabled = true")
    return ok(f"every {facts.link.group_offsets.seconds} s")


def _fresh(facts: Facts) -> Answer:
    if not (facts.link.group_offsets.enabled or facts.link.checkpoints.enabled):
        return fail("no link translates positions", f"{facts.link.name}.sync.group.offsets.enabled = true")
    note = facts.notes.get("groups")
    if note is None:
        return fail("positions were never translated", "twinlog run -c FILE   # the engine of the link does it")
    age_s = (facts.now_ms - note.at_ms) / 1000
    if note.trouble:
        return fail(f"the last try failed: {note.trouble}", f"twinlog groups '{facts.link.name}' -c FILE")
    if facts.now_ms - note.at_ms > _STALE_MS:
        return fail(f"last done {age_s:,.0f} s ago", "twinlog run -c FILE   # the engine of the link does it")
    return ok(f"done {age_s:,.0f} s ago")


def _untranslated(facts: Facts) -> Answer:
    note = facts.notes.get("groups")
    if note is None:
        return Answer("unknown", "positions were never translated")
    if note.found:
        return warn(f"{note.found:,} remarks: {named(note.findings)}", f"twinlog groups '{facts.link.name}' -c FILE")
    return ok(f"{note.counts.get('positions', 0):,} positions, each with its place on the target")


def _active(facts: Facts) -> Answer:
    active = [
        name for name, group in known(facts.target.groups).items() if group.active and facts.link.groups.matches(name)
    ]
    both = [name for name in active if name in known(facts.source.groups)]
    if both:
        return warn(
            f"members on the target already: {named(both)}; their positions there are their own",
            f"{facts.target.command('kafka-consumer-groups')} --describe --members --group '{both[0]}'",
        )
    return ok("no mirrored group has members on the target")


def _share(facts: Facts) -> Answer:
    shared = [
        g.name for g in known(facts.source.groups).values() if g.kind == SHARE and facts.link.groups.matches(g.name)
    ]
    if shared:
        return warn(
            f"share groups have no positions that could be translated: {named(shared)}",
            f"plan where they start on the target: kafka-share-groups.sh --reset-offsets --group '{shared[0]}'",
        )
    return ok("every group has positions that can be translated")


def _checkpoints(facts: Facts) -> Answer:
    if not facts.link.checkpoints.enabled:
        return warn("checkpoints are switched off", f"{facts.link.name}.emit.checkpoints.enabled = true")
    name = facts.link.naming.checkpoints_topic(facts.link.source)
    if not isinstance(known(facts.target.topics).get(name), TopicFacts):
        return warn(f"{name} does not exist", "twinlog run -c FILE   # the engine writes it")
    return ok(f"{name} exists")


def _heartbeats(facts: Facts) -> Answer:
    if not facts.link.heartbeats.enabled:
        return warn("heartbeats are switched off", f"{facts.link.name}.emit.heartbeats.enabled = true")
    note = facts.notes.get("heartbeats")
    if not isinstance(known(facts.target.topics).get(HEARTBEATS), TopicFacts) or note is None:
        return warn(f"no {HEARTBEATS} on the target yet", "twinlog run -c FILE   # the engine writes them")
    if note.trouble or facts.now_ms - note.at_ms > _STALE_MS:
        return warn(note.trouble or "the last was written a while ago", "twinlog run -c FILE")
    late = note.counts.get("canary_ms")
    if late is not None and late > _LATE_MS:
        return warn(f"a heartbeat of the source took {late:,} ms", "twinlog status -c FILE")
    return ok("written" + ("" if late is None else f"; one of the source took {late:,} ms"))


CHECKS: Final = (
    Check("group-sync", _THEME, "Without positions every consumer starts anywhere after the switch.", _enabled),
    Check("group-sync-fresh", _THEME, "Old positions are read again from there on.", _fresh),
    Check("group-positions", _THEME, "A group without a position starts by its auto.offset.reset.", _untranslated),
    Check("target-groups-idle", _THEME, "Positions cannot be written to a group that has members.", _active),
    Check("share-groups", _THEME, "Share groups start again on the other side.", _share),
    Check("checkpoints", _THEME, "Java clients translate by them (RemoteClusterUtils).", _checkpoints),
    Check("heartbeats", _THEME, "Clients find the topology by them, and the latency is measured by them.", _heartbeats),
)
