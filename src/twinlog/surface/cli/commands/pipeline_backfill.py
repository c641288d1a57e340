"""`twinlog pipeline backfill`: read a part of a table again, beside the stream that runs."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from twinlog.errors import ConnectorRefused, UsageError
from twinlog.surface.cli.commands.pipeline_files import File, read_one
from twinlog.surface.cli.effects import DryRun, would


def backfill(
    file: File,
    *,
    config: Annotated[Path, typer.Option("--config", "-c", help="File of a Connect worker.")],
    table: Annotated[str, typer.Option("--table", help="Table to read again.")],
    where: Annotated[str, typer.Option("--where", help='Condition on its rows, in SQL: "id BETWEEN 1 AND 500".')],
    within: Annotated[float, typer.Option("--within", help="Longest time in seconds.", min=1)] = 3600.0,
    dry_run: DryRun = False,
) -> None:
    """Write rows of a table to its topic again. The stream continues meanwhile; its positions stay as they are."""
    from twinlog.pipelines.backfill import backfill_config, check_selection, run_backfill
    from twinlog.pipelines.session import start_pipeline_spark
    from twinlog.pipelines.worker import Pipelines
    from twinlog.spark.session import stop_session

    connector, worker = read_one(file, config)
    try:
        wish = backfill_config(connector, table, where)
        check_selection(connector, table, where)
    except ConnectorRefused as error:
        raise UsageError(str(error)) from error
    if dry_run:
        would(f"read {table} {wish['query.suffix']} and write the rows to {wish.get('topic.prefix', '')}{table}")
        return
    scratch = Path(tempfile.mkdtemp(prefix="twinlog-backfill-"))
    spark = start_pipeline_spark(scratch, 2)
    pipelines = Pipelines(worker, spark, "backfill")
    try:
        pipelines.prepare()
        done = run_backfill(pipelines, connector, table, where, within)
    finally:
        stop_session(spark)
        shutil.rmtree(scratch, ignore_errors=True)
    typer.echo(f"{table}: {done.written} rows written again" + (f", {done.parked} parked" if done.parked else ""))
    if done.problem:
        typer.echo(f"{table}: not everything was written: {done.problem}", err=True)
        raise typer.Exit(1)
