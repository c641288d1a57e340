"""Whether a connector's configuration can run: keys, plugins, transforms, connection. Nothing is changed."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping
from typing import Any, Final

from twinlog.pipelines.chain import listed, steps_of, under
from twinlog.pipelines.connector import CommonSettings, read_connector
from twinlog.pipelines.plugins import all_plugins, connector, find
from twinlog.pipelines.run import ErrorSettings
from twinlog.pipelines.settings import Finding, SettingsRefused, facts_of, keys_of, read_settings

_FRAMEWORK: Final = frozenset(
    {
        "name", "connector.plugin.version", "tasks.max.enforce", "key.converter", "value.converter", "header.converter",
        "transforms", "predicates", "config.action.reload", "topic.creation.groups", "exactly.once.support",
        "offsets.storage.topic", "key.converter.plugin.version", "value.converter.plugin.version",
    }
)  # fmt: skip
_FAMILIES: Final = (
    "transforms.", "predicates.", "key.converter.", "value.converter.", "header.converter.", "topic.creation.",
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
        plugin = find(config.get("connector.class", ""), "source", "sink")
    except SettingsRefused as error:
        known = {one.message for one in findings}
        return [
            *findings,
            *[Finding("connector.class", one.message) for one in error.findings if one.message not in known],
        ]
    target: Any = plugin.target
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
    found = []
    for key in config:
        if key in known or key.startswith(_FAMILIES):
            continue
        near = difflib.get_close_matches(key, known, 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        found.append(Finding(key, f"unknown key; it has no effect{hint}", "warning"))
    return found


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
    return [one for kind in kinds for one in _definitions(kind)]


_TYPES: Final = {"str": "STRING", "int": "INT", "bool": "BOOLEAN", "float": "DOUBLE", "Secret": "PASSWORD"}


def _definitions(settings: type) -> list[dict[str, Any]]:
    made = []
    for order, (facts, its) in enumerate(facts_of(settings).values()):
        kind = _TYPES.get(str(its.type).rpartition(".")[2], "LIST" if "tuple" in str(its.type) else "STRING")
        default = None if its.default is dataclasses.MISSING else its.default
        shown = ",".join(default) if isinstance(default, tuple) else None if kind == "PASSWORD" else default
        made.append(
            {
                "name": facts.key, "type": kind, "required": its.default is dataclasses.MISSING,
                "default_value": None if shown is None else str(shown).lower() if kind == "BOOLEAN" else str(shown),
                "importance": facts.importance, "documentation": facts.doc, "group": "", "width": "NONE",
                "display_name": facts.key, "dependents": [], "order_in_group": order,
            }
        )  # fmt: skip
    return made


def validated(name: str, config: Mapping[str, str], worker: Mapping[str, str]) -> dict[str, Any]:
    """The answer of /connector-plugins/{p}/config/validate."""
    findings = [one for one in findings_of(config.get("name", ""), config, worker) if one.level == "error"]
    by_key: dict[str, list[str]] = {}
    for one in findings:
        by_key.setdefault(one.key or "connector.class", []).append(one.message)
    configs: list[dict[str, Any]] = []
    for definition in definitions(name):
        key = definition["name"]
        value = {
            "name": key, "value": config.get(key, definition["default_value"]), "recommended_values": [],
            "errors": by_key.pop(key, []), "visible": True,
        }  # fmt: skip
        configs.append({"definition": definition, "value": value})
    for key, errors in by_key.items():
        value = {"name": key, "value": config.get(key), "recommended_values": [], "errors": errors, "visible": True}
        configs.append({"definition": None, "value": value})
    count = sum(1 for one in configs if one["value"]["errors"])
    return {
        "name": name,
        "error_count": count,
        "groups": ["Common", "Transforms", "Error Handling"],
        "configs": configs,
    }


def plugin_list(*, connectors_only: bool) -> list[dict[str, str]]:
    """The answer of /connector-plugins: every name under which a plugin is known to configurations."""
    return [
        {"class": one.name, "type": one.kind, "version": one.version}
        for one in all_plugins()
        if one.kind in {"source", "sink"} or not connectors_only
    ]


__all__ = ["checked", "definitions", "findings_of", "listed", "plugin_list", "read_settings", "under", "validated"]
