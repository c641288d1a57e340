"""What the records of `_schemas` add up to: subjects, versions, ids, settings. Pure: no I/O, no clock.

The same records in the same order give the same state, whoever wrote them and whatever compaction removed of them. A
record that cannot be understood, or that gives one id to two schemas, changes nothing and is returned as a fault.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from twinlog.registry import records as rec
from twinlog.registry.content import Content
from twinlog.registry.pair.home import HOME_SUBJECT, Home, home_of, later
from twinlog.registry.records import BadRecord, LogicalKey
from twinlog.registry.subject_names import beside, context_of, matches, split

MARKS_SUBJECT: Final = ":.__twinlog:"
"""A CONFIG record under this name keeps the highest id of each context, so that no id is given twice after the records
of the highest ones were deleted and compacted away. Other registries read it as the settings of an unused context."""
MARK: Final = "maxId:"


class Entry:
    """One version of one subject."""

    __slots__ = ("changed", "content", "deleted", "id", "offset", "subject", "ts", "version")

    def __init__(
        self, subject: str, version: int, schema_id: int, content: Content, *, deleted: bool, offset: int, ts: int
    ) -> None:
        self.subject = subject
        self.version = version
        self.id = schema_id
        self.content = content
        self.deleted = deleted
        self.offset = offset
        self.changed = offset  # where it was last changed: written, or deleted with its subject
        self.ts = ts


@dataclass(frozen=True, slots=True)
class RecordFault:
    """A record that was left out, and why."""

    offset: int
    key: str
    reason: str


@dataclass(slots=True)
class ContextState:
    """The ids of one context."""

    ids: dict[int, dict[str, Entry]] = field(default_factory=dict)  # id -> subject -> its newest version with that id
    by_digest: dict[bytes, int] = field(default_factory=dict)
    max_id: int = 0


class State:
    """Everything that the registry knows. `revision` changes with every change."""

    def __init__(self) -> None:
        self.subjects: dict[str, dict[int, Entry]] = {}
        self.contexts: dict[str, ContextState] = {}
        self.named_contexts: dict[str, None] = {}  # those with a CONTEXT record
        self.configs: dict[str | None, dict[str, Any]] = {}
        self.modes: dict[str | None, str] = {}
        self.marks: dict[str, int] = {}
        self.home: Home | None = None
        """The cluster that these schemas belong to; None while the topic does not say."""
        self.tombstones: dict[tuple[str, int], int] = {}
        """Versions that were deleted for good, and where; compaction forgets them in time."""
        self.setting_offsets: dict[LogicalKey, int] = {}
        """Where settings and modes were last written."""
        self.deletions: set[str] = set()  # subjects with a DELETE_SUBJECT record
        self.revision = 0
        self.settings_revision = 0
        self.removals = 0
        """Changes with every permanent removal: forms of a schema that were resolved before may be outdated."""
        self._contents: dict[bytes, Content] = {}
        self._references: dict[tuple[str, int], set[tuple[str, int]]] = {}  # referenced -> live referrers
        self._forms: dict[LogicalKey, set[bytes]] = {}

    # --- changing -------------------------------------------------------------------------------------------------

    def apply(self, key: bytes | None, value: bytes | None, offset: int, ts: int) -> RecordFault | None:
        """Take one record. Never raises for what a record holds."""
        self.revision += 1
        try:
            logical = rec.plain_schema_key(key)
            if logical is None:
                logical = rec.decode_key(key)
                self._note_form(logical, key or b"")
            return self._take(logical, value, offset, ts)
        except BadRecord as wrong:
            return RecordFault(offset, _shown(key), str(wrong))

    def _take(self, key: LogicalKey, value: bytes | None, offset: int, ts: int) -> RecordFault | None:
        if key.kind == rec.SCHEMA:
            if value is None:
                self.tombstones[key.subject or "", key.version] = offset
                self._remove(key.subject or "", key.version)
                return None
            return self._put(key, rec.decode_schema(value), offset, ts)
        if key.kind in {rec.CONFIG, rec.MODE}:
            self.setting_offsets[key] = offset
        if key.kind == rec.CONFIG:
            self.settings_revision += 1
            self._configure(key.subject, None if value is None else rec.decode_config(value))
        elif key.kind == rec.MODE:
            if value is None:
                self.modes.pop(key.subject, None)
            else:
                self.modes[key.subject] = rec.decode_mode(value)
        elif key.kind == rec.CONTEXT:
            if value is None:
                self.named_contexts.pop(key.subject or "", None)
            else:
                self.named_contexts[key.subject or ""] = None
        elif key.kind == rec.DELETE_SUBJECT:
            self._delete_up_to(key.subject or "", None if value is None else rec.decode_delete(value), offset)
        elif key.kind == rec.CLEAR_SUBJECT and value is not None:
            self._clear(key.subject)
        return None

    def _put(self, key: LogicalKey, schema: rec.SchemaValue, offset: int, ts: int) -> RecordFault | None:
        if (schema.subject, schema.version) != (key.subject, key.version):
            named = f"the value is of {schema.subject} version {schema.version}"
            return RecordFault(offset, f"{key.subject} version {key.version}", named)
        context = self.contexts.setdefault(context_of(schema.subject), ContextState())
        holders = context.ids.get(schema.id)
        if holders:
            other = next(iter(holders.values()))
            same_place = (other.subject, other.version) == (schema.subject, schema.version) and len(holders) == 1
            if other.content.text != schema.content.text and not same_place:
                where = f"{schema.subject} version {schema.version}"
                reason = f"id {schema.id} belongs to another schema, that of {other.subject} version {other.version}"
                return RecordFault(offset, where, reason)
        self._withdraw(schema.subject, schema.version)
        content = self._contents.setdefault(schema.content.digest, schema.content)
        entry = Entry(schema.subject, schema.version, schema.id, content, deleted=schema.deleted, offset=offset, ts=ts)
        self.subjects.setdefault(schema.subject, {})[schema.version] = entry
        context.ids.setdefault(schema.id, {})[schema.subject] = entry
        context.by_digest[content.digest] = schema.id
        context.max_id = max(context.max_id, schema.id)
        if not schema.deleted:
            self._refer(entry)
        return None

    def _withdraw(self, subject: str, version: int) -> Entry | None:
        """Take a version out of all indexes but its place in the subject."""
        entry = self.subjects.get(subject, {}).get(version)
        if entry is None:
            return None
        self._refer_no_more(entry)
        context = self.contexts[context_of(subject)]
        holders = context.ids.get(entry.id)
        if holders is not None and holders.get(subject) is entry:
            del holders[subject]
            for other in self.subjects[subject].values():
                if other is not entry and other.id == entry.id:
                    holders[subject] = other
            if not holders:
                del context.ids[entry.id]
        return entry

    def _remove(self, subject: str, version: int) -> None:
        entry = self._withdraw(subject, version)
        if entry is None:
            return
        self.removals += 1
        versions = self.subjects[subject]
        del versions[version]
        if not versions:
            del self.subjects[subject]
        if not any(
            entry.content.digest in context.by_digest and context.by_digest[entry.content.digest] in context.ids
            for context in self.contexts.values()
        ):
            self._contents.pop(entry.content.digest, None)
            for context in self.contexts.values():
                context.by_digest.pop(entry.content.digest, None)

    def _delete_up_to(self, subject: str, version: int | None, offset: int) -> None:
        if version is None:
            self.deletions.discard(subject)
            return
        self.deletions.add(subject)
        for number, entry in self.subjects.get(subject, {}).items():
            if number <= version and not entry.deleted:
                entry.deleted, entry.changed = True, offset
                self._refer_no_more(entry)

    def _clear(self, scope: str | None) -> None:
        gone = [
            (subject, version)
            for subject, versions in self.subjects.items()
            if matches(scope, subject)
            for version, entry in versions.items()
            if entry.deleted
        ]
        for subject, version in gone:
            self._remove(subject, version)

    def _configure(self, subject: str | None, config: dict[str, Any] | None) -> None:
        if subject == HOME_SUBJECT:
            self.home = later(self.home, home_of(config))
        elif subject == MARKS_SUBJECT:
            properties = ((config or {}).get("defaultMetadata") or {}).get("properties") or {}
            for name, value in properties.items():
                if name.startswith(MARK) and str(value).isdecimal():
                    context = name.removeprefix(MARK)
                    self.marks[context] = max(self.marks.get(context, 0), int(value))
        elif config is None:
            self.configs.pop(subject, None)
        else:
            self.configs[subject] = config

    def _refer(self, entry: Entry) -> None:
        for reference in entry.content.references:
            target = (beside(entry.subject, reference.subject), reference.version)
            self._references.setdefault(target, set()).add((entry.subject, entry.version))

    def _refer_no_more(self, entry: Entry) -> None:
        for reference in entry.content.references:
            target = (beside(entry.subject, reference.subject), reference.version)
            users = self._references.get(target)
            if users is not None:
                users.discard((entry.subject, entry.version))
                if not users:
                    del self._references[target]

    def _note_form(self, logical: LogicalKey, key: bytes) -> None:
        if key != rec.encode_key(logical):
            self._forms.setdefault(logical, set()).add(key)

    def follow_on(self, before: "State") -> None:
        """Take the place of another state: answers that were prepared from that one do not hold any more."""
        self.revision += before.revision + 1
        self.settings_revision += before.settings_revision + 1
        self.removals += before.removals + 1

    # --- asking ---------------------------------------------------------------------------------------------------

    def key_forms(self, logical: LogicalKey) -> list[bytes]:
        """Every byte form under which a key was seen, today's first: a tombstone must remove them all."""
        return [rec.encode_key(logical), *sorted(self._forms.get(logical, ()))]

    def entry(self, subject: str, version: int) -> Entry | None:
        return self.subjects.get(subject, {}).get(version)

    def versions(self, subject: str, *, deleted: bool = False) -> list[Entry]:
        """Versions of a subject, oldest first."""
        versions = self.subjects.get(subject)
        if not versions:
            return []
        return [versions[number] for number in sorted(versions) if deleted or not versions[number].deleted]

    def latest(self, subject: str) -> Entry | None:
        versions = self.subjects.get(subject, {})
        return max((e for e in versions.values() if not e.deleted), key=lambda e: e.version, default=None)

    def has_subject(self, scope: str, *, deleted: bool = False) -> bool:
        """Whether there is a version of a subject, or of any subject of a context."""
        versions = self.subjects.get(scope)
        if versions is not None:
            return deleted or any(not entry.deleted for entry in versions.values())
        if split(scope).subject:
            return False
        return any(matches(scope, name) for name in self.names(deleted=deleted))

    def names(self, *, deleted: bool = False) -> Iterator[str]:
        for name, versions in self.subjects.items():
            if deleted or any(not entry.deleted for entry in versions.values()):
                yield name

    def holders(self, context: str, schema_id: int) -> dict[str, Entry]:
        """Subjects that have an id, with their newest version of it."""
        known = self.contexts.get(context)
        return {} if known is None else known.ids.get(schema_id, {})

    def id_of(self, context: str, digest: bytes) -> int | None:
        """The id of a content in a context, while a version holds it."""
        known = self.contexts.get(context)
        schema_id = None if known is None else known.by_digest.get(digest)
        return schema_id if known is not None and schema_id is not None and schema_id in known.ids else None

    def referrers(self, subject: str, version: int) -> list[Entry]:
        """Live versions that use this one."""
        users = self._references.get((subject, version), ())
        return [entry for user in users if (entry := self.entry(*user)) is not None]

    def max_id(self, context: str) -> int:
        """The highest id that was ever given in a context, as far as the topic tells."""
        known = self.contexts.get(context)
        return max(0 if known is None else known.max_id, self.marks.get(context, 0))

    def context_names(self) -> list[str]:
        return sorted(self.named_contexts)

    @property
    def schema_count(self) -> int:
        return sum(len(versions) for versions in self.subjects.values())

    @property
    def content_count(self) -> int:
        return len(self._contents)


def _shown(key: bytes | None) -> str:
    return "no key" if key is None else key[:200].decode("utf-8", "replace")
