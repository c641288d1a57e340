"""The objectives of a link, named like Connect's transforms. Runs with `resolve`.

A list of names, then keys for each; the first name whose topics match counts for a topic:

    A->B.rpo.seconds = 60                              for every topic that no name takes
    A->B.objectives = payments, logs
    A->B.objectives.payments.topics = pay.*, orders
    A->B.objectives.payments.rpo.seconds = 5
"""

from __future__ import annotations

from twinlog.config.text import catalogue as keys
from twinlog.config.text.families import note_leftovers
from twinlog.config.text.keys import Key, Scope
from twinlog.config.text.lookup import LinkLookup
from twinlog.config.text.values import Regexes, Whole
from twinlog.model.health.objectives import EVERYTHING_ELSE, Objective, Objectives
from twinlog.model.selection import Patterns

_FAMILY = keys.OBJECTIVE_KEYS.name[:-1]
_PARTS = ("topics", keys.RPO_SECONDS.name, keys.RTO_SECONDS.name)


def resolve_objectives(at: LinkLookup) -> Objectives:
    """Read them all; what is written but not understood is noted."""
    listed = at.value(keys.OBJECTIVES)
    names = tuple(dict.fromkeys(listed))
    otherwise = Objective(
        EVERYTHING_ELSE, Patterns((".*",)), at.optional(keys.RPO_SECONDS), at.optional(keys.RTO_SECONDS)
    )
    named = tuple(_objective(at, name) for name in names)
    note_leftovers(at, keys.OBJECTIVES, names, _PARTS)
    return Objectives(named, otherwise)


def _objective(at: LinkLookup, name: str) -> Objective:
    topics = at.optional(Key(f"{_FAMILY}{name}.topics", (Scope.LINK,), Regexes(), None, "", own=True))
    rpo, rto = (at.optional(_seconds(f"{_FAMILY}{name}.{part}")) for part in _PARTS[1:])
    if not topics:
        listed = at.entry(keys.OBJECTIVES)
        at.lookup.note("error", listed, f"{name} has no topics; write {at.link}.{_FAMILY}{name}.topics")
    elif rpo is None and rto is None:
        listed = at.entry(keys.OBJECTIVES)
        at.lookup.note("warning", listed, f"{name} sets neither {_PARTS[1]} nor {_PARTS[2]}")
    return Objective(name, Patterns(topics or ()), rpo, rto)


def _seconds(name: str) -> Key[int]:
    return Key(name, (Scope.LINK,), Whole(1), None, "", own=True)
