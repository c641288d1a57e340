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
    found = Inventory()
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            said = json.loads(line)
            if "config" in said:
                found.configs[said["subject"]] = said["config"]
            elif "mode" in said:
                found.modes[said["subject"]] = said["mode"]
            else:
                said["version"], said["id"] = int(said["version"]), int(said["id"])
                found.versions.append({**said, "subject": str(said["subject"]), "schema": str(said["schema"])})
        except (ValueError, KeyError, TypeError) as wrong:
            raise ValueError(f"line {number}: not a line of an export ({wrong})") from None
    return found


def in_import_order(versions: Iterable[Version]) -> list[Version]:
    """Older versions first, and what others refer to before them."""
    waiting = sorted(versions, key=lambda one: (one["id"], one["version"], one["subject"]))
    done: set[tuple[str, int]] = set()
    there = {(one["subject"], one["version"]) for one in waiting}
    ordered: list[Version] = []
    while waiting:
        ready = [one for one in waiting if all(r in done or r not in there for r in _references(one))]
        for one in ready or waiting[:1]:  # a circle cannot be; if it is, it is named when it is imported
            ordered.append(one)
            done.add((one["subject"], one["version"]))
        chosen = {id(one) for one in ready or waiting[:1]}
        waiting = [one for one in waiting if id(one) not in chosen]
    return ordered


def _references(version: Version) -> Iterator[tuple[str, int]]:
    for reference in version.get("references") or ():
        yield beside(version["subject"], reference["subject"]), reference["version"]


def differences(here: Inventory, there: Inventory) -> list[Difference]:
    """Ids with other schemas, versions with other ids, and what only one side has."""
    found: list[Difference] = []
    ours, theirs = _by_id(here), _by_id(there)
    for key in sorted(ours.keys() | theirs.keys()):
        name = f"id {key[1]} of context {key[0]}"
        if key not in ours or key not in theirs:
            found.append(Difference("id", name, _short(ours.get(key)), _short(theirs.get(key))))
        elif ours[key] != theirs[key]:
            found.append(Difference("schema", name, _short(ours[key]), _short(theirs[key])))
    mine, other = _by_version(here), _by_version(there)
    for place in sorted(mine.keys() | other.keys()):
        if mine.get(place) != other.get(place):
            name = f"{place[0]} version {place[1]}"
            found.append(Difference("version", name, _id(mine.get(place)), _id(other.get(place))))
    for kind, left, right in (("config", here.configs, there.configs), ("mode", here.modes, there.modes)):
        found += _settings(kind, left, right)
    return found


def _settings(kind: str, left: Mapping[str, Any], right: Mapping[str, Any]) -> Iterator[Difference]:
    for name in sorted(left.keys() | right.keys()):
        if left.get(name) != right.get(name):
            yield Difference(kind, name or "the default context", _dumps(left.get(name)), _dumps(right.get(name)))


def _by_id(inventory: Inventory) -> dict[tuple[str, int], str]:
    return {(context_of(one["subject"]), one["id"]): one["schema"] for one in inventory.versions}


def _by_version(inventory: Inventory) -> dict[tuple[str, int], tuple[int, bool]]:
    return {(one["subject"], one["version"]): (one["id"], bool(one.get("deleted"))) for one in inventory.versions}


def _short(text: str | None) -> str:
    return "missing" if text is None else text if len(text) <= 60 else f"{text[:57]}..."


def _id(found: tuple[int, bool] | None) -> str:
    return "missing" if found is None else f"id {found[0]}{', deleted' if found[1] else ''}"


def _dumps(value: Any) -> str:
    return "not set" if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
