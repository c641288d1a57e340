"""Transforms and predicates of a configuration, in their order. Pure but for making the plugins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F

from twinlog.pipelines.api import Predicate, Transform
from twinlog.pipelines.plan import SIDES, Step
from twinlog.pipelines.plugins import find, predicate, transform
from twinlog.pipelines.records import PlanRefused, RecordColumns
from twinlog.pipelines.settings import Finding, SettingsRefused


def listed(config: Mapping[str, str], key: str) -> list[str]:
    return [part.strip() for part in config.get(key, "").split(",") if part.strip()]


def under(config: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {key.removeprefix(prefix): value for key, value in config.items() if key.startswith(prefix)}


def steps_of(config: Mapping[str, str]) -> list[Step]:
    """The steps that a connector's configuration names. Raises SettingsRefused with every error."""
    findings: list[Finding] = []
    predicates: dict[str, Predicate] = {}
    for name in listed(config, "predicates"):
        own = under(config, f"predicates.{name}.")
        try:
            predicates[name] = predicate(own.get("type", ""), own)
        except SettingsRefused as error:
            findings += [_placed(f"predicates.{name}", finding) for finding in error.findings]
    steps = []
    for name in listed(config, "transforms"):
        own = under(config, f"transforms.{name}.")
        try:
            made = transform(own.get("type", ""), own)
            java = find(own.get("type", ""), "transformation").name
        except SettingsRefused as error:
            findings += [_placed(f"transforms.{name}", finding) for finding in error.findings]
            continue
        chosen = own.get("predicate")
        if chosen is not None and chosen not in predicates:
            key = f"transforms.{name}.predicate"
            findings.append(Finding(key, f"{chosen}: no such predicate in `predicates`"))
            continue
        condition = None if chosen is None else predicates[chosen]
        negate = own.get("negate", "false").strip().lower() == "true"
        sides = tuple(getattr(made, "sides", SIDES))
        members = tuple(getattr(made, "members", ()))
        steps.append(Step(name, java, sides, _applied(made, condition, negate), members))
    if findings:
        raise SettingsRefused(findings)
    return steps


def _placed(prefix: str, finding: Finding) -> Finding:
    return replace(finding, key=f"{prefix}.{finding.key or 'type'}")


def _applied(step: Transform, condition: Predicate | None, negate: bool):  # type: ignore[no-untyped-def]  # noqa: ANN202
    if condition is None:
        return step.apply

    def apply(record: RecordColumns) -> RecordColumns:
        known = getattr(condition, "known", lambda _: None)(record)
        if known is not None:
            return step.apply(record) if known != negate else record
        test = condition.test(record)
        return merged(record, step.apply(record), ~test if negate else test)

    return apply


def merged(before: RecordColumns, after: RecordColumns, chosen: Column) -> RecordColumns:
    """The record after a step that only some records take."""
    changes: dict[str, Any] = {}
    for name in ("topic", "timestamp", "headers"):
        old, new = getattr(before, name), getattr(after, name)
        if new is not old:
            changes[name] = F.when(chosen, new).otherwise(old)
    for side in SIDES:
        old, new = before.part(side), after.part(side)
        if new is old:
            continue
        if after.shape(side) != before.shape(side):
            raise PlanRefused(
                f"the step changes the schema of the {side}, but only for records that its predicate chooses; "
                "let it run on all records, or give those records a topic of their own"
            )
        changes[side] = F.when(chosen, new).otherwise(old)
    problems = tuple(replace(problem, when=chosen & problem.when) for problem in after.problems)
    drop = None if after.drop is None else chosen & after.drop
    topics = tuple(dict.fromkeys((*before.topics, *after.topics)))
    objects = {side: told for side, told in before.objects.items() if side in after.objects}
    return replace(after, **changes, problems=problems, drop=drop, topics=topics, objects=objects)
