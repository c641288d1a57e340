"""Bringing schemas home: what the away datacenter wrote while it was promoted, merged into the home's. Pure.

    base (the cut) ─┬─▶ home: what it wrote after the cut and could not send any more
                    └─▶ away: what it wrote after it was promoted          merge = records to write at home

A record before the cut is in the base; one behind it was written since. Offsets survive compaction, so the base itself
need not be kept. Nothing at home is overwritten: a place that both sides filled keeps the home's schema, and the away
one becomes the next version there, under its own id. So every id that the away side gave resolves at home afterwards.
What was deleted for good on one side since the cut does not come back. The link carries the home's topic to the away
side from the cut on; afterwards both are equal.
"""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Literal

from twinlog.registry.content import Content
from twinlog.registry.pair.home import HOME_SUBJECT, returned
from twinlog.registry.records import (
    CONFIG,
    MODE,
    SCHEMA,
    LogicalKey,
    Record,
    SchemaValue,
    config_record,
    context_record,
    mode_record,
    schema_record,
)
from twinlog.registry.schemas.schema import Reference
from twinlog.registry.state import MARK, MARKS_SUBJECT, Entry, State
from twinlog.registry.subject_names import beside, context_of

Kind = Literal[
    "one id, two schemas",
    "one schema, two ids",
    "one version, two schemas",
    "settings changed on both sides",
    "deleted at home",
    "deleted away, used at home",
]


@dataclass(frozen=True, slots=True)
class Conflict:
    """What both sides did with one thing, and what became of it."""

    kind: Kind
    what: str
    outcome: str

    def __str__(self) -> str:
        return f"{self.what}: {self.kind}; {self.outcome}"


@dataclass(frozen=True, slots=True)
class Cut:
    """Where both logs were equal: offsets before these are in the base."""

    home: int
    away: int


@dataclass
class Merge:
    """Records to be written at home, in order, and what was in conflict."""

    records: list[Record] = field(default_factory=list)
    conflicts: list[Conflict] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)


def merge(home: State, away: State, cut: Cut, cluster: str) -> Merge:
    """What is to be written at home. Nothing when everything is home already: a repeated merge ends the same way."""
    if away.home is None or (home.home is not None and home.home.term > away.home.term):
        return Merge()
    return _Merging(home, away, cut).run(cluster)


def bring_ahead(home: State, away: State) -> Merge:
    """What is to be written at home while the away side is still promoted: versions whose ids only it can have given.

    All else waits for the merge. From the first such record on the topic says that the schemas are the away side's.
    """
    said = away.home
    if said is None or (home.home is not None and home.home.term > said.term):
        return Merge()
    merging = _Merging(home, away, Cut(0, 0))
    merging.bring({number for number in merging.own_ids() if not home.holders(*number)})
    result = merging.result
    if result.records and (home.home is None or home.home.term < said.term):
        result.records.insert(0, said.record())
    return result


@dataclass
class _Merging:
    home: State
    away: State
    cut: Cut
    result: Merge = field(default_factory=Merge)
    _next: dict[str, int] = field(default_factory=dict)  # versions that this merge adds behind the home's
    _ids: dict[tuple[str, int], str] = field(default_factory=dict)  # ids that this merge writes, with their text
    _moved: dict[tuple[str, int], int] = field(default_factory=dict)  # away places that got another version at home
    _used: set[tuple[str, int]] = field(default_factory=set)  # home places that stand for what is away
    _contexts: set[str] = field(default_factory=set)
    _written: set[tuple[str, int]] = field(default_factory=set)  # places
    _removed: set[tuple[str, int]] = field(default_factory=set)

    def run(self, cluster: str) -> Merge:
        self.bring()
        self._delete()
        self._level()
        self._settings()
        highest = {name: max(self.home.max_id(name), self.away.max_id(name)) for name in self._all_contexts()}
        self._marks(highest)
        if self.away.home is not None:
            self.result.records.append(returned(cluster, self.away.home, highest).record())
        return self.result

    # --- versions ---

    def own_ids(self) -> set[tuple[str, int]]:
        """Ids that nobody but the away side gave: those above its floor."""
        return {
            (name, number)
            for name, held in self.away.contexts.items()
            for number in held.ids
            if self._is_own(name, number)
        }

    def _is_own(self, context: str, number: int) -> bool:
        return self.away.home is not None and number > self.away.home.floor(context)

    def bring(self, only: Collection[tuple[str, int]] | None = None) -> None:
        """Bring the versions of these ids; of all when none are named."""
        entries = [entry for versions in self.away.subjects.values() for entry in versions.values()]
        # What others refer to was written before them, and is not written again while they do.
        for entry in sorted(entries, key=lambda entry: entry.offset):
            if only is None or (context_of(entry.subject), entry.id) in only:
                self._bring(entry)

    def _bring(self, entry: Entry) -> None:
        there = self.home.entry(entry.subject, entry.version)
        if there is not None and there.id == entry.id and there.content.text == entry.content.text:
            self._flag(there, entry)
            return
        mine = self.home.holders(context_of(entry.subject), entry.id).get(entry.subject)
        if mine is not None and mine.content.text == entry.content.text and (entry.deleted or not mine.deleted):
            # Under another version: by an earlier run, because its place was taken, or registered again away.
            self._moved[entry.subject, entry.version] = mine.version
            self._used.add((mine.subject, mine.version))
            self._flag(mine, entry)
            return
        if self._is_gone_at_home(entry):
            outcome = "it stays deleted"
            self.result.conflicts.append(Conflict("deleted at home", _named(entry), outcome))
            return
        if there is None:
            self._put(entry, entry.version)
        else:
            self._beside(there, entry)

    def _flag(self, there: Entry, entry: Entry) -> None:
        """A soft delete since the cut counts, on whichever side it was."""
        if entry.deleted and not there.deleted and entry.changed >= self.cut.away:
            self._write(there.subject, there.version, there.id, there.content, deleted=True)
            self.result.counts["deleted"] += 1

    def _is_gone_at_home(self, entry: Entry) -> bool:
        if entry.offset < self.cut.away:
            return True  # it was in the base, and the home has it no longer
        floor = self.away.home.floor(context_of(entry.subject)) if self.away.home else 0
        known = self.home.holders(context_of(entry.subject), entry.id)
        # Written again because it was soft-deleted: versions do not change otherwise.
        return entry.deleted and entry.id <= floor and not known

    def _beside(self, there: Entry, entry: Entry) -> None:
        version = self._next.get(entry.subject, max(self.home.subjects.get(entry.subject, {0: None}))) + 1
        version = max(version, max(self.away.subjects[entry.subject]) + 1)
        kind: Kind = "one version, two schemas"
        if there.content.text == entry.content.text:
            kind = "one schema, two ids"
        if self._put(entry, version):
            self._next[entry.subject] = version
            self._moved[entry.subject, entry.version] = version
            outcome = f"the home keeps id {there.id}, id {entry.id} is version {version}"
            self.result.conflicts.append(Conflict(kind, _named(entry), outcome))

    def _put(self, entry: Entry, version: int) -> bool:
        context, text = context_of(entry.subject), entry.content.text
        holder = next(iter(self.home.holders(context, entry.id).values()), None)
        taken = self._ids.get((context, entry.id)) if holder is None else holder.content.text
        if taken is not None and taken != text:
            outcome = f"id {entry.id} stays the home's; the away schema is not written"
            self.result.conflicts.append(Conflict("one id, two schemas", _named(entry), outcome))
            return False
        other = self.home.id_of(context, entry.content.digest)
        if other is not None and other != entry.id and version == entry.version:
            outcome = f"ids {other} and {entry.id} both stay"
            self.result.conflicts.append(Conflict("one schema, two ids", _named(entry), outcome))
        if context != "." and context not in self.home.named_contexts and context not in self._contexts:
            self._contexts.add(context)
            self.result.records.append(context_record(context))
        self._ids[context, entry.id] = text
        self._write(entry.subject, version, entry.id, self._remapped(entry), deleted=entry.deleted)
        self.result.counts["brought"] += 1
        return True

    def _remapped(self, entry: Entry) -> Content:
        """The content, with references that follow what got another version at home."""
        content = entry.content
        references = [
            Reference(
                reference.name,
                reference.subject,
                self._moved.get((beside(entry.subject, reference.subject), reference.version), reference.version),
            )
            for reference in content.references
        ]
        if references == list(content.references):
            return content
        return Content(content.kind, content.text, references, content.metadata, content.rule_set)

    def _write(self, subject: str, version: int, number: int, content: Content, *, deleted: bool) -> None:
        self._written.add((subject, version))
        self.result.records.append(schema_record(SchemaValue(subject, version, number, content, deleted=deleted)))

    def _delete(self) -> None:
        """What the away side deleted for good, unless the home changed or uses it since the cut."""
        for (subject, version), offset in sorted(self.away.tombstones.items()):
            entry = self.home.entry(subject, version)
            if offset < self.cut.away or entry is None or self.away.entry(subject, version) is not None:
                continue
            if (subject, version) in self._used:
                continue  # the away side registered it again, under another version
            changed = entry.changed >= self.cut.home and not self._is_own(context_of(subject), entry.id)
            if changed or self.home.referrers(subject, version):
                outcome = "it stays, because the home changed or uses it"
                self.result.conflicts.append(Conflict("deleted away, used at home", _named(entry), outcome))
                continue
            for form in self.home.key_forms(LogicalKey(SCHEMA, subject, version)):
                self.result.records.append(Record(form, None))
            self._removed.add((subject, version))
            self.result.counts["removed"] += 1

    def _level(self) -> None:
        """Write once more, unchanged, what the away side lacks or has otherwise: the link carries only what is new."""
        for subject, versions in self.home.subjects.items():
            for version, entry in versions.items():
                place = (subject, version)
                there = self.away.entry(subject, version)
                carried = entry.changed >= self.cut.home or place in self._written or place in self._removed
                if not carried and (there is None or _fact(there) != _fact(entry)):
                    self._write(subject, version, entry.id, entry.content, deleted=entry.deleted)
        for subject, versions in self.away.subjects.items():
            for version in versions:
                if self.home.entry(subject, version) is None and (subject, version) not in self._written:
                    forms = self.away.key_forms(LogicalKey(SCHEMA, subject, version))
                    self.result.records += [Record(form, None) for form in forms]

    # --- settings ---

    def _settings(self) -> None:
        keys = {*self.home.setting_offsets, *self.away.setting_offsets}
        for key in sorted(keys, key=lambda each: (each.kind, each.subject or "")):
            if key.subject in {HOME_SUBJECT, MARKS_SUBJECT}:
                continue
            at_home, away = _setting(self.home, key), _setting(self.away, key)
            if at_home == away or self.away.setting_offsets.get(key, -1) < self.cut.away:
                continue
            if self.home.setting_offsets.get(key, -1) >= self.cut.home:
                what = f"{key.kind.lower()} of {key.subject or 'the default context'}"
                outcome = "the home's settings stay"
                self.result.conflicts.append(Conflict("settings changed on both sides", what, outcome))
                continue
            self.result.records += _setting_records(self.home, key, self.away)
            self.result.counts["settings"] += 1

    def _marks(self, highest: dict[str, int]) -> None:
        """No id that was ever given on either side is given again, also of what is deleted by now."""
        if not self.away.marks and not self.home.marks and not self.result.counts["removed"]:
            return
        properties = {f"{MARK}{name}": str(number) for name, number in sorted(highest.items())}
        self.result.records.append(config_record(MARKS_SUBJECT, {"defaultMetadata": {"properties": properties}}))

    def _all_contexts(self) -> set[str]:
        return {*self.home.contexts, *self.away.contexts, *self.home.marks, *self.away.marks}


def _setting(state: State, key: LogicalKey) -> object:
    return state.configs.get(key.subject) if key.kind == CONFIG else state.modes.get(key.subject)


def _setting_records(home: State, key: LogicalKey, away: State) -> list[Record]:
    config, mode = away.configs.get(key.subject), away.modes.get(key.subject)
    if key.kind == CONFIG and config is not None:
        return [config_record(key.subject, config)]
    if key.kind == MODE and mode is not None:
        return [mode_record(key.subject, mode)]
    return [Record(form, None) for form in home.key_forms(key)]


def _fact(entry: Entry) -> tuple[int, str, bool]:
    return entry.id, entry.content.text, entry.deleted


def _named(entry: Entry) -> str:
    return f"{entry.subject} version {entry.version} (id {entry.id})"
