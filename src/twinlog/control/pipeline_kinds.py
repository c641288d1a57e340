"""Pipelines as kinds of connectors: one kind per source and sink that is installed.

connector ─▶ references filled in ─▶ checked ─▶ PipelineSpec ─▶ a job of the fleet (service/pipeline_job.py)
"""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from twinlog.config.resolve import Resolved
from twinlog.config.security.connector_rules import broken_rules
from twinlog.config.text.provided import Provided
from twinlog.config.text.providers import NAMES, expand, refers
from twinlog.control.grounds import Grounds, entries_of
from twinlog.control.kind import (
    ConnectorType,
    Definition,
    Offset,
    OffsetsChange,
    OtherPlugin,
    Part,
    Role,
    StateOf,
    Subject,
)
from twinlog.control.states import ConnectorStatus, EngineView, judge
from twinlog.errors import ConnectorRefused, Finding
from twinlog.model.connectors import STARTED, Connector
from twinlog.pipelines.settings import Finding as Remark
from twinlog.pipelines.spec import PipelineSpec

if TYPE_CHECKING:
    from twinlog.pipelines.plugins import Plugin
    from twinlog.pipelines.stored_offsets import StoredOffsets

log = logging.getLogger("twinlog.connectors")

_NO_WORKER = "this service has no cluster for pipelines"


@dataclass(frozen=True)
class PipelineKind:
    """One class of sources or sinks."""

    plugin: Plugin
    role: Role = "pipeline"
    may_come_first: bool = False

    @property
    def class_name(self) -> str:
        """The class in full."""
        return self.plugin.name

    @property
    def type(self) -> ConnectorType:
        """Source or sink."""
        return cast("ConnectorType", self.plugin.kind)

    def is_called(self, name: str) -> bool:
        """By any of its names, with or without the word Connector."""
        return self.plugin.is_called(name)

    def about(self, connector: Connector) -> str:
        """Rights are granted for the connector itself."""
        return connector.name

    def job(self, connector: Connector) -> str:
        """No link has such a name."""
        return f"pipeline {connector.name}"

    def definitions(self) -> Sequence[Definition]:
        """The keys of the class, then those of every connector."""
        return _definitions(self.plugin.name)

    def check(self, connector: Connector, grounds: Grounds) -> tuple[Finding, ...]:
        """Keys, classes and transforms; no system is asked."""
        return read(connector, grounds).findings

    def try_out(self, connector: Connector, grounds: Grounds) -> tuple[Finding, ...]:
        """What the system itself says."""
        from twinlog.pipelines.validate import checked  # noqa: PLC0415  loads pyspark: a second

        config, provided, findings = read(connector, grounds)
        if not grounds.looks_inside or any(finding.level == "error" for finding in findings):
            return ()
        return tuple(provided.findings(_finding(connector, remark) for remark in checked(config)))

    def status(self, subject: Subject) -> ConnectorStatus:
        """The state of its job; a partition that stands still fails its tasks, not the connector."""
        job = self.job(subject.connector)
        trouble = subject.plan.troubles.get(subject.name) or subject.plan.refused.get(job)
        view = _view(subject, job)
        return judge(subject.connector.state, trouble, view, copies=True)

    async def topics(self, subject: Subject) -> list[str]:
        """The topics that it uses now."""
        view = _view(subject, self.job(subject.connector))
        return [] if view is None else list(view.topics)

    async def offsets(self, subject: Subject) -> list[Offset]:
        """Of a source from the offsets topic, of a sink from its system and its group."""
        stored = await asyncio.to_thread(self._stored(subject).shown)
        return [Offset(row["partition"], row["offset"]) for row in stored]

    async def change_offsets(self, subject: Subject, wanted: Sequence[Offset] | None) -> OffsetsChange | None:
        """Any position of a stopped connector may be set or removed."""
        stored, spec = self._stored(subject), self._spec(subject)
        wishes: list[dict[str, Any]] | None = None
        if wanted is not None:
            wishes = [{"partition": dict(offset.partition), "offset": offset.offset} for offset in wanted]

        def change() -> None:
            from twinlog.pipelines.worker import claim  # noqa: PLC0415  loads pyspark: a second

            generation = claim(spec.worker, subject.name, "offsets")
            if wishes is None:
                stored.clear(generation)
            else:
                stored.change(wishes, generation)

        async def apply() -> None:
            if _view(subject, spec.name) is not None:
                raise ConnectorRefused(subject.name, f"{subject.name}: it has not come to its end yet; ask again soon")
            await asyncio.to_thread(change)

        return OffsetsChange("change positions", wishes, apply)

    def _spec(self, subject: Subject) -> PipelineSpec:
        spec = subject.plan.specs.get(self.job(subject.connector))
        if not isinstance(spec, PipelineSpec):
            raise ConnectorRefused(subject.name, subject.plan.troubles.get(subject.name, _NO_WORKER))
        return spec

    def _stored(self, subject: Subject) -> StoredOffsets:
        from twinlog.pipelines.stored_offsets import StoredOffsets  # noqa: PLC0415  loads pyspark: a second

        spec = self._spec(subject)
        return StoredOffsets(spec.connector(), spec.worker)


@dataclass(frozen=True)
class PipelineFamily:
    """All sources and sinks. Each is planned by itself."""

    def kinds(self) -> Sequence[PipelineKind]:
        """The kinds of pipelines, one per class name."""
        return _kinds()

    def other_plugins(self) -> Sequence[OtherPlugin]:
        """Converters, transforms and predicates."""
        from twinlog.pipelines.plugins import all_plugins  # noqa: PLC0415  loads pyspark: a second

        return [
            OtherPlugin(plugin.name, plugin.kind, plugin.version, partial(_definitions, plugin.name), plugin.is_called)
            for plugin in all_plugins()
            if plugin.kind not in {"source", "sink"}
        ]

    def in_file(self, file: Resolved) -> list[Connector]:
        """None: a settings file holds links only."""
        del file
        return []

    def plan(self, file: Resolved | None, stored: Sequence[Connector], state_of: StateOf, grounds: Grounds) -> Part:
        """Read each of them."""
        del file, state_of
        specs: dict[str, PipelineSpec] = {}
        troubles: dict[str, str] = {}
        for connector in stored:
            config, provided, findings = read(connector, grounds)
            errors = [str(finding) for finding in findings if finding.level == "error"]
            if grounds.worker is None:
                errors.append(_NO_WORKER)
            if errors or grounds.worker is None:
                troubles[connector.name] = "; ".join(errors)
                continue
            spec = PipelineSpec(f"pipeline {connector.name}", connector.name, config, grounds.worker, provided)
            specs[spec.name] = spec
        started = {f"pipeline {connector.name}" for connector in stored if connector.state == STARTED}
        return Part(tuple(spec for name, spec in specs.items() if name in started), specs, troubles)


class Reading(NamedTuple):
    """A connector's config with its references filled in, what of it is never shown, and every remark about it."""

    config: Mapping[str, str]
    provided: Provided
    findings: tuple[Finding, ...]


def read(connector: Connector, grounds: Grounds) -> Reading:
    """Read a connector: the only way to do so, for no remark leaves it unmasked (R12). Blocking: it may read files."""
    from twinlog.pipelines.validate import findings_of, leads_of_config  # noqa: PLC0415  loads pyspark: a second

    where = f"connector {connector.name}"
    expanded = expand(entries_of(connector.config), where, grounds.references())
    leads = leads_of_config(connector.config)
    findings = [*expanded.findings, *broken_rules(expanded.entries, where, grounds.rules, leads)]
    config = {key: entry.value for key, entry in expanded.entries.items()}
    defaults = {} if grounds.worker is None else grounds.worker.config
    try:
        findings += [_finding(connector, remark) for remark in findings_of(connector.name, config, defaults)]
    except Exception:  # noqa: BLE001  whoever wrote this record must not stop the connectors of all others (R8)
        log.error("%s cannot be read: %s", where, expanded.provided.masked(traceback.format_exc()))  # noqa: TRY400  masked
        findings.append(Finding("error", where, None, None, "it cannot be read; the log of the service says why"))
    if not grounds.looks_inside:
        # Nobody looked where these lead, so whether they are right is not known.
        unseen = {key for key, value in connector.config.items() if refers(value) and key not in NAMES}
        findings = [finding for finding in findings if finding.key not in unseen]
    return Reading(config, expanded.provided, tuple(expanded.provided.findings(findings)))


def _view(subject: Subject, job: str) -> EngineView | None:
    """The state of a job, here or at another service of the group."""
    return subject.runner.snapshot(job) or subject.elsewhere


def _finding(connector: Connector, remark: Remark) -> Finding:
    said = f"{remark.message}. {remark.remedy}" if remark.remedy else remark.message
    return Finding(remark.level, f"connector {connector.name}", None, remark.key, said)


@cache
def _kinds() -> tuple[PipelineKind, ...]:
    from twinlog.pipelines.plugins import all_plugins  # noqa: PLC0415  loads pyspark: a second

    return tuple(PipelineKind(plugin) for plugin in all_plugins() if plugin.kind in {"source", "sink"})


def _definitions(name: str) -> list[Definition]:
    from twinlog.pipelines.validate import definitions  # noqa: PLC0415  loads pyspark: a second

    def definition(of: Mapping[str, Any]) -> Definition:
        return Definition(
            of["name"], of["type"], of["default_value"], of["documentation"], of["required"], of["importance"]
        )

    return sorted(map(definition, definitions(name)), key=lambda key: not key.required)
