"""Which transforms a mirror link may have, and what is wrong with a link's configuration. Pure but for making plugins.

A link keeps topic and partition of a record, and a take-over must get the same bytes again (DESIGN.md, Transforms on a
link). So steps that choose a topic are refused, and those whose result may change from run to run.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Final

from twinlog.model.transforms import Transforms
from twinlog.pipelines.api import Converter
from twinlog.pipelines.chain import listed, steps_of, under
from twinlog.pipelines.converters.json_documents import JsonConverter
from twinlog.pipelines.plan import SIDES, Step
from twinlog.pipelines.plugins import Kind, converter, find
from twinlog.pipelines.records import Side
from twinlog.pipelines.settings import Finding, SettingsRefused, keys_of
from twinlog.pipelines.transforms.sides import KAFKA

JSON: Final = "org.apache.kafka.connect.json.JsonConverter"
BYTES: Final = "org.apache.kafka.connect.converters.ByteArrayConverter"
_TOPICS: Final = "topics keep the names that the link gives them"
REFUSED: Final = {
    f"{KAFKA}.RegexRouter": _TOPICS,
    f"{KAFKA}.TimestampRouter": _TOPICS,
    f"{KAFKA}.SetSchemaMetadata$Key": "records of a link have no schema",
    f"{KAFKA}.SetSchemaMetadata$Value": "records of a link have no schema",
    "io.twinlog.transforms.Sql": "an expression in SQL may give another result when records are read again",
}
_OF_THE_STEP: Final = frozenset({"type", "predicate", "negate"})


def converter_of(transforms: Transforms, side: Side) -> tuple[str, Converter]:
    """The class and the converter of keys or values. Raises SettingsRefused."""
    keys = transforms.keys
    prefix = f"{side}.converter"
    if prefix not in keys and side == "value" and transforms.masks:
        return JSON, JsonConverter({"schemas.enable": "false"})
    plugin = find(keys.get(prefix, BYTES), "converter")
    return plugin.name, converter(plugin.name, under(keys, f"{prefix}."))


def link_findings(transforms: Transforms) -> list[Finding]:
    """Everything that is wrong, with the key as it is behind the link's name. Nothing is asked of a cluster."""
    if not transforms:
        return []
    findings: list[Finding] = []
    steps: list[Step] = []
    try:
        steps = steps_of(transforms.keys)
    except SettingsRefused as refused:
        findings += refused.findings
    findings += _unknown_keys(transforms.keys)
    config = transforms.keys
    for step in steps:
        prefix = f"transforms.{step.name}"
        if step.java in REFUSED:
            findings.append(Finding(f"{prefix}.type", f"{step.java} cannot run on a link: {REFUSED[step.java]}"))
        if step.java == f"{KAFKA}.Filter" and f"{prefix}.predicate" not in config:
            findings.append(Finding(f"{prefix}.predicate", "missing; without one Filter would drop every record"))
        if f"{prefix}.route.by.field" in config:
            findings.append(Finding(f"{prefix}.route.by.field", f"cannot be used on a link: {_TOPICS}"))
    findings += _converter_findings(transforms, steps)
    return list(dict.fromkeys(findings))


def _converter_findings(transforms: Transforms, steps: list[Step]) -> Iterator[Finding]:
    for side in SIDES:
        key = f"{side}.converter"
        try:
            name, its = converter_of(transforms, side)
        except SettingsRefused as refused:
            yield from (Finding(key, finding.message) for finding in refused.findings)
            continue
        looks = [step.name for step in steps if side in step.sides]
        who = f"transforms.{looks[0]} looks into the {side}" if looks else ""
        if side == "value" and transforms.masks:
            who = who or f"residency rule {transforms.masks[0].rule} masks fields of values"
        if isinstance(its, JsonConverter):
            if its.s.schemas:
                yield Finding(f"{key}.schemas.enable", "links read JSON without schemas only; set it to false")
        elif name != BYTES:
            yield Finding(key, f"{name} cannot be used on a link; JSON without schemas or {BYTES} can")
        elif who:
            yield Finding(key, f"{who}, so it must be {JSON} with {key}.schemas.enable = false")


def _unknown_keys(config: Mapping[str, str]) -> Iterator[Finding]:
    kinds: dict[str, Kind] = {"transforms": "transformation", "predicates": "predicate"}
    for family, kind in kinds.items():
        for name in listed(config, family):
            prefix = f"{family}.{name}."
            own = under(config, prefix)
            try:
                plugin = find(own.get("type", ""), kind)
            except SettingsRefused:
                continue  # told already
            settings = getattr(plugin.target, "settings", None)
            known = (keys_of(settings) if settings is not None else set()) | _OF_THE_STEP
            for key in own.keys() - known:
                near = difflib.get_close_matches(key, known, 1)
                hint = (
                    f"; did you mean {near[0]}?" if near else f"; there are: {', '.join(sorted(known - _OF_THE_STEP))}"
                )
                yield Finding(f"{prefix}{key}", f"{plugin.name} has no such key{hint}")
