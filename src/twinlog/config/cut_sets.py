"""The cut sets of a link: topics that applications read and write together. Runs with `resolve`.

A->B.cut.sets = payments
A->B.cut.sets.payments.topics = payment-requests, payments
"""

from __future__ import annotations

from twinlog.config.text import catalogue as keys
from twinlog.config.text.families import note_leftovers
from twinlog.config.text.keys import Key, Scope
from twinlog.config.text.lookup import LinkLookup
from twinlog.config.text.values import Regexes
from twinlog.model.groups.cut_sets import CutSet
from twinlog.model.selection import Patterns


def resolve_cut_sets(at: LinkLookup) -> tuple[CutSet, ...]:
    """Read them all; what is written but not understood is noted."""
    listed = at.value(keys.CUT_SETS)
    names = tuple(dict.fromkeys(listed))
    sets = tuple(_cut_set(at, name) for name in names)
    note_leftovers(at, keys.CUT_SETS, names, ("topics",))
    return sets


def _cut_set(at: LinkLookup, name: str) -> CutSet:
    key = f"{keys.CUT_SETS.name}.{name}.topics"
    topics = at.optional(Key(key, (Scope.LINK,), Regexes(), None, "", own=True))
    if not topics:
        at.lookup.note("error", at.entry(keys.CUT_SETS), f"{name} has no topics; write {at.link}.{key}")
    return CutSet(name, Patterns(topics or ()))
