"""Whether a connector's configuration can run: keys, plugins, transforms, connection. Nothing is changed."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping
from typing import Any, Final

from twinlog.config.security.places import Leads
from twinlog.pipelines.chain import listed, steps_of, under
from twinlog.pipelines.connector import CommonSettings, read_connector
from twinlog.pipelines.plugins import all_plugins, connector, find
from twinlog.pipelines.run import ErrorSettings
from twinlog.pipelines.settings import Finding, SettingsRefused, facts_of, keys_of, leads_of, read_settings

_FRAMEWORK: Final = frozenset(
    {
        "name", "connector.plugin.version", "tasks.max.enforce", "key.converter", "value.converter", "header.converter",
        "transforms", "predicates", "config.action.reload", "topic.creation.groups", "exactly.once.support",
        "offsets.storage.topic", "key.converter.plugin.version", "value.converter.plugin.version",
    }
)  # fmt: skip
_CONVERTERS: Final = ("key.converter.", "value.converter.", "header.converter.")
_FAMILIES: Final = (
    "transforms.", "predicates.", *_CONVERTERS, "topic.creation.",
    "consumer.override.", "producer.override.", "admin.override.",
)  # fmt: skip


def findings_of(name: str, config: Mapping[str, str], worker: Mapping[str, str]) -> list[Finding]:
    """Every remark about a configuration, without asking any system."""
    findings: list[Finding] = []
    try:
        read_connector(name, config, worker)
    except SettingsRefused as error:
        findings += error.findings
    try:
        target: Any = find(config.get("connector.class", ""), "source", "sink").target
    except SettingsRefused:
        return findings  # it is one of them
    try:
        connector(config["connector.class"], config)
    except SettingsRefused as error:
        findings += error.findings
    try:
        steps_of(config)
    except SettingsRefused as error:
        findings += error.findings
    findings += _unknown(config, keys_of(target.settings))
    return list(dict.fromkeys(findings))


def _unknown(config: Mapping[str, str], own: set[str]) -> list[Finding]:
    known = _FRAMEWORK | own | keys_of(CommonSettings) | keys_of(ErrorSettings)
    families = (*_FAMILIES, *(key[:-1] for key in own if key.endswith(".*")))
    findings = []
    for key in config:
        if key in known or key.startswith(families):
            continue
        near = difflib.get_close_matches(key, known, 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        findings.append(Finding(key, f"unknown key; it has no effect{hint}", "warning"))
    return findings


def leads_of_config(config: Mapping[str, str]) -> dict[str, Leads]:
    """The keys of a configuration that name hosts or files: those of its class, and those of any converter."""
    leads: dict[str, Leads] = {}
    for plugin in all_plugins():
        settings = getattr(plugin.target, "settings", None)
        if settings is None:
            continue
        if plugin.kind in {"source", "sink"} and plugin.is_called(config.get("connector.class", "")):
            leads |= leads_of(settings)
            families = {key.removesuffix("*"): led for key, led in leads.items() if key.endswith(".*")}
            leads |= {key: led for prefix, led in families.items() for key in config if key.startswith(prefix)}
        elif plugin.kind == "converter":
            # Some converters pass their keys on to others.
            leads |= {prefix + key: led for prefix in _CONVERTERS for key, led in leads_of(settings).items()}
    return leads


def checked(config: Mapping[str, str]) -> list[Finding]:
    """What the system itself says: the connector's own check."""
    try:
        return list(connector(config["connector.class"], config).check())
    except SettingsRefused as error:
        return list(error.findings)


def definitions(name: str) -> list[dict[str, Any]]:
    """The keys of a plugin as /connector-plugins/{p}/config shows them. Raises SettingsRefused."""
    plugin = find(name, "source", "sink", "converter", "transformation", "predicate")
    settings = getattr(plugin.target, "settings", None)
    kinds = [settings] if settings is not None else []
    if plugin.kind in {"source", "sink"}:
        kinds += [CommonSettings, ErrorSettings]
    return [definition for kind in kinds for definition in _definitions(kind)]


_TYPES: Final = {"str": "STRING", "int": "INT", "bool": "BOOLEAN", "float": "DOUBLE", "Secret": "PASSWORD"}


def _definitions(settings: type) -> list[dict[str, Any]]:
    made = []
    for order, (facts, its) in enumerate(facts_of(settings).values()):
        kind = _TYPES.get(str(its.type).rpartition(".")[2], "LIST" if "tuple" in str(its.type) else "STRING")
        default = None if its.default is dataclasses.MISSING else its.default
        shown = ",".join(default) if isinstance(default, tuple) else None if kind == "PASSWORD" else default
        made.append(
            {
                "name": facts.key, "type": kind, "required": its.default is dataclasses.MISSING and not facts.is_family,
                "default_value": None if shown is None else str(shown).lower() if kind == "BOOLEAN" else str(shown),
                "importance": facts.importance, "documentation": facts.doc, "group": "", "width": "NONE",
                "display_name": facts.key, "dependents": [], "order_in_group": order,
            }
        )  # fmt: skip
    return made


__all__ = ["checked", "definitions", "findings_of", "listed", "read_settings", "under"]
