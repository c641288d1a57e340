"""Registering a schema: from the request to the id, the version and the records, in Confluent's order of decisions."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from twinlog.registry import refusals
from twinlog.registry.bodies import registered
from twinlog.registry.compatibility_check import Version, problems
from twinlog.registry.content import ENCRYPTED_PROPERTY, Content
from twinlog.registry.lookup import find, inherited, is_same
from twinlog.registry.parsing import Canonical, Parser, how_to_read
from twinlog.registry.records import SCHEMA, LogicalKey, Record, SchemaValue, context_record, schema_record
from twinlog.registry.requests import SchemaRequest
from twinlog.registry.rules import Rules
from twinlog.registry.scopes import IMPORTING, READ_ONLY, config_in_scope, mode_in_scope
from twinlog.registry.state import Entry, State
from twinlog.registry.subject_names import DEFAULT, context_of, split
from twinlog.registry.writes.round import LARGEST, CheckAgain, Plan, Round

Stamp = tuple[object, ...]
_SLOW_TEXT = 16_384
_SLOW_WORDS = ("oneOf", "anyOf", "allOf", "$ref")


def known(
    state: State, parser: Parser, rules: Rules, request: SchemaRequest, *, normalize: bool
) -> dict[str, Any] | None:
    """The answer for a schema that the subject has already: any instance gives it, in any mode, without a leader."""
    config = config_in_scope(state, request.subject, rules.default_level)
    if any(config.get(name) is not None for name in _POPULATING):
        return None
    latest = request.version == -1
    how = how_to_read(state, request, rules, normalize=normalize, new=False)
    hit = find(state, parser, request, how, deleted=False, latest_only=latest)
    if hit is None:
        return None
    entry = hit.entry
    if request.version in {0, -1}:
        if request.id >= 0 and request.id != entry.id:
            return None
    elif entry.id != request.id:
        return None
    elif entry.version != request.version:
        older = state.entry(request.subject, request.version)
        if older is None or older.deleted or older.id != entry.id or older.content != entry.content:
            return None
        return registered(older.id, older.version, older.content, of=older)
    return registered(entry.id, entry.version, entry.content, of=None if hit.exact else entry)


_POPULATING = ("defaultMetadata", "overrideMetadata", "defaultRuleSet", "overrideRuleSet")


@dataclass
class Register:
    """One registration. `normalize` is what the request or the settings of the subject say."""

    request: SchemaRequest
    normalize: bool
    parser: Parser
    rules: Rules
    alone: bool = False
    _checked: tuple[Stamp, list[str]] | None = field(default=None, repr=False)

    # --- before the round: what may take long ------------------------------------------------------------------------

    def is_slow(self, state: State) -> bool:
        """Whether its checks should not be run between other requests."""
        text = self.request.text or ""
        if len(text) > _SLOW_TEXT:
            return True
        if (self.request.kind or "AVRO") == "AVRO":
            return len(state.subjects.get(self.request.subject, ())) > 20
        return any(word in text for word in _SLOW_WORDS) and self.request.subject in state.subjects

    def question(self, state: State) -> tuple[Stamp, Mapping[str, Any], Version, list[Version]] | None:
        """What the compatibility check has to decide; None where there is nothing to check. Raises Refusal."""
        self._check_mode(state)
        config = config_in_scope(state, self.request.subject, self.rules.default_level)
        request = self._populated(state, config)
        wanted = self._canonical(state, request)
        if mode_in_scope(state, request.subject) in IMPORTING:
            return None
        return self._stamp(state, config), *self._versions(state, config, wanted)

    def decided(self, stamp: Stamp, problems: list[str]) -> None:
        """What the check found; it holds while the stamp does."""
        self._checked = (stamp, problems)

    # --- in the round ------------------------------------------------------------------------------------------------

    def plan(self, state: State, current: Round) -> Plan:
        """Records and answer. Raises Refusal, NextRound or CheckAgain."""
        request = self.request
        subject, context = request.subject, context_of(request.subject)
        current.take_subject(subject)
        self._check_mode(state)
        config = config_in_scope(state, subject, self.rules.default_level)
        importing = mode_in_scope(state, subject) in IMPORTING
        request = self._populated(state, config)
        wanted = self._canonical(state, request)
        content = wanted.content
        schema_id = self._id_of_content(state, current, context, content)
        if request.version == 0 and (had := self._had(state, wanted, schema_id)) is not None:
            return Plan([], registered(had.id, had.version, content))
        if not importing and (reasons := self._problems(state, config, wanted)):
            raise refusals.incompatible(subject, reasons, self.rules.incompatible_code)
        version = self._version(state, importing=importing)
        if schema_id >= 0:
            self._check_id(state, current, context, schema_id, content)
        else:
            schema_id = current.next_id(state, context)
        if importing:
            self._check_place(state, version, content)
        records = self._records(state, current, version, schema_id, content)
        current.subjects.add(subject)
        current.note(context, schema_id, content.digest)
        return Plan(records, registered(schema_id, version, content))

    def _records(self, state: State, current: Round, version: int, schema_id: int, content: Content) -> list[Record]:
        subject = self.request.subject
        context = context_of(subject)
        records: list[Record] = []
        if context != DEFAULT and context not in state.named_contexts and context not in current.contexts:
            current.contexts.add(context)
            records.append(context_record(context))
        for entry in state.versions(subject, deleted=True):
            if entry.deleted and entry.id == schema_id and entry.version < version:
                forms = state.key_forms(LogicalKey(SCHEMA, subject, entry.version))
                records += [Record(form, None) for form in forms]
        written = schema_record(SchemaValue(subject, version, schema_id, content, deleted=False))
        if len(written.key) + len(written.value or b"") > self.rules.most_bytes:
            raise refusals.too_large()
        return [*records, written]

    # --- the decisions -----------------------------------------------------------------------------------------------

    def _check_mode(self, state: State) -> None:
        subject = self.request.subject
        mode, where = mode_in_scope(state, subject), f"Subject {subject} in context {split(subject).scope}"
        if mode in READ_ONLY:
            raise refusals.not_permitted(f"{where} is in read-only mode")
        if self.request.id >= 0 and mode not in IMPORTING:
            raise refusals.not_permitted(f"{where} is not in import mode")
        if self.request.id < 0 and mode != "READWRITE":
            raise refusals.not_permitted(f"{where} is not in read-write mode")

    def _populated(self, state: State, config: Mapping[str, Any]) -> SchemaRequest:
        request = self.request
        previous = state.latest(request.subject)
        if mode_in_scope(state, request.subject) in IMPORTING:
            if request.is_blank:
                raise refusals.invalid_schema("Empty schema")
            self._check_sensitive(request)
            return request
        if request.is_blank:
            if previous is None:
                raise refusals.invalid_schema("Empty schema")
            old = previous.content
            request = replace(request, text=old.text, kind=old.kind, references=old.references)
        populated = inherited(config, request, previous, self._next_version(state))
        self._check_sensitive(populated)
        return populated

    def _check_sensitive(self, request: SchemaRequest) -> None:
        """What its owner wants encrypted must not be written in plain, nor what is encrypted a second time."""
        metadata = request.metadata
        if metadata is None or not metadata.sensitive or not metadata.properties:
            return
        if self.rules.encrypts or ENCRYPTED_PROPERTY in metadata.properties:
            raise refusals.not_permitted(
                f"Subject {request.subject}: sensitive metadata cannot be encrypted here. Register it without "
                "`sensitive`, or remove metadata.encoder.secret from the registry's file."
            )

    def _canonical(self, state: State, request: SchemaRequest) -> Canonical:
        how = how_to_read(state, request, self.rules, normalize=self.normalize)
        return self.parser.of_request(state, request, how)

    def _id_of_content(self, state: State, current: Round, context: str, content: Content) -> int:
        """The id that was asked for, or the one that the content has in this context; -1 for none."""
        asked = self.request.id
        known_id = current.digests.get((context, content.digest))
        if known_id is None:
            known_id = state.id_of(context, content.digest)
        return known_id if known_id is not None and asked in {-1, known_id} else asked

    def _had(self, state: State, wanted: Canonical, schema_id: int) -> Entry | None:
        """The live version of the subject that this schema is."""
        subject, content = self.request.subject, wanted.content
        if schema_id >= 0:
            entry = state.holders(context_of(subject), schema_id).get(subject)
            if entry is not None and not entry.deleted and entry.content.digest == content.digest:
                return entry
        for entry in state.versions(subject)[::-1]:
            if (schema_id < 0 or schema_id == entry.id) and is_same(state, self.parser, wanted, entry):
                return entry
        return None

    def _problems(self, state: State, config: Mapping[str, Any], wanted: Canonical) -> list[str]:
        if self._checked is not None and self._checked[0] == self._stamp(state, config):
            return self._checked[1]
        if self.is_slow(state):
            raise CheckAgain
        return problems(*self._versions(state, config, wanted))

    def _versions(
        self, state: State, config: Mapping[str, Any], wanted: Canonical
    ) -> tuple[Mapping[str, Any], Version, list[Version]]:
        live = state.versions(self.request.subject)
        level = config["compatibilityLevel"]
        if not level.endswith("_TRANSITIVE") and config.get("compatibilityGroup") is None:
            live = live[-1:]
        earlier = [Version(self.parser.of_entry(state, entry), entry.content.metadata, entry.version) for entry in live]
        if self.rules.validate_fields and "validateFields" not in config:
            config = {**config, "validateFields": True}
        return config, Version(wanted.schema, wanted.content.metadata), earlier

    def _stamp(self, state: State, config: Mapping[str, Any]) -> Stamp:
        live = tuple((entry.version, entry.id) for entry in state.versions(self.request.subject))
        return live, tuple(sorted((key, repr(value)) for key, value in config.items())), state.removals

    def _next_version(self, state: State) -> int:
        return max(state.subjects.get(self.request.subject, ()), default=0) + 1

    def _version(self, state: State, *, importing: bool) -> int:
        asked, following = self.request.version, self._next_version(state)
        if following > LARGEST and asked <= 0:
            raise refusals.not_permitted(
                f"Subject {self.request.subject} has no version left: {LARGEST} is the largest"
            )
        if asked <= 0:
            return following
        if asked != following and not importing:
            raise refusals.invalid_schema("Version is not one more than previous version")
        return asked

    def _check_id(self, state: State, current: Round, context: str, schema_id: int, content: Content) -> None:
        """One id, one schema."""
        taken = current.ids.get((context, schema_id))
        other = next((e.content.digest for e in state.holders(context, schema_id).values()), taken)
        if other is not None and other != content.digest:
            where = split(self.request.subject).scope
            raise refusals.not_permitted(
                f"Overwrite new schema with id {schema_id} in context {where} is not permitted."
            )

    def _check_place(self, state: State, version: int, content: Content) -> None:
        """An import must not replace a version by another schema: the id of the old one would lead to nothing."""
        there = state.entry(self.request.subject, version)
        if there is not None and not there.deleted and there.content.digest != content.digest:
            where = f"version {version} of subject {self.request.subject}"
            raise refusals.not_permitted(f"Overwrite {where}, which has id {there.id}, is not permitted.")
