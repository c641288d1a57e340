"""`twinlog validate`: what a settings file comes to, and what is wrong with it, before anything starts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from twinlog.config.explain import Explanation
from twinlog.config.explain import explain as explain_setting
from twinlog.config.lookup import Origin
from twinlog.config.resolve import Resolved, load_file
from twinlog.errors import Finding, SettingsInvalid
from twinlog.surface.cli.options import Clusters, ConfigFile
from twinlog.surface.cli.output import chosen_clusters

_COLOURS = {"info": "cyan", "warning": "yellow", "error": "red"}
# Client settings that are shown even when nobody set them: the first questions that are asked about a link.
_ALWAYS_SHOWN = ("bootstrap.servers", "security.protocol", "isolation.level", "auto.offset.reset")


class Output(StrEnum):
    """How a command answers."""

    TEXT = "text"
    JSON = "json"


def validate(
    config: ConfigFile,
    clusters: Clusters = None,
    explain: Annotated[
        str | None, typer.Option("--explain", metavar="KEY", help="Explain one setting: its value, and what decided.")
    ] = None,
    output: Annotated[Output, typer.Option("--output", "-o", help="text or json.")] = Output.TEXT,
) -> None:
    """Check a settings file and show what each link resolves to, and from which line. Exit code 2 on errors."""
    wanted = chosen_clusters(clusters)
    if explain is not None:
        _explain(config, wanted, explain, output)
        return
    try:
        resolved = load_file(config, wanted)
    except SettingsInvalid as invalid:
        if output is Output.JSON:
            typer.echo(_as_json(str(config), invalid.findings, None))
        else:
            _print_findings(invalid.findings)
        raise typer.Exit(2) from None
    if output is Output.JSON:
        typer.echo(_as_json(str(config), resolved.findings, resolved))
        return
    _print_findings(resolved.findings)
    for link, origins in resolved.origins.items():
        Console().print(_table(link, origins.items()))
    for pair in resolved.heartbeats:
        typer.echo(f"{pair.name} is not mirrored; a heartbeat is written to {pair.target} every {pair.seconds} s")


def _explain(config: Path, wanted: tuple[str, ...], name: str, output: Output) -> None:
    explanation = explain_setting(config, wanted, name)
    if output is Output.JSON:
        answer = {**asdict(explanation), "findings": [finding._asdict() for finding in explanation.findings]}
        typer.echo(json.dumps(answer, indent=2))
    else:
        typer.echo("\n".join(_as_text(explanation)))
        _print_findings(explanation.findings)
    if any(finding.level == "error" for finding in explanation.findings):
        raise typer.Exit(2)


def _as_text(it: Explanation) -> Iterator[str]:
    yield typer.style(it.name, bold=True) + f"  {it.meaning}"
    told = {
        "support": it.support,
        "allowed": it.allowed,
        "default": it.default,
        "MirrorMaker 2": it.mirrormaker,
        "written at": it.places,
    }
    yield from (f"  {title:14} {text}" for title, text in told.items())
    if not it.outcomes:
        yield "No link of this file reads it."
    for one in it.outcomes:
        place = "default" if one.decided is None else f"line {one.decided.line}: {one.decided.key}"
        whose = ", ".join(one.clients)
        yield typer.style(one.link, bold=True) + (f" {whose}" if whose else "") + f" = {one.value}  ({place})"
        for lost in one.overridden:
            yield f"    wins over line {lost.line}: {lost.key} = {lost.value}; {lost.why}"
        if len(one.order) > 1:
            yield f"    looked for, in this order: {', '.join(one.order)}"


def _print_findings(findings: Iterable[Finding]) -> None:
    for finding in findings:
        typer.echo(typer.style(f"{finding.level:7} ", fg=_COLOURS[finding.level]) + str(finding))


def _table(link: str, origins: Iterable[tuple[str, Origin]]) -> Table:
    table = Table(title=link, title_justify="left", title_style="bold")
    for title in ("setting", "value", "from"):
        table.add_column(title, overflow="fold")
    for name, origin in origins:
        client, _, setting = name.rpartition(": ")
        if client and origin.key is None and setting not in _ALWAYS_SHOWN:
            continue
        place = "default" if origin.line is None else f"line {origin.line}: {origin.key}"
        # As Text: patterns with brackets would be taken for markup.
        table.add_row(Text(name), Text(origin.value), Text(place, style="dim" if origin.line is None else ""))
    return table


def _as_json(file: str, findings: Iterable[Finding], resolved: Resolved | None) -> str:
    links: list[dict[str, Any]] = []
    for link, origins in resolved.origins.items() if resolved else ():
        settings = [{"setting": name, **origin._asdict()} for name, origin in origins.items()]
        links.append({"link": link, "settings": settings})
    answer = {
        "file": file,
        "valid": resolved is not None,
        "findings": [finding._asdict() for finding in findings],
        "links": links,
        "heartbeats_only": [pair.name for pair in resolved.heartbeats] if resolved else [],
    }
    return json.dumps(answer, indent=2)
