"""Values from outside of a text: `${file:/path:key}`, `${env:NAME}`, `${dir:/path:name}`, as Kafka writes them.

Runs once, in the process that loads the settings. Who wrote the text decides what a reference may lead to:

    a settings file             its owner is trusted: file, env and dir need no declaration
    a connector made over HTTP  only providers that the service's file declares, within the paths and names given there
    a connector being checked   nothing is looked up at all (for whoever may not make one)

What comes in this way may be a secret, so messages show the reference, never its value (R12).
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias

from twinlog.config.text.properties import Entry, parse_properties
from twinlog.config.text.provided import Provided
from twinlog.errors import Finding

_REFERENCE = re.compile(r"\$\{([^}]*?):(?:([^}]*?):)?([^}]*?)\}")
NAMES: Final = frozenset({"name", "connector.class", "source.cluster.alias", "target.cluster.alias", "clusters"})
"""Keys whose values are shown everywhere, so that none may come from elsewhere."""
Provider: TypeAlias = Callable[[str, str], str]
"""Takes path and key, answers the value or raises UnresolvedError."""
ProviderKind: TypeAlias = Literal["file", "dir", "env"]
CLASSES: Final[dict[str, ProviderKind]] = {
    "FileConfigProvider": "file",
    "DirectoryConfigProvider": "dir",
    "EnvVarConfigProvider": "env",
}


class UnresolvedError(Exception):
    """A reference that leads nowhere; the text says why."""


@dataclass(frozen=True)
class ProviderRule:
    """A provider that the service's file declares for connectors, and what it may read."""

    name: str
    kind: ProviderKind
    allowed_paths: tuple[str, ...] = ()
    allowed_names: str | None = None


class Expanded(NamedTuple):
    """Entries with their values filled in. `provided` are the values that came from elsewhere: they are never shown."""

    entries: dict[str, Entry]
    findings: list[Finding]
    files: set[Path]
    provided: Provided


@dataclass
class References:
    """How the references of one text are followed; with `follows` off they stay as they are written."""

    providers: Mapping[str, Provider] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    files: set[Path] = field(default_factory=set)
    follows: bool = True
    unknown: str = "no config provider is called {name}; known are {known}"


def refers(text: str) -> bool:
    """Tell whether a value refers to something outside of its text."""
    return _REFERENCE.search(text) is not None


def expand(entries: Mapping[str, Entry], file: str, references: References) -> Expanded:
    """Fill in every reference, once: what a provider returns is not expanded again, as in Kafka."""
    findings: list[Finding] = list(references.findings)
    expanded: dict[str, Entry] = {}
    provided: set[str] = set()
    for entry in entries.values():
        if entry.key in NAMES and refers(entry.value):
            sentence = "must be written out: names are shown everywhere, so none may come from a config provider"
            findings.append(Finding("error", file, entry.line, entry.key, sentence))
            expanded[entry.key] = dataclasses.replace(entry, value="", written="")
            continue
        value, problems = _filled(entry.value, references, provided)
        findings += [Finding("error", file, entry.line, entry.key, problem) for problem in problems]
        expanded[entry.key] = dataclasses.replace(entry, value=value)
    return Expanded(expanded, findings, references.files, Provided(provided))


def _filled(text: str, references: References, provided: set[str]) -> tuple[str, list[str]]:
    problems: list[str] = []

    def replace(matched: re.Match[str]) -> str:
        name, path, key = matched.group(1), matched.group(2) or "", matched.group(3)
        if name not in references.providers:
            known = ", ".join(sorted(references.providers)) or "none"
            problems.append(f"{matched.group()}: {references.unknown.format(name=name, known=known)}")
            return matched.group()
        try:
            value = references.providers[name](path, key)
        except UnresolvedError as error:
            problems.append(f"{matched.group()}: {error}")
            return matched.group()
        provided.add(value)
        return value

    return (_REFERENCE.sub(replace, text) if references.follows else text), problems


# --- who may follow what ----------------------------------------------------------------------------------------------

UNFOLLOWED: Final = References(follows=False)


def references_of_file(entries: Mapping[str, Entry], file: str, environment: Mapping[str, str]) -> References:
    """All providers, also by the names that `config.providers` of the file gives them."""
    files = _Files()
    by_kind: dict[str, Provider] = {
        "file": files.key_of_file,
        "dir": files.whole_file,
        "env": _variables(environment, None),
    }
    providers: dict[str, Provider] = dict(by_kind)
    findings: list[Finding] = []
    listed = entries.get("config.providers")
    for name in _words(listed):
        chosen = entries.get(f"config.providers.{name}.class")
        if chosen is None:
            if name not in providers and listed is not None:
                sentence = f"the provider {name} has no class; set config.providers.{name}.class"
                findings.append(Finding("error", file, listed.line, listed.key, sentence))
            continue
        kind = CLASSES.get(chosen.value.strip().rpartition(".")[2])
        if kind is not None:
            providers[name] = by_kind[kind]
        else:
            providers.pop(name, None)
            sentence = f"{chosen.value}: no such provider here; allowed are {', '.join(sorted(CLASSES))}"
            findings.append(Finding("error", file, chosen.line, chosen.key, sentence))
    return References(providers, findings, files.asked)


def references_of_connectors(rules: Collection[ProviderRule], environment: Mapping[str, str]) -> References:
    """Only what the service's file declares, within its limits."""
    providers: dict[str, Provider] = {}
    asked: set[Path] = set()
    for rule in rules:
        files = _Files(tuple(Path(path) for path in rule.allowed_paths), asked)
        match rule.kind:
            case "file":
                providers[rule.name] = files.key_of_file
            case "dir":
                providers[rule.name] = files.whole_file
            case "env":
                providers[rule.name] = _variables(environment, re.compile(rule.allowed_names or "(?!)"))
    unknown = (
        "connectors may use only config providers that the service's settings file declares with their limits "
        "(config.providers, config.providers.{name}.param.allowed.paths or .allowlist.pattern); declared are {known}"
    )
    return References(providers, files=asked, unknown=unknown)


def provider_rules(entries: Mapping[str, Entry]) -> tuple[ProviderRule, ...]:
    """What a settings file declares for connectors: providers with a limit; one without is for the file alone."""
    rules: list[ProviderRule] = []
    for name in _words(entries.get("config.providers")):
        chosen = entries.get(f"config.providers.{name}.class")
        kind = CLASSES.get(chosen.value.strip().rpartition(".")[2] if chosen else "")
        paths = _words(entries.get(f"config.providers.{name}.param.allowed.paths"))
        pattern = entries.get(f"config.providers.{name}.param.allowlist.pattern")
        if kind == "env" and pattern is not None:
            rules.append(ProviderRule(name, kind, allowed_names=pattern.value.strip()))
        elif kind in {"file", "dir"} and paths:
            rules.append(ProviderRule(name, kind, allowed_paths=tuple(paths)))
    return tuple(rules)


def _words(entry: Entry | None) -> list[str]:
    return [word for word in re.split(r"\s*,\s*", entry.value.strip()) if word] if entry is not None else []


def _variables(environment: Mapping[str, str], allowed: re.Pattern[str] | None) -> Provider:
    def read(path: str, name: str) -> str:
        del path
        if allowed is not None and not allowed.fullmatch(name):
            raise UnresolvedError("connectors may not read this variable; see config.providers in the settings file")
        if name not in environment:
            raise UnresolvedError("the environment has no such variable")
        return environment[name]

    return read


class _Files:
    """Reads each properties file once, however many keys are taken from it; with `roots`, only what lies below them."""

    def __init__(self, roots: tuple[Path, ...] | None = None, asked: set[Path] | None = None) -> None:
        self._roots = None if roots is None else [root.resolve() for root in roots]
        self._read: dict[str, dict[str, Entry]] = {}
        self.asked: set[Path] = set() if asked is None else asked

    def key_of_file(self, path: str, key: str) -> str:
        if path not in self._read:
            self._read[path] = parse_properties(self._bytes(Path(path)), path)[0]
        if key not in self._read[path]:
            raise UnresolvedError("the file has no such key")
        return self._read[path][key].value

    def whole_file(self, path: str, name: str) -> str:
        if "/" in name or name in {"", ".", ".."}:
            raise UnresolvedError("the key must be the plain name of a file in that directory")
        return self._bytes(Path(path) / name).decode("utf-8", errors="surrogateescape")

    def _bytes(self, path: Path) -> bytes:
        if self._roots is not None:
            # Links are followed first: one inside of an allowed folder may lead out of it.
            path = path.resolve()
            if not any(path.is_relative_to(root) for root in self._roots):
                raise UnresolvedError("connectors may not read this path; see config.providers in the settings file")
        self.asked.add(path)
        try:
            return path.read_bytes()
        except OSError as error:
            raise UnresolvedError(f"the file cannot be read ({error.strerror})") from None
