"""Rules of a schema: from JSON to the one form that is stored and hashed, back, merged, and checked. Pure.

The form is Confluent's: fields in its order, tags and parameters sorted, kind and mode always written out.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from twinlog.registry import refusals
from twinlog.registry.schemas.schema import RuleSet

_PARTS: Final = (
    ("migrationRules", "migration_rules"),
    ("domainRules", "domain_rules"),
    ("encodingRules", "encoding_rules"),
)
_TEXTS_BEFORE: Final = ("name", "doc")
_TEXTS_AFTER: Final = ("expr", "onSuccess", "onFailure")
_KINDS: Final = ("TRANSFORM", "CONDITION")
_MIGRATING: Final = ("UPGRADE", "DOWNGRADE", "UPDOWN")
_WORKING: Final = ("WRITE", "READ", "WRITEREAD")
_PAIRED: Final = frozenset({"UPDOWN", "WRITEREAD"})
"""Rules of these modes may name two actions, one for each way."""
_LONGEST_NAME: Final = 256
_NAME: Final = re.compile(r"[^\W\d][\w-]*\Z")


def rule_set_of(document: Mapping[str, Any] | None) -> RuleSet | None:
    """Rules as a request or record has them. Raises TypeError or AttributeError for what are none."""
    if document is None:
        return None
    migration, domain, encoding = (
        None if document.get(name) is None else tuple(_rule(rule) for rule in document[name]) for name, _ in _PARTS
    )
    return RuleSet(migration, domain, encoding, document.get("enableAt"))


def _rule(given: Mapping[str, Any]) -> dict[str, Any]:
    rule = {name: str(given[name]) for name in _TEXTS_BEFORE if given.get(name) is not None}
    rule["kind"], rule["mode"] = str(given.get("kind") or _KINDS[0]), str(given.get("mode") or "WRITEREAD")
    if given.get("type") is not None:
        rule["type"] = str(given["type"])
    made: dict[str, Any] = dict(rule)
    if tags := sorted({str(tag) for tag in given.get("tags") or ()}):
        made["tags"] = tags
    if params := {str(key): str(value) for key, value in sorted((given.get("params") or {}).items())}:
        made["params"] = params
    made |= {name: str(given[name]) for name in _TEXTS_AFTER if given.get(name) is not None}
    made["disabled"] = given.get("disabled") is True
    return made


def rule_set_json(rule_set: RuleSet) -> dict[str, Any]:
    """As Confluent writes them: lists that are absent or empty are left out."""
    document: dict[str, Any] = {}
    for name, attribute in _PARTS:
        if getattr(rule_set, attribute):
            document[name] = list(getattr(rule_set, attribute))
    if rule_set.enable_at is not None:
        document["enableAt"] = rule_set.enable_at
    return document


def merged_rules(old: RuleSet | None, new: RuleSet | None) -> RuleSet | None:
    """Rules of both by name; where both have a name, the new one counts and stands last."""
    if old is None or new is None:
        return new if old is None else old
    parts = []
    for _, attribute in _PARTS:
        before, after = getattr(old, attribute), getattr(new, attribute)
        if not before or not after:
            parts.append(after or before)
            continue
        names = {rule.get("name") for rule in after}
        parts.append((*(rule for rule in before if rule.get("name") not in names), *after))
    migration, domain, encoding = parts
    return RuleSet(migration, domain, encoding, new.enable_at or old.enable_at)


def check_rules(rule_set: RuleSet) -> None:
    """Raises Refusal 400 or 42210 for rules that cannot be."""
    for _, _, rule in _with_modes(rule_set):
        for field, allowed in (("kind", _KINDS), ("mode", (*_MIGRATING, *_WORKING))):
            if rule[field] not in allowed:
                listed = f"not one of the values accepted for Enum class: [{', '.join(allowed)}]"
                said = (
                    f'Cannot deserialize value of type `Rule{field.capitalize()}` from String "{rule[field]}": {listed}'
                )
                raise refusals.Refusal(400, said)
    names: set[str | None] = set()
    for part, modes, rule in _with_modes(rule_set):
        name = rule.get("name")
        if name in names:
            raise refusals.invalid_rules(f"Found rule with duplicate name '{name}'")
        names.add(name)
        _check_name(name)
        if rule.get("type") is None:
            raise refusals.invalid_rules("Missing rule type")
        for action in ("onSuccess", "onFailure"):
            if rule["mode"] not in _PAIRED and "," in rule.get(action, ""):
                raise refusals.invalid_rules("Multiple actions only valid with WRITEREAD and UPDOWN")
        if rule["mode"] not in modes:
            raise refusals.invalid_rules(f"{part} rules can only be {', '.join(modes)}")


def _with_modes(rule_set: RuleSet) -> Iterator[tuple[str, tuple[str, ...], Mapping[str, Any]]]:
    yield from (("Migration", _MIGRATING, rule) for rule in rule_set.migration_rules or ())
    yield from (("Domain", _WORKING, rule) for rule in rule_set.domain_rules or ())
    yield from (("Encoding", _WORKING, rule) for rule in rule_set.encoding_rules or ())


def _check_name(name: str | None) -> None:
    if name is None:
        raise refusals.invalid_rules("Missing rule name")
    if not name:
        raise refusals.invalid_rules("Empty rule name")
    if len(name) > _LONGEST_NAME:
        raise refusals.invalid_rules("Rule name too long")
    if not _NAME.match(name):
        first = "initial character" if not (name[0].isalpha() or name[0] == "_") else "character"
        raise refusals.invalid_rules(f"Illegal {first} in rule name: {name}")
