"""What the page shows of a registry: its subjects with where else they are, and the versions of one. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from twinlog.registry.pair.index import Place
from twinlog.registry.pair.site import Site
from twinlog.registry.schemas.java_order import by_units
from twinlog.registry.scopes import config_in_scope, mode_in_scope
from twinlog.registry.state import Entry, State
from twinlog.surface.page.schema_diff import Line, readable, side_by_side


class SubjectRow(BaseModel):
    """One subject. `elsewhere` names what is not the same in another cluster; empty where all is equal."""

    subject: str
    kind: str
    versions: int
    latest: int
    id: int
    level: str
    mode: str
    elsewhere: str


@dataclass(frozen=True)
class Compared:
    """Two versions of a subject, or one alone."""

    left: Entry | None
    right: Entry
    lines: list[Line]

    @property
    def differences(self) -> int:
        return sum(line.kind in {"changed", "removed", "added"} for line in self.lines)


def subject_rows(state: State, default_level: str, sites: Sequence[Site]) -> list[SubjectRow]:
    """Live subjects by name."""
    rows: list[SubjectRow] = []
    for name in sorted(state.subjects, key=by_units):
        entries = state.versions(name)
        if not entries:
            continue
        last = entries[-1]
        rows.append(
            SubjectRow(
                subject=name,
                kind=last.content.kind,
                versions=len(entries),
                latest=last.version,
                id=last.id,
                level=config_in_scope(state, name, default_level)["compatibilityLevel"],
                mode=mode_in_scope(state, name),
                elsewhere=_elsewhere(entries, sites),
            )
        )
    return rows


def _elsewhere(entries: Sequence[Entry], sites: Sequence[Site]) -> str:
    told: list[str] = []
    for site in sites:
        if site.index is None:
            continue
        held = [site.index.places.get(Place(entry.subject, entry.version)) for entry in entries]
        missing = sum(entry is None for entry in held)
        other = sum(
            other_entry is not None and other_entry.id != entry.id
            for other_entry, entry in zip(held, entries, strict=True)
        )
        if missing:
            told.append(f"{missing} missing in {site.cluster}")
        if other:
            told.append(f"{other} with another id in {site.cluster}")
    return ", ".join(told)


def compared(state: State, subject: str, left: int | None, right: int | None) -> Compared | None:
    """Two versions; without numbers the newest and the one before. None when there is no such subject or version."""
    entries = {entry.version: entry for entry in state.versions(subject, deleted=True)}
    if not entries:
        return None
    live = [number for number, entry in entries.items() if not entry.deleted] or list(entries)
    newer = entries.get(live[-1] if right is None else right)
    before = [number for number in live if newer is not None and number < newer.version]
    older = entries.get(left) if left is not None else (entries[before[-1]] if before else None)
    if newer is None:
        return None
    new = readable(newer.content.kind, newer.content.text)
    old = new if older is None else readable(older.content.kind, older.content.text)
    return Compared(older, newer, side_by_side(old, new))
