"""Reading keys by their precedence, remembering where each value came from and everything that was wrong.

Runs once, while a file is resolved. Nothing raises here: a wrong value becomes a finding and its default stands in, so
that one pass finds all errors.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

from twinlog.config.security.masking import is_secret
from twinlog.config.security.secrets import MASK, without_login
from twinlog.config.text.keys import Key, Scope
from twinlog.config.text.precedence import Role, client_keys, link_keys
from twinlog.config.text.properties import Entry
from twinlog.config.text.values import ValueRefusedError
from twinlog.errors import Finding
from twinlog.model.names import LinkName

T = TypeVar("T")
_LONGEST_SHOWN = 200


class Origin(NamedTuple):
    """What a setting resolved to, as it may be shown, and the key and line that decided; both None for a default."""

    value: str
    key: str | None
    line: int | None


class Lookup:
    """The entries of one file, with a memory of what was asked."""

    def __init__(self, file: str, entries: Mapping[str, Entry], *, opens_files: bool = True) -> None:
        self.file = file
        # Off: the key stores that a text names are not looked into.
        self.opens_files = opens_files
        # Token endpoints that the service's file lists; None: this text is that file, and has the list itself.
        self.token_urls: tuple[str, ...] | None = None
        self.entries = entries
        # As keys of a dict: a top-level key that is wrong is wrong for every link, and told once.
        self.findings: dict[Finding, None] = {}
        self.asked: set[str] = set()
        # What was read for whom, in the order of reading; None is the link itself.
        self.reads: dict[tuple[LinkName, Role | None, Key[Any]], None] = {}
        self.origins: dict[str, dict[str, Origin]] = {}
        # Files that values came from or should have come from: stores, and those of config providers.
        self.files: set[Path] = set()

    def note(
        self, level: Literal["info", "warning", "error"], entry: Entry | None, sentence: str, key: str | None = None
    ) -> None:
        """Add a finding about an entry, or about a key that is missing."""
        line = None if entry is None else entry.line
        self.findings[Finding(level, self.file, line, key if entry is None else entry.key, sentence)] = None

    def find(self, ways: tuple[str, ...]) -> Entry | None:
        """Return the entry that counts: of the first way to write it that the file has."""
        self.asked.update(ways)
        return next((self.entries[key] for key in ways if key in self.entries), None)

    def read(self, key: Key[T], entry: Entry | None) -> T | None:
        """Return the value of an entry, or of the default when it is absent or wrong."""
        if entry is not None:
            try:
                return key.kind.read(entry.value)
            except ValueRefusedError as refusal:
                # A refused regex is quoted in its refusal; what a provider filled in must not be (R12).
                reason = f"allowed is {key.kind.allowed}" if entry.provided or key.secret else str(refusal)
                self.note("error", entry, f"{shown(key, entry)} is not valid: {reason}")
        return None if key.default is None else key.kind.read(key.default)


class LinkLookup:
    """The view of one link; `runs` is false for a pair of clusters that is not mirrored and has no table of origins."""

    def __init__(self, lookup: Lookup, link: LinkName, *, runs: bool = True) -> None:
        self.lookup = lookup
        self.link = link
        self._origins = lookup.origins.setdefault(str(link), {}) if runs else {}

    def entry(self, key: Key[Any], role: Role | None = None) -> Entry | None:
        """Return the entry that counts for this link, or for one client of it."""
        self.lookup.reads[self.link, role, key] = None
        return self.lookup.find(spellings(key, self.link, role))

    def optional(self, key: Key[T], role: Role | None = None) -> T | None:
        """Return the value of a key that has no default."""
        entry = self.entry(key, role)
        name = key.name if role is None else f"{role.name}: {key.name}"
        if entry is not None:
            self._origins[name] = Origin(shown(key, entry), entry.key, entry.line)
        elif key.default is not None:
            self._origins[name] = Origin(key.default, None, None)
        return self.lookup.read(key, entry)

    def value(self, key: Key[T], role: Role | None = None) -> T:
        """Return the value of a key that has a default."""
        value = self.optional(key, role)
        if value is None:
            msg = f"{key.name} has no default in the catalogue"
            raise LookupError(msg)
        return value


def spellings(key: Key[Any], link: LinkName, role: Role | None) -> tuple[str, ...]:
    """Return every way to write a key for a link or one of its clients, the strongest first."""
    if role is None:
        ways = link_keys(link, key.name, key.old_names)
        return ways[:1] if Scope.LINK_ONLY in key.scopes else ways
    return client_keys(role, link, key.name, shared=key.shared)


def shown(key: Key[Any], entry: Entry) -> str:
    """Text of a value for people: secrets masked, references as they were written (R12)."""
    if key.secret or is_secret(entry.key):
        return MASK
    text = entry.written if entry.provided else entry.value
    return "PEM text" if "-----BEGIN" in text else without_login(text)[:_LONGEST_SHOWN] or "(empty)"
