"""`twinlog pipeline explain | diff | verify`: what a file means, what differs from what runs, is a copy right."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final

import typer

from twinlog.errors import UsageError
from twinlog.surface.cli.commands.connect_rest import DEFAULT_URL, Url, ask
from twinlog.surface.cli.commands.pipeline_files import File, WorkerFile, pipeline_spark, read_one
from twinlog.surface.cli.output import Form, Output, print_facts

_KINDS: Final = ("missing", "extra", "different")  # of a row that is not the same in both tables


def explain(file: File, *, config: WorkerFile = None, output: Form = Output.TABLE) -> None:
    """What a configuration means: delivery, positions, bad records, and where each value comes from."""
    from twinlog.pipelines.explain import explained
    from twinlog.pipelines.settings import SettingsRefused

    connector, worker = read_one(file, config)
    try:
        facts = explained(connector, worker)
    except SettingsRefused as error:
        raise UsageError(str(error)) from error
    if output is not Output.TABLE:
        print_facts(facts, output)
        return
    settings = facts.pop("settings")
    for name, value in facts.items():
        shown = (", ".join(value) or "none") if isinstance(value, list) else value
        typer.echo(f"{name:<12} {shown}")
    typer.echo()
    for row in settings:
        if row["from"] != "default":
            typer.echo(f"{row['key']} = {row['value']}\n    {row['meaning']}")
    typer.echo(
        f"\n{sum(1 for row in settings if row['from'] == 'default')} keys have their defaults; -o yaml shows them"
    )


def diff(file: File, *, url: Url = DEFAULT_URL, output: Form = Output.TABLE) -> None:
    """How a file differs from what the worker runs under that name. Exit code 1: it differs."""
    from twinlog.config.security.masking import masked
    from twinlog.pipelines.files import read_connector_file
    from twinlog.pipelines.settings import SettingsRefused

    try:
        name, wished = read_connector_file(file)
    except SettingsRefused as error:
        raise UsageError(str(error)) from error
    runs: dict[str, str] = ask(url, "GET", "connectors", name, "config")
    shown = masked({**wished, "name": name})
    rows = [
        {"key": key, "file": shown.get(key), "worker": runs.get(key)}
        for key in sorted({*shown, *runs})
        if shown.get(key) != runs.get(key)
    ]
    if output is not Output.TABLE:
        print_facts(rows, output)
    elif not rows:
        typer.echo(f"{name}: {url} runs what the file says (secrets cannot be compared)")
    for row in rows if output is Output.TABLE else ():
        typer.echo(f"{row['key']}: file {_said(row['file'])}, worker {_said(row['worker'])}")
    if rows:
        raise typer.Exit(1)


def _said(value: str | None) -> str:
    return "does not set it" if value is None else f"has {value!r}"


def verify(
    source: Annotated[Path, typer.Argument(help="The JDBC source: JSON or properties file.")],
    sink: Annotated[Path, typer.Argument(help="The JDBC sink that writes the copy: JSON or properties file.")],
    *,
    table: Annotated[str, typer.Option("--table", help="Table of the source.")],
    key: Annotated[
        str | None, typer.Option("--key", help="Column that names a row; otherwise pk.fields says it.")
    ] = None,
    parts: Annotated[int, typer.Option("--parts", help="Ranges of keys that are compared side by side.", min=1)] = 16,
    settle: Annotated[
        float, typer.Option("--settle", help="Seconds before rows that differ are read again.", min=0)
    ] = 5.0,
    output: Form = Output.TABLE,
) -> None:
    """Compare a table with its copy, row by row, on Spark. Exit code 1: rows differ."""
    from twinlog.pipelines.api import Retriable
    from twinlog.pipelines.sources.jdbc.compare import compare_tables
    from twinlog.spark.session import stop_session
    from twinlog.surface.cli.commands.pipeline_files import table_sides

    source_side, target_side, named = table_sides(source, sink, table, key)
    spark = pipeline_spark()
    try:
        compared = compare_tables(spark, source_side, target_side, named, parts=parts, settle_s=settle)
    except (Retriable, ValueError) as error:
        raise UsageError(str(error)) from error
    finally:
        stop_session(spark)
    facts: dict[str, Any] = {
        "source": {"table": source_side.table, "rows": compared.source_rows},
        "target": {"table": target_side.table, "rows": compared.target_rows},
        "columns": list(compared.columns),
        "columns of one side only": list(compared.left_out),
        **{kind: compared.count(kind) for kind in _KINDS},
        "rows": [difference._asdict() for difference in compared.differences[:100]],
    }  # fmt: skip
    if output is not Output.TABLE:
        print_facts(facts, output)
    else:
        typer.echo(
            f"{source_side.table}: {compared.source_rows} rows; {target_side.table}: {compared.target_rows} rows"
        )
        if compared.left_out:
            typer.echo(f"not compared, because one side lacks them: {', '.join(compared.left_out)}")
        for kind, row_key, in_source, in_target in compared.differences[:100]:
            typer.echo(f"{kind} {named}={row_key}: source {in_source or '-'}; target {in_target or '-'}")
        told = ", ".join(f"{facts[kind]} {kind}" for kind in _KINDS)
        typer.echo(f"{len(compared.columns)} columns compared: {told}")
    if compared.differences:
        raise typer.Exit(1)
