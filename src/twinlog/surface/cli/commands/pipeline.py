"""`twinlog pipeline`: look at pipelines, check and try their configurations, handle dead letters."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from twinlog.config.contexts import ServiceAddress
from twinlog.errors import UsageError
from twinlog.surface.cli.effects import DryRun, would
from twinlog.surface.cli.grammar import Commands
from twinlog.surface.cli.output import Form, Output, print_facts
from twinlog.surface.cli.service_client import opened

if TYPE_CHECKING:
    from twinlog.pipelines.connector import Connector
    from twinlog.pipelines.worker_settings import Worker
    from twinlog.spark.session import Session

app = Commands("Data pipelines: sources and sinks of Kafka Connect on Spark.")

Url = Annotated[str, typer.Option("--url", help="Address of a worker's REST interface.", envvar="TWINLOG_CONNECT_URL")]
Name = Annotated[str, typer.Argument(help="Name of a pipeline.")]
File = Annotated[Path, typer.Argument(help="A connector: JSON or properties file.")]
WorkerFile = Annotated[Path | None, typer.Option("--config", "-c", help="File of a Connect worker.")]
_URL = "http://127.0.0.1:8083"


def _ask(url: str, method: str, *path: str, query: str = "", body: object | None = None) -> Any:
    """Ask a worker, as the user who runs it where no login is set."""
    if not url.startswith(("http://", "https://", "unix:")):
        raise UsageError(f"--url: {url} does not start with http://, https:// or unix:")
    return opened(ServiceAddress(url=url)).send(method, *path, query=query, body=body)


@app.command("list")
def list_all(*, url: Url = _URL, output: Form = Output.TABLE) -> None:
    """All pipelines of a worker: state, tasks, type."""
    found = _ask(url, "GET", "connectors", query="?expand=status")
    rows = [
        {
            "name": name,
            "type": one["status"]["type"],
            "state": one["status"]["connector"]["state"],
            "tasks": ", ".join(task["state"] for task in one["status"]["tasks"]) or "-",
            "trace": one["status"]["connector"].get("trace", ""),
        }
        for name, one in sorted(found.items())
    ]
    if output is not Output.TABLE:
        print_facts(rows, output)
    elif not rows:
        typer.echo(f"{url}: no pipelines")
    for row in rows if output is Output.TABLE else ():
        typer.echo(
            f"{row['name']:<24} {row['type']:<7} {row['state']:<10} tasks {row['tasks']} {row['trace']}".rstrip()
        )


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="Name of a pipeline.")], *, url: Url = _URL, output: Form = Output.YAML
) -> None:
    """Configuration, status and positions of one pipeline."""
    facts = {
        "status": _ask(url, "GET", "connectors", name, "status"),
        "config": _ask(url, "GET", "connectors", name, "config"),
        "offsets": _ask(url, "GET", "connectors", name, "offsets")["offsets"],
        "topics": _ask(url, "GET", "connectors", name, "topics")[name]["topics"],
    }
    print_facts(facts, output)


@app.command()
def plugins(*, output: Form = Output.TABLE) -> None:
    """Connectors, converters, transforms and predicates that configurations can use here."""
    from twinlog.pipelines.plugins import all_plugins, broken_plugins

    rows = [
        {"type": one.kind, "class": one.name, "version": one.version, "package": one.package} for one in all_plugins()
    ]
    if output is not Output.TABLE:
        print_facts(rows, output)
        return
    for row in rows:
        typer.echo(f"{row['type']:<15} {row['class']:<70} {row['package']} {row['version']}")
    for finding in broken_plugins():
        typer.echo(f"warning: {finding.key}: {finding.message}", err=True)


def _read(file: Path, worker_file: Path | None) -> tuple[str, dict[str, str], Worker]:
    from twinlog.pipelines.files import read_connector_file, read_properties
    from twinlog.pipelines.settings import SettingsRefused
    from twinlog.pipelines.worker_settings import read_worker

    try:
        name, config = read_connector_file(file)
        return name, config, read_worker({} if worker_file is None else read_properties(worker_file))
    except SettingsRefused as error:
        raise UsageError(str(error)) from error


def _connector(file: Path, worker_file: Path | None) -> tuple[Connector, Worker]:
    from twinlog.pipelines.connector import read_connector
    from twinlog.pipelines.settings import SettingsRefused

    name, config, worker = _read(file, worker_file)
    try:
        return read_connector(name, config, worker.config), worker
    except SettingsRefused as error:
        raise UsageError(str(error)) from error


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

    name, its, worker = _read(file, config)
    findings = findings_of(name, its, worker.config)
    if not offline and not any(one.level == "error" for one in findings):
        findings += checked(its)
    rows = [{"level": one.level, "key": one.key, "message": one.message} for one in findings]
    if output is not Output.TABLE:
        print_facts(rows, output)
    else:
        for row in rows:
            typer.echo(f"{row['level']}: {row['key'] + ': ' if row['key'] else ''}{row['message']}")
        if not rows:
            typer.echo(f"{name}: nothing to remark")
    if any(one.level == "error" for one in findings):
        raise typer.Exit(1)


def _spark() -> Session:
    from twinlog.pipelines.session import start_pipeline_spark

    return start_pipeline_spark(Path(tempfile.mkdtemp(prefix="twinlog-preview-")), 2)


@app.command()
def preview(
    file: File,
    *,
    config: WorkerFile = None,
    rows: Annotated[int, typer.Option(help="So many sample records.", min=1, max=1000)] = 5,
    output: Form = Output.TABLE,
) -> None:
    """Sample records after each step, and what the sink would do. Nothing is written anywhere."""
    from twinlog.pipelines.preview import preview_sink, sample_records
    from twinlog.pipelines.sink_planner import SinkPlanner

    connector, worker = _connector(file, config)
    if connector.kind != "sink":
        raise UsageError(f"{connector.name}: preview shows sinks; a source has no records in Kafka yet")
    records = sample_records(worker, SinkPlanner(connector, worker, 0), rows)
    if not records:
        raise UsageError(f"{connector.name}: its topics hold no records, so there is nothing to show")
    spark = _spark()
    try:
        found = preview_sink(spark, connector, worker, records)
    finally:
        spark.stop()
    facts = {
        "remarks": found.remarks,
        "steps": [{"step": one.name, "records": one.rows} for one in found.steps],
        "sink": found.actions,
    }
    print_facts(facts, Output.YAML if output is Output.TABLE else output)


@app.command()
def test(
    file: File,
    cases: Annotated[Path, typer.Argument(help="YAML: records in, records out.")],
    output: Form = Output.TABLE,  # noqa: PT028  a command, not a test
) -> None:
    """Play records through a configuration and compare what comes out. Needs no cluster. Exit code 1: they differ."""
    import yaml

    from twinlog.pipelines.cases import differences, read_cases
    from twinlog.pipelines.settings import SettingsRefused

    connector, worker = _connector(file, None)
    try:
        wanted = read_cases(yaml.safe_load(cases.read_text()))
    except (OSError, yaml.YAMLError, SettingsRefused) as error:
        raise UsageError(f"{cases}: {error}") from error
    spark = _spark()
    try:
        told = {case.name: list(differences(spark, connector, worker, case)) for case in wanted}
    finally:
        spark.stop()
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
    url: Url = _URL,
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
        print_facts(_ask(url, "GET", "connectors", name, "offsets")["offsets"], output)
        return
    try:
        wishes = None if change is None else json.loads(change)
    except ValueError as error:
        raise UsageError(f"--set: no JSON: {error}") from error
    if dry_run:
        would(f"{name}: would {'remove all positions' if reset else f'set {change}'}")
        return
    answer = (
        _ask(url, "DELETE", "connectors", name, "offsets")
        if reset
        else _ask(url, "PATCH", "connectors", name, "offsets", body={"offsets": wishes})
    )
    typer.echo(answer["message"])
