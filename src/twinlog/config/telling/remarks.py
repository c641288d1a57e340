"""What is worth saying about the keys of a link: old names, refusals, combinations. Runs while it is resolved.

Where MirrorMaker 2 refuses a combination that makes sense here, the remark says so: the file is no longer one that
MirrorMaker 2 would start with.
"""

from __future__ import annotations

from typing import Any

from twinlog.config.text import catalogue as keys
from twinlog.config.text.keys import Key
from twinlog.config.text.lookup import LinkLookup
from twinlog.config.text.precedence import link_keys


def remark(at: LinkLookup) -> None:
    """Note everything about one enabled link."""
    for key in (keys.TOPICS_EXCLUDE, keys.CONFIG_EXCLUDE, keys.GROUPS_EXCLUDE):
        _old_names(at, key)
    for key, things in ((keys.TOPICS, "topic"), (keys.GROUPS, "group")):
        entry = at.entry(key)
        if entry is not None and not at.value(key):
            sentence = f"empty, selects no {things} at all; `{key.name} = .*` selects every {things}"
            at.lookup.note("warning", entry, sentence)
    _defaults_from(at)
    _emits(at)


def _old_names(at: LinkLookup, key: Key[Any]) -> None:
    counts = at.entry(key)
    for spelling in (spelling for old in key.old_names for spelling in link_keys(at.link, old)):
        entry = at.lookup.entries.get(spelling)
        if entry is not None and entry is counts:
            at.lookup.note("info", entry, f"old name, which MirrorMaker 2 4.0 no longer reads; write {key.name}")
        elif entry is not None and counts is not None:
            at.lookup.note("warning", entry, f"old name, loses to {counts.key} in line {counts.line}")


def _defaults_from(at: LinkLookup) -> None:
    entry = at.entry(keys.USE_DEFAULTS_FROM)
    if entry is not None and entry.key == keys.USE_DEFAULTS_FROM.name:
        own = f"{at.link}.{keys.USE_DEFAULTS_FROM.name}"
        at.lookup.note("warning", entry, f"counts for every link here; MirrorMaker 2 ignores it and reads only {own}")


def _emits(at: LinkLookup) -> None:
    refuses = "MirrorMaker 2 refuses this for an enabled link; here it is in order"
    if not at.value(keys.EMIT_CHECKPOINTS):
        why = "group positions come from the ledger, only the checkpoints topic is not written"
        at.lookup.note("info", at.entry(keys.EMIT_CHECKPOINTS), f"{refuses}: {why}")
    if at.value(keys.EMIT_OFFSET_SYNCS):
        return
    if at.value(keys.EMIT_CHECKPOINTS):
        why = "checkpoints come from the ledger, not from offset-syncs"
        at.lookup.note("info", at.entry(keys.EMIT_OFFSET_SYNCS), f"{refuses}: {why}")
    for key in (keys.OFFSET_SYNCS_LOCATION, keys.OFFSET_SYNCS_REPLICAS, keys.OFFSET_LAG_MAX):
        entry = at.entry(key)
        if entry is not None:
            off = keys.EMIT_OFFSET_SYNCS.name
            at.lookup.note("warning", entry, f"no effect: {off} is false, so there are no offset-syncs")
