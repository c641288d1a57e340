"""Transforms of links: checked where a link is about to run, and put into its query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from twinlog.errors import Finding, SettingsInvalid

if TYPE_CHECKING:
    from twinlog.config.resolve import Resolved
    from twinlog.config.settings import LinkSettings
    from twinlog.flow.source import LinkRun
    from twinlog.spark.session import Session


def transform_findings(links: Iterable[LinkSettings], file: str, lines: Mapping[str, int | None]) -> list[Finding]:
    """Everything that is wrong with transforms of links; `lines` are those of the file's keys."""
    findings: dict[Finding, None] = {}
    for link in links:
        if not link.transforms:
            continue
        from twinlog.pipelines.link_rules import link_findings

        for finding in link_findings(link.transforms):
            own, shared = f"{link.name}.{finding.key}", finding.key or ""
            key = own if own in lines or shared not in lines else shared
            findings[Finding("error", file, lines.get(key), key, finding.message)] = None
    return list(findings)


def check_transforms(links: Iterable[LinkSettings], file: str, lines: Mapping[str, int | None] | None = None) -> None:
    """Raise SettingsInvalid when a link cannot run its transforms."""
    findings = transform_findings(links, file, lines or {})
    if findings:
        raise SettingsInvalid("\n  ".join([f"{file}: transforms are wrong", *map(str, findings)]), tuple(findings))


def check_file(resolved: Resolved) -> Resolved:
    """A file that was read, unless a link of it cannot run its transforms. Raises SettingsInvalid."""
    lookup = resolved.draft.lookup
    check_transforms(resolved.links, lookup.file, {key: entry.line for key, entry in lookup.entries.items()})
    return resolved


def start_link_query(session: Session, mirror: Session, run: LinkRun, checkpoint: Path) -> Any:
    """The query of a link: on the session `mirror`, or with transforms on one of its own."""
    from twinlog.engine.query import start_query

    if not run.link.transforms:
        return start_query(mirror, run, checkpoint)
    from twinlog.pipelines.link_steps import link_session, link_steps

    return start_query(link_session(session), run, checkpoint, link_steps(run.link.transforms))
