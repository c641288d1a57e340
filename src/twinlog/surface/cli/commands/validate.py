"""`twinlog validate`: what a settings file sets, and what is wrong with it, before anything starts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from twinlog.errors import Finding, SettingsInvalid
from twinlog.surface.cli.options import Clusters, ConfigFile
from twinlog.surface.cli.output import Form, Output, chosen_clusters, painted, print_facts, print_findings, screen
from twinlog.surface.cli.validate_view import by_weight, rows_of, table_of, verdict

if TYPE_CHECKING:
    from twinlog.config.resolve import Resolved
    from twinlog.config.telling.explain import Explanation


def validate(
    config: ConfigFile,
    clusters: Clusters = None,
    explain: Annotated[
        str | None, typer.Option("--explain", metavar="KEY", help="Explain one setting: its value, and what decided.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Show defaults too, not only what the file sets.")] = False,
    output: Form = Output.TABLE,
) -> None:
    """Check a settings file; show what it sets for each link, and from which line. The verdict is the last line.

    Exit code 2 on errors. Defaults are shown with --all or -o wide.
    """
    from twinlog.config.resolve import load_file
    from twinlog.service.link_transforms import check_file
    from twinlog.sync.answers.logins import login_findings

    wanted = chosen_clusters(clusters)
    if explain is not None:
        _explain(config, wanted, explain, output)
        return
    try:
        resolved = check_file(load_file(config, wanted))
    except SettingsInvalid as invalid:
        if output.for_programs:
            print_facts(_as_json(str(config), invalid.findings, None), output)
        else:
            print_findings(by_weight(invalid.findings), err=False)
            typer.echo(painted(verdict(str(config), invalid.findings, None), "red"))
        raise typer.Exit(2) from None
    findings = [*resolved.findings, *login_findings(resolved.links, str(config))]
    if output.for_programs:
        print_facts(_as_json(str(config), findings, resolved), output)
        return
    for link, origins in resolved.origins.items():
        rows = list(rows_of(origins, everything=everything or output is Output.WIDE))
        screen(output).print(table_of(link, rows))
        if len(rows) < len(origins) and not everything and output is not Output.WIDE:
            typer.echo("All other settings have their defaults; --all shows them.")
    for pair in resolved.heartbeats:
        typer.echo(f"{pair.name} is not mirrored; a heartbeat is written to {pair.target} every {pair.seconds} s")
    print_findings(by_weight(findings), err=False)
    links = [link.name + ("" if link.topics.include else " (copies no topic)") for link in resolved.links]
    typer.echo(painted(verdict(str(config), findings, links), "green"))


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
    for outcome in it.outcomes:
        place = "default" if outcome.decided is None else f"line {outcome.decided.line}: {outcome.decided.key}"
        whose = ", ".join(outcome.clients)
        yield painted(outcome.link, bold=True) + (f" {whose}" if whose else "") + f" = {outcome.value}  ({place})"
        for lost in outcome.overridden:
            yield f"    wins over line {lost.line}: {lost.key} = {lost.value}; {lost.why}"
        if len(outcome.order) > 1:
            yield f"    looked for, in this order: {', '.join(outcome.order)}"


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
