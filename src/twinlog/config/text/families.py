"""Families of keys, named like Connect's transforms: a list of names, then `family.NAME.part` for each.

Runs with `resolve`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from twinlog.config.text.keys import Key
from twinlog.config.text.lookup import LinkLookup


def note_leftovers(at: LinkLookup, listed: Key[Any], names: Sequence[str], parts: Sequence[str]) -> None:
    """Report every key of a family that nobody reads: it would be a promise that nobody keeps."""
    family = f"{listed.name}."
    own = f"{at.link}.{family}"
    for key, entry in _entries(at, own, family):
        name, _, part = key.partition(".")
        if part not in parts:
            at.lookup.note("warning", entry, f"unknown and ignored; after the name comes {', '.join(parts)}")
        elif entry.key.startswith(own) and name not in names:
            at.lookup.note("warning", entry, f"ignored: `{at.link}.{listed.name}` does not list {name}")


def _entries(at: LinkLookup, own: str, family: str) -> Iterator[tuple[str, Any]]:
    for key, entry in at.lookup.entries.items():
        for prefix in (own, family):
            if key.startswith(prefix):
                yield key[len(prefix) :], entry
