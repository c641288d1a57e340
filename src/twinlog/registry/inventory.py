"""All schemas and settings of a registry as one list: to be exported, imported and compared. Pure."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from twinlog.registry.subject_names import beside, context_of

Version = dict[str, Any]
_PARTS = ("subject", "version", "id", "schemaType", "references", "metadata", "ruleSet", "schema", "deleted")


@dataclass
class Inventory:
    """What a registry holds. Settings and modes are by subject or context; an empty name is the default context."""

    versions: list[Version] = field(default_factory=list)
    configs: dict[str, dict[str, Any]] = field(default_factory=dict)
    modes: dict[str, str] = field(default_factory=dict)

    def lines(self) -> Iterator[str]:
        """One JSON object per line: versions, then settings, then modes."""
        for version in in_import_order(self.versions):
            yield _dumps({part: version[part] for part in _PARTS if part in version})
        for subject, config in sorted(self.configs.items()):
            yield _dumps({"config": config, "subject": subject})
        for subject, mode in sorted(self.modes.items()):
            yield _dumps({"mode": mode, "subject": subject})


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that two registries do not agree on."""

    kind: str
    what: str
    here: str
    there: str


def read_lines(lines: Iterable[str]) -> Inventory:
    """Raises ValueError that names the line."""
    inventory = Inventory()
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            said = json.loads(line)
            if "config" in said:
                inventory.configs[said["subject"]] = said["config"]
            elif "mode" in said:
                inventory.modes[said["subject"]] = said["mode"]
            else:
                said["version"], said["id"] = int(said["version"]), int(said["id"])
                inventory.versions.append({**said, "subject": str(said["subject"]), "schema": str(said["schema"])})
        except (ValueError, KeyError, TypeError) as wrong:
            raise ValueError(f"line {number}: not a line of an export ({wrong})") from None
    return inventory


def in_import_order(versions: Iterable[Version]) -> list[Version]:
    """Older versions first, and what others refer to before them."""
    waiting = sorted(versions, key=lambda version: (version["id"], version["version"], version["subject"]))
    done: set[tuple[str, int]] = set()
    there = {(version["subject"], version["version"]) for version in waiting}
    ordered: list[Version] = []
    while waiting:
        ready = [version for version in waiting if all(r in done or r not in there for r in _references(version))]
        for version in ready or waiting[:1]:  # a circle cannot be; if it is, it is named when it is imported
            ordered.append(version)
            done.add((version["subject"], version["version"]))
        chosen = {id(version) for version in ready or waiting[:1]}
        waiting = [version for version in waiting if id(version) not in chosen]
    return ordered


def _references(version: Version) -> Iterator[tuple[str, int]]:
    for reference in version.get("references") or ():
        yield beside(version["subject"], reference["subject"]), reference["version"]


def differences(here: Inventory, there: Inventory) -> list[Difference]:
    """Ids with other schemas, versions with other ids, and what only one side has."""
    differing: list[Difference] = []
    here_ids, there_ids = _by_id(here), _by_id(there)
    for key in sorted(here_ids.keys() | there_ids.keys()):
        name = f"id {key[1]} of context {key[0]}"
        if key not in here_ids or key not in there_ids:
            differing.append(Difference("id", name, _short(here_ids.get(key)), _short(there_ids.get(key))))
        elif here_ids[key] != there_ids[key]:
            differing.append(Difference("schema", name, _short(here_ids[key]), _short(there_ids[key])))
    here_versions, there_versions = _by_version(here), _by_version(there)
    for place in sorted(here_versions.keys() | there_versions.keys()):
        if here_versions.get(place) != there_versions.get(place):
            name = f"{place[0]} version {place[1]}"
            differing.append(Difference("version", name, _id(here_versions.get(place)), _id(there_versions.get(place))))
    for kind, left, right in (("config", here.configs, there.configs), ("mode", here.modes, there.modes)):
        differing += _settings(kind, left, right)
    return differing


def _settings(kind: str, left: Mapping[str, Any], right: Mapping[str, Any]) -> Iterator[Difference]:
    for name in sorted(left.keys() | right.keys()):
        if left.get(name) != right.get(name):
            yield Difference(kind, name or "the default context", _dumps(left.get(name)), _dumps(right.get(name)))


def _by_id(inventory: Inventory) -> dict[tuple[str, int], str]:
    return {(context_of(version["subject"]), version["id"]): version["schema"] for version in inventory.versions}


def _by_version(inventory: Inventory) -> dict[tuple[str, int], tuple[int, bool]]:
    return {
        (version["subject"], version["version"]): (version["id"], bool(version.get("deleted")))
        for version in inventory.versions
    }


def _short(text: str | None) -> str:
    return "missing" if text is None else text if len(text) <= 60 else f"{text[:57]}..."


def _id(entry: tuple[int, bool] | None) -> str:
    return "missing" if entry is None else f"id {entry[0]}{', deleted' if entry[1] else ''}"


def _dumps(value: Any) -> str:
    return "not set" if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
