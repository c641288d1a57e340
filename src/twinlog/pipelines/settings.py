"""Settings of a plugin: a dataclass whose fields know their key, text and bounds. Pure.

    @setting
    class DirSettings:
        folder: str = Setting("input.path", "folder with *.csv files")
        batch: int = Setting("batch.size", "lines at once", 2000, at_least=1)
        password: Secret = Setting("connection.password", "password", Secret(""))
        client: Mapping[str, str] = Setting("client.*", "keys of the client", {})

A key that ends with `.*` is a family: the setting holds all keys that begin so, without their beginning.
`/connector-plugins/{p}/config` and `validate` are made from the same fields.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeVar, dataclass_transform, get_type_hints

from twinlog.config.security.places import Leads
from twinlog.config.security.secrets import MASK, Secret

T = TypeVar("T")


class Required:
    """Marks a setting without a default."""


@dataclass(frozen=True)
class Finding:
    """One remark about a connector's configuration."""

    key: str | None
    message: str
    level: Literal["error", "warning", "info"] = "error"
    remedy: str = ""


class SettingsRefused(Exception):
    """A configuration that cannot be used: all errors, not only the first."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings = tuple(findings)
        super().__init__(
            "; ".join(
                f"{finding.key}: {finding.message}" if finding.key else finding.message for finding in self.findings
            )
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.findings,))


@dataclass(frozen=True)
class Facts:
    """What is known about one setting."""

    key: str
    doc: str
    choices: tuple[str, ...] = ()
    at_least: float | None = None
    importance: Literal["HIGH", "MEDIUM", "LOW"] = "MEDIUM"
    also: tuple[str, ...] = ()  # other keys for the same thing
    leads: Leads | None = None  # how its value names hosts or files; None: it names none

    @property
    def is_family(self) -> bool:
        return self.key.endswith(".*")


def Setting(  # noqa: N802  it reads as a type where it is used
    key: str,
    doc: str,
    default: Any = Required,
    *,
    choices: Iterable[str] = (),
    at_least: float | None = None,
    importance: Literal["HIGH", "MEDIUM", "LOW"] = "MEDIUM",
    also: Iterable[str] = (),
    leads: Leads | None = None,
) -> Any:
    """One setting of a `@setting` class. One that names a host, an address or a file says so with `leads`."""
    facts = Facts(key, doc, tuple(choices), at_least, "HIGH" if default is Required else importance, tuple(also), leads)
    if default is Required:
        return field(metadata={"setting": facts}, kw_only=True)
    if facts.is_family:
        return field(default_factory=dict, metadata={"setting": facts}, kw_only=True)
    return field(default=default, metadata={"setting": facts}, kw_only=True)


@dataclass_transform(field_specifiers=(Setting,), frozen_default=True, kw_only_default=True)
def setting(cls: type[T]) -> type[T]:
    """Make a class of settings."""
    return dataclass(frozen=True)(cls)


def facts_of(settings: type) -> dict[str, tuple[Facts, dataclasses.Field[Any]]]:
    """The settings of a class: field name to what is known about it."""
    return {
        attribute.name: (attribute.metadata["setting"], attribute)
        for attribute in dataclasses.fields(settings)
        if attribute.metadata
    }


def keys_of(settings: type) -> set[str]:
    return {key for facts, _ in facts_of(settings).values() for key in (facts.key, *facts.also)}


def leads_of(settings: type) -> dict[str, Leads]:
    """The keys that name hosts or files."""
    return {
        key: facts.leads
        for facts, _ in facts_of(settings).values()
        for key in (facts.key, *facts.also)
        if facts.leads is not None
    }


def read_settings(settings: type[T], config: Mapping[str, str]) -> T:
    """The settings that a configuration holds. Raises SettingsRefused with every error."""
    types = get_type_hints(settings)
    values: dict[str, Any] = {}
    findings: list[Finding] = []
    for name, (facts, its_field) in facts_of(settings).items():
        if facts.is_family:
            begin = facts.key[:-1]
            values[name] = {key[len(begin) :]: text for key, text in config.items() if key.startswith(begin)}
            continue
        text = next((config[key] for key in (facts.key, *facts.also) if config.get(key) is not None), None)
        if text is None:
            if its_field.default is dataclasses.MISSING:
                findings.append(Finding(facts.key, f"missing; it has no default value ({facts.doc})"))
            continue
        try:
            values[name] = _value(text, types[name], facts)
        except ValueError as error:
            shown = MASK if types[name] is Secret else text
            findings.append(Finding(facts.key, f"{shown!r}: {error}"))
    if findings:
        raise SettingsRefused(findings)
    return settings(**values)


_BOOLEANS: Final = {"true": True, "false": False}


def _value(text: str, kind: Any, facts: Facts) -> Any:
    text = str(text).strip()
    value: Any
    if kind is bool:
        if text.lower() not in _BOOLEANS:
            raise ValueError("not true or false")
        value = _BOOLEANS[text.lower()]
    elif kind is int or kind == int | None:
        value = _number(text, int, "whole number")
    elif kind is float:
        value = _number(text, float, "number")
    elif kind is Secret:
        return Secret(text)
    elif kind == tuple[str, ...]:
        return tuple(part for part in (piece.strip() for piece in text.split(",")) if part)
    else:
        value = text
    if facts.choices and text.lower() not in (choice.lower() for choice in facts.choices):
        near = difflib.get_close_matches(text, facts.choices, 1)
        raise ValueError(f"must be one of {', '.join(facts.choices)}" + (f"; did you mean {near[0]}?" if near else ""))
    if facts.at_least is not None and value is not None and value < facts.at_least:
        raise ValueError(f"must be at least {facts.at_least:g}")
    return text.lower() if facts.choices and kind is str else value


def _number(text: str, kind: type[int | float], says: str) -> int | float:
    try:
        return kind(text)
    except ValueError:
        raise ValueError(f"not a {says}") from None
