"""Values that live outside of the file: `${file:/path:key}`, `${env:NAME}`, `${dir:/path:name}`, as Kafka writes them.

Runs once, in the process that loads the settings. `file` and `env` need no declaration; `config.providers` may give
them other names. What comes in this way may be a secret, so messages show the reference, never its value (R12).
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

from twinlog.config.properties import Entry, parse_properties
from twinlog.errors import Finding

_REFERENCE = re.compile(r"\$\{([^}]*?):(?:([^}]*?):)?([^}]*?)\}")
Provider: TypeAlias = Callable[[str, str], str]
"""Takes path and key, answers the value or raises UnresolvedError."""


class UnresolvedError(Exception):
    """A reference that leads nowhere; the text says why."""


def expand(
    entries: Mapping[str, Entry], file: str, environment: Mapping[str, str]
) -> tuple[dict[str, Entry], list[Finding], set[Path]]:
    """Fill in every reference, once: what a provider returns is not expanded again, as in Kafka.

    Returned are the entries, what is wrong, and the files that were read or should have been.
    """
    files = _Files()
    providers, findings = _declared(entries, file, environment, files)
    expanded: dict[str, Entry] = {}
    for entry in entries.values():
        problems: list[str] = []

        def replace(found: re.Match[str], problems: list[str] = problems) -> str:
            name, path, key = found.group(1), found.group(2) or "", found.group(3)
            if name not in providers:
                problems.append(f"{found.group()}: no config provider is called {name}; known are {_names(providers)}")
                return found.group()
            try:
                return providers[name](path, key)
            except UnresolvedError as error:
                problems.append(f"{found.group()}: {error}")
                return found.group()

        value = _REFERENCE.sub(replace, entry.value)
        findings += [Finding("error", file, entry.line, entry.key, problem) for problem in problems]
        expanded[entry.key] = dataclasses.replace(entry, value=value)
    return expanded, findings, files.asked


def _declared(
    entries: Mapping[str, Entry], file: str, environment: Mapping[str, str], files: _Files
) -> tuple[dict[str, Provider], list[Finding]]:
    def from_environment(path: str, name: str) -> str:
        del path
        if name not in environment:
            raise UnresolvedError("the environment has no such variable")
        return environment[name]

    by_class: dict[str, Provider] = {
        "FileConfigProvider": files.key_of_file,
        "DirectoryConfigProvider": files.whole_file,
        "EnvVarConfigProvider": from_environment,
    }
    providers: dict[str, Provider] = {"file": files.key_of_file, "env": from_environment, "dir": files.whole_file}
    findings: list[Finding] = []
    listed = entries.get("config.providers")
    for name in re.split(r"\s*,\s*", listed.value.strip()) if listed and listed.value.strip() else []:
        chosen = entries.get(f"config.providers.{name}.class")
        if chosen is None:
            if name not in providers and listed is not None:
                sentence = f"the provider {name} has no class; set config.providers.{name}.class"
                findings.append(Finding("error", file, listed.line, listed.key, sentence))
            continue
        simple = chosen.value.strip().rpartition(".")[2]
        if simple in by_class:
            providers[name] = by_class[simple]
        else:
            providers.pop(name, None)
            sentence = f"{chosen.value}: no such provider here; allowed are {_names(by_class)}"
            findings.append(Finding("error", file, chosen.line, chosen.key, sentence))
    return providers, findings


def _names(known: Mapping[str, Provider]) -> str:
    return ", ".join(sorted(known))


class _Files:
    """Reads each properties file once, however many keys are taken from it."""

    def __init__(self) -> None:
        self._read: dict[str, dict[str, Entry]] = {}
        self.asked: set[Path] = set()

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
        self.asked.add(path)
        try:
            return path.read_bytes()
        except OSError as error:
            raise UnresolvedError(f"the file cannot be read ({error.strerror})") from None
