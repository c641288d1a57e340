"""`twinlog pipeline`: look at pipelines, check and try their configurations, handle dead letters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from twinlog.errors import ConnectorRefused, UsageError
from twinlog.surface.cli.commands import pipeline_backfill, pipeline_dlq, pipeline_looks
from twinlog.surface.cli.commands.connect_rest import DEFAULT_URL, Url, ask
from twinlog.surface.cli.commands.pipeline_files import File, WorkerFile, pipeline_spark, read_files, read_one
from twinlog.surface.cli.effects import DryRun, would
from twinlog.surface.cli.grammar import Commands
from twinlog.surface.cli.output import Form, Output, print_facts, screen
from twinlog.surface.cli.words import duration, moment, number

app = Commands("Data pipelines: sources and sinks of Kafka Connect on Spark.")
app.command()(pipeline_looks.explain)
app.command()(pipeline_looks.diff)
app.command()(pipeline_looks.verify)
app.command()(pipeline_backfill.backfill)
app.add_typer(pipeline_dlq.app, name="dlq", short_help="parked records: list, show, replay, drop")

Name = Annotated[str, typer.Argument(help="Name of a pipeline.")]


@app.command("list")
def list_all(*, url: Url = DEFAULT_URL, output: Form = Output.TABLE) -> None:
    """All pipelines of a service: state and cause, rate, lag, tasks, parked records."""
    rows = ask(url, "GET", "v1", "pipelines")
    if output.for_programs:
        print_facts(rows, output)
    elif not rows:
        typer.echo(f"{url}: no pipelines")
    else:
        _table(rows, output)


def _table(rows: list[dict[str, Any]], output: Output) -> None:
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    words = ["pipeline", "type", "worker", "state"]
    for title in (*words, "records/s", "lag", "lag time", "tasks", "parked", "restarts", "reason"):
        table.add_column(title, justify="left" if title in {*words, "reason"} else "right", overflow="fold")
    for row in rows:
        runs, sink = row["records"] is not None, row["type"] == "sink"
        failed = f" ({row['tasks_failed']} failed)" if row["tasks_failed"] else ""
        numbers = [
            number(row["records_per_second"]), number(row["lag_records"]) if sink else "-",
            duration(row["lag_seconds"]) if sink else "-", f"{row['tasks']}{failed}", number(row["parked"]),
            number(row["restarts"]),
        ]  # fmt: skip
        if not runs:
            numbers = ["-"] * len(numbers)
        worker = row["worker"] or "unknown"
        table.add_row(row["name"], row["type"], worker, row["state"], *numbers, escape(row["reason"] or _run_of(row)))
    screen(output).print(table)


def _run_of(row: dict[str, Any]) -> str:
    """How far a pipeline is that does not run all the time."""
    said = [f"caught up {moment(row['caught_up_ms'])}"] if row["caught_up_ms"] else []
    said += [f"next run {moment(row['next_run_ms'])}"] if row["next_run_ms"] else []
    return ", ".join(said)


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="Name of a pipeline.")],
    *,
    url: Url = DEFAULT_URL,
    output: Form = Output.YAML,
) -> None:
    """State and cause, rate, lag, tasks, configuration, topics and positions of one pipeline."""
    facts = ask(url, "GET", "v1", "pipelines", name)
    facts["offsets"] = ask(url, "GET", "connectors", name, "offsets")["offsets"]
    print_facts(facts, Output.YAML if output is Output.TABLE else output)


@app.command()
def plugins(*, output: Form = Output.TABLE) -> None:
    """Connectors, converters, transforms and predicates that configurations can use here."""
    from twinlog.pipelines.plugins import all_plugins, broken_plugins

    rows = [
        {"type": plugin.kind, "class": plugin.name, "version": plugin.version, "package": plugin.package}
        for plugin in all_plugins()
    ]
    if output is not Output.TABLE:
        print_facts(rows, output)
        return
    for row in rows:
        typer.echo(f"{row['type']:<15} {row['class']:<70} {row['package']} {row['version']}")
    for finding in broken_plugins():
        typer.echo(f"warning: {finding.key}: {finding.message}", err=True)


@app.command()
def validate(
    file: File,
    *,
    config: WorkerFile = None,
    offline: Annotated[bool, typer.Option("--offline", help="Do not ask the systems.")] = False,
    output: Form = Output.TABLE,
) -> None:
    """Check a configuration: keys, classes, transforms, connection. Exit code 1: it has errors."""
    from twinlog.pipelines.validate import checked, findings_of

    name, its, worker = read_files(file, config)
    findings = findings_of(name, its, worker.config)
    if not offline and not any(finding.level == "error" for finding in findings):
        findings += checked(its)
    rows = [{"level": finding.level, "key": finding.key, "message": finding.message} for finding in findings]
    if output is not Output.TABLE:
        print_facts(rows, output)
    else:
        for row in rows:
            typer.echo(f"{row['level']}: {row['key'] + ': ' if row['key'] else ''}{row['message']}")
        if not rows:
            typer.echo(f"{name}: nothing to remark")
    if any(finding.level == "error" for finding in findings):
        raise typer.Exit(1)


@app.command()
def preview(
    file: File,
    *,
    config: WorkerFile = None,
    rows: Annotated[int, typer.Option(help="Number of sample records.", min=1, max=1000)] = 5,
    output: Form = Output.TABLE,
) -> None:
    """Sample records after each step, and what the target would be sent. Nothing is written anywhere.

    A sink shows the last records of its topics, a source the first rows that it would read.
    """
    from twinlog.pipelines.preview import preview
    from twinlog.spark.session import stop_session

    connector, worker = read_one(file, config)
    spark = pipeline_spark()
    try:
        previewed = preview(spark, connector, worker, rows)
    except ConnectorRefused as error:
        raise UsageError(str(error)) from error
    finally:
        stop_session(spark)
    facts = {
        "remarks": previewed.remarks,
        "steps": [{"step": step.name, "records": step.rows} for step in previewed.steps],
        "would send": previewed.actions,
    }
    print_facts(facts, Output.YAML if output is Output.TABLE else output)


@app.command()
def test(
    file: File,
    cases: Annotated[Path, typer.Argument(help="YAML: records in, records out.")],
    config: WorkerFile = None,  # noqa: PT028  a command, not a test
    output: Form = Output.TABLE,  # noqa: PT028
) -> None:
    """Run records through a configuration and compare the result. Needs no cluster. Exit code 1: they differ."""
    import yaml

    from twinlog.pipelines.cases import differences, read_cases
    from twinlog.pipelines.settings import SettingsRefused
    from twinlog.spark.session import stop_session

    connector, worker = read_one(file, config)
    try:
        wanted = read_cases(yaml.safe_load(cases.read_text()))
    except OSError as error:
        raise UsageError(f"{cases}: the file cannot be read ({error.strerror})") from error
    except yaml.YAMLError as error:
        raise UsageError(f"{cases}: this is no YAML: {' '.join(str(error).split())}") from error
    except SettingsRefused as error:
        raise UsageError(f"{cases}: {error}") from error
    spark = pipeline_spark()
    try:
        told = {case.name: list(differences(spark, connector, worker, case)) for case in wanted}
    finally:
        stop_session(spark)
    if output.for_programs:
        print_facts([{"case": name, "differences": lines} for name, lines in told.items()], output)
    else:
        for name, lines in told.items():
            typer.echo(f"{'differs' if lines else 'ok'}: {name}")
            for line in lines:
                typer.echo(f"  {line}")
    if any(told.values()):
        raise typer.Exit(1)


@app.command()
def offsets(
    name: Name,
    *,
    url: Url = DEFAULT_URL,
    change: Annotated[
        str | None, typer.Option("--set", help='JSON as Connect takes it: [{"partition": {…}, "offset": {…}}].')
    ] = None,
    reset: Annotated[bool, typer.Option("--reset", help="Remove all positions.")] = False,
    dry_run: DryRun = False,
    output: Form = Output.YAML,
) -> None:
    """Positions of a pipeline. It must be stopped before they are changed."""
    if change is not None and reset:
        raise UsageError("--set and --reset exclude each other")
    if change is None and not reset:
        print_facts(ask(url, "GET", "connectors", name, "offsets")["offsets"], output)
        return
    try:
        wishes = None if change is None else json.loads(change)
    except ValueError as error:
        raise UsageError(f"--set: no JSON: {error}") from error
    if dry_run:
        would(f"{name}: would {'remove all positions' if reset else f'set {change}'}")
        return
    answer = (
        ask(url, "DELETE", "connectors", name, "offsets")
        if reset
        else ask(url, "PATCH", "connectors", name, "offsets", body={"offsets": wishes})
    )
    typer.echo(answer["message"])
