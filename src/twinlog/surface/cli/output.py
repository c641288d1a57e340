"""How commands answer: the form that was asked for, findings of a settings file, errors with their way out.

The one place that knows tables from JSON: a command hands its facts over, or draws them on the `screen`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from twinlog.errors import Finding, SettingsInvalid, TwinlogError

if TYPE_CHECKING:
    from rich.console import Console

_COLOURS: Final = {"info": "cyan", "warning": "yellow", "error": "red"}
_UNBOUNDED: Final = 1000
"""Columns of a pipe for `wide`: nothing is cut or folded."""


class Output(StrEnum):
    """For people, or for programs."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"

    @property
    def for_programs(self) -> bool:
        """Whether facts are wanted, not a picture of them."""
        return self in {Output.JSON, Output.YAML}


Form = Annotated[
    Output, typer.Option("--output", "-o", help="For people: table, or wide with all columns; for programs: json, yaml")
]


def print_facts(facts: object, output: Output) -> None:
    """Answer a program, to stdout."""
    typer.echo(as_yaml(facts) if output is Output.YAML else json.dumps(facts, indent=2), nl=output is not Output.YAML)


def print_event(facts: dict[str, Any], output: Output) -> None:
    """Tell a program something that has just happened: one line of JSON, or one document of YAML."""
    print("---\n" + as_yaml(facts) if output is Output.YAML else json.dumps(facts), flush=True)


def as_yaml(facts: object) -> str:
    """The same facts as in JSON: what is no plain value there is none here."""
    import yaml

    return yaml.safe_dump(json.loads(json.dumps(facts)), sort_keys=False)


def screen(output: Output = Output.TABLE) -> Console:  # noqa: ARG001  callers say what they print
    """Where tables are drawn: as wide as the terminal; without one nothing is cut off."""
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = _UNBOUNDED
    return console


def painted(text: str, colour: str | None = None, *, bold: bool | None = None) -> str:
    """Text in a colour; typer leaves it out where no terminal is, this where nobody wants it (NO_COLOR, TERM)."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") in {"dumb", "unknown"}
    return text if plain else typer.style(text, fg=colour, bold=bold)


def chosen_clusters(clusters: Iterable[str] | None) -> tuple[str, ...]:
    """Return the aliases that `--clusters` names; given several times, or with commas."""
    return tuple(alias.strip() for part in clusters or () for alias in part.split(",") if alias.strip())


def print_findings(findings: Iterable[Finding], output: Output = Output.TABLE, *, err: bool = True) -> None:
    """Say what is remarkable about a settings file: to stderr, so that answers stay clean."""
    for finding in findings:
        level = f"{finding.level:7} "
        typer.echo((level if output.for_programs else painted(level, _COLOURS[finding.level])) + str(finding), err=err)


def wanted_form(arguments: Sequence[str]) -> Output:
    """The form that a command line asks for; needed where the command line itself could not be read."""
    for at, word in enumerate(arguments):
        if word in {"-o", "--output"} and at + 1 < len(arguments):
            value = arguments[at + 1]
        elif word.startswith("--output="):
            value = word.removeprefix("--output=")
        elif word.startswith("-o") and not word.startswith("--"):
            value = word.removeprefix("-o").removeprefix("=")
        else:
            continue
        if value in set(Output):
            return Output(value)
    return Output.TABLE


def print_problem(code: str, message: str, remedy: str, output: Output, **more: object) -> None:
    """Tell a program an error, with the keys of the REST interface: to stdout, where it reads answers."""
    print_facts({"code": code, "message": message, "remedy": remedy, **more}, output)


def print_error(error: TwinlogError, output: Output = Output.TABLE) -> None:
    """One sentence that starts with the thing, and the way out."""
    if output.for_programs:
        print_problem(error.code, str(error), error.remedy_text(), output)
        return
    typer.echo(painted("error: ", "red", bold=True) + str(error), err=True)
    print_remedy(error)


def print_invalid(error: SettingsInvalid, output: Output = Output.TABLE) -> None:
    """Everything that is wrong with a settings file."""
    if output.for_programs:
        findings = [finding._asdict() for finding in error.findings]
        print_problem(error.code, error.problem, error.remedy_text(), output, findings=findings)
        return
    print_findings(sorted(error.findings, key=lambda finding: finding.level == "error"))
    print_remedy(error)


def print_remedy(error: TwinlogError) -> None:
    """What to do about it, if anything can be done."""
    if error.remedy_text():
        typer.echo(painted("  try: ", "cyan") + error.remedy_text(), err=True)
