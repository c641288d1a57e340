"""`twinlog validate`: what a settings file comes to, and what is wrong with it, before anything starts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from twinlog.errors import Finding, SettingsInvalid
from twinlog.surface.cli.options import Clusters, ConfigFile
from twinlog.surface.cli.output import Form, Output, chosen_clusters, painted, print_facts, print_findings, screen

if TYPE_CHECKING:
    from twinlog.config.resolve import Resolved
    from twinlog.config.telling.explain import Explanation
    from twinlog.config.text.lookup import Origin

# Client settings that are shown even when nobody set them: the first questions that are asked about a link.
_ALWAYS_SHOWN = ("bootstrap.servers", "security.protocol", "isolation.level", "auto.offset.reset")


def validate(
    config: ConfigFile,
    clusters: Clusters = None,
    explain: Annotated[
        str | None, typer.Option("--explain", metavar="KEY", help="Explain one setting: its value, and what decided.")
    ] = None,
    output: Form = Output.TABLE,
) -> None:
    """Check a settings file and show what each link resolves to, and from which line. Exit code 2 on errors."""
    from twinlog.config.resolve import load_file
    from twinlog.sync.answers.logins import login_findings

    wanted = chosen_clusters(clusters)
    if explain is not None:
        _explain(config, wanted, explain, output)
        return
    try:
        resolved = load_file(config, wanted)
    except SettingsInvalid as invalid:
        if output.for_programs:
            print_facts(_as_json(str(config), invalid.findings, None), output)
        else:
            print_findings(invalid.findings, err=False)
        raise typer.Exit(2) from None
    findings = [*resolved.findings, *login_findings(resolved.links, str(config))]
    if output.for_programs:
        print_facts(_as_json(str(config), findings, resolved), output)
        return
    print_findings(findings, err=False)
    for link, origins in resolved.origins.items():
        screen(output).print(_table(link, origins.items(), wide=output is Output.WIDE))
    for pair in resolved.heartbeats:
        typer.echo(f"{pair.name} is not mirrored; a heartbeat is written to {pair.target} every {pair.seconds} s")


def _explain(config: Path, wanted: tuple[str, ...], name: str, output: Output) -> None:
    from twinlog.config.telling.explain import explain as explain_setting

    explanation = explain_setting(config, wanted, name)
    if output.for_programs:
        findings = [finding._asdict() for finding in explanation.findings]
        print_facts({**asdict(explanation), "findings": findings}, output)
    else:
        typer.echo("\n".join(_as_text(explanation)))
        print_findings(explanation.findings, err=False)
    if any(finding.level == "error" for finding in explanation.findings):
        raise typer.Exit(2)


def _as_text(it: Explanation) -> Iterator[str]:
    yield painted(it.name, bold=True) + f"  {it.meaning}"
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
        yield painted(one.link, bold=True) + (f" {whose}" if whose else "") + f" = {one.value}  ({place})"
        for lost in one.overridden:
            yield f"    wins over line {lost.line}: {lost.key} = {lost.value}; {lost.why}"
        if len(one.order) > 1:
            yield f"    looked for, in this order: {', '.join(one.order)}"


def _table(link: str, origins: Iterable[tuple[str, Origin]], *, wide: bool) -> Table:
    table = Table(title=link, title_justify="left", title_style="bold")
    for title in ("setting", "value", "from"):
        table.add_column(title, overflow="fold")
    for name, origin in origins:
        client, _, setting = name.rpartition(": ")
        if not wide and client and origin.key is None and setting not in _ALWAYS_SHOWN:
            continue
        place = "default" if origin.line is None else f"line {origin.line}: {origin.key}"
        # As Text: patterns with brackets would be taken for markup.
        table.add_row(Text(name), Text(origin.value), Text(place, style="dim" if origin.line is None else ""))
    return table


def _as_json(file: str, findings: Iterable[Finding], resolved: Resolved | None) -> dict[str, Any]:
    links: list[dict[str, Any]] = []
    for link, origins in resolved.origins.items() if resolved else ():
        settings = [{"setting": name, **origin._asdict()} for name, origin in origins.items()]
        links.append({"link": link, "settings": settings})
    return {
        "file": file,
        "valid": resolved is not None,
        "findings": [finding._asdict() for finding in findings],
        "links": links,
        "heartbeats_only": [pair.name for pair in resolved.heartbeats] if resolved else [],
    }
