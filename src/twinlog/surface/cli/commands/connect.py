"""`twinlog connect`: run Kafka Connect's connectors as Spark pipelines, from a worker's file."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from twinlog.errors import TwinlogError, UsageError
from twinlog.surface.cli.effects import DryRun, would
from twinlog.surface.cli.options import Master, SparkConf, spark_options
from twinlog.surface.cli.output import Form, Output, print_findings
from twinlog.surface.cli.serving import run_service

if TYPE_CHECKING:
    from twinlog.pipelines.worker_settings import Worker
    from twinlog.service.links import Service
    from twinlog.surface.http.listening import HttpService

WorkerFile = Annotated[
    Path, typer.Option("--config", "-c", help="File of a Connect worker, distributed or standalone: it works as it is.")
]


def connect(
    connectors: Annotated[
        list[Path] | None, typer.Argument(help="Connectors to start: JSON or properties files.")
    ] = None,
    *,
    config: WorkerFile,
    master: Master = None,
    spark_conf: SparkConf = None,
    dry_run: DryRun = False,
    output: Form = Output.TABLE,
) -> None:
    """Run connectors until Ctrl-C or SIGTERM. REST listens where the file says (listeners, rest.port; 8083).

    Workers with one group.id share the connectors: each runs some, and the others take over when it is gone.

    REST is that of `twinlog run --listen`, with the same keys for login, roles, TLS and audit (http.*) in the worker's
    file. Without a login everybody on this machine may read; only the user who runs the command
    may give orders.
    """
    from twinlog.pipelines.session import PIPELINES
    from twinlog.service import SparkPlace
    from twinlog.service.links import Service
    from twinlog.service.worker_file import listens_at, load_worker
    from twinlog.surface.http.listening import HttpService

    file, worker = load_worker(config)
    print_findings(file.findings, output)
    given = _given(connectors or (), worker)
    address = listens_at(worker, file)
    if dry_run:
        names = ", ".join(name for name, _ in given) or "no connector of a file"
        where = f"{worker.keys.bootstrap} and Spark {master or 'here'}"
        would(f"run {names} on {where}, and answer over HTTP at {address}")
        return
    place = SparkPlace(master, spark_options(spark_conf))
    http = HttpService.open([address], file, worker)

    def make(scratch: Path) -> Service:
        return Service((), place, scratch, stays=True, group=worker.group_id, work=PIPELINES)

    run_service(make, None, output, http, [_submit(http, given)])


def _given(files: Sequence[Path], worker: Worker) -> list[tuple[str, dict[str, str]]]:
    """The connectors of files, checked. Raises UsageError with every error."""
    from twinlog.pipelines.files import read_connector_file
    from twinlog.pipelines.settings import SettingsRefused
    from twinlog.pipelines.validate import findings_of

    try:
        given = [read_connector_file(file) for file in files]
    except SettingsRefused as error:
        raise UsageError(str(error)) from error
    remarks = [remark for name, its in given for remark in findings_of(name, its, worker.config)]
    if errors := [remark for remark in remarks if remark.level == "error"]:
        raise UsageError(str(SettingsRefused(errors)))
    for remark in remarks:
        typer.echo(f"{remark.level}: {remark.key}: {remark.message}", err=True)
    return given


async def _submit(http: HttpService, given: Sequence[tuple[str, dict[str, str]]]) -> None:
    """Store the connectors of the command line once this worker leads."""
    waiting = dict(given)
    while waiting:
        waiting = {name: config for name, config in waiting.items() if not await _stored(http, name, config)}
        await asyncio.sleep(0.2)


async def _stored(http: HttpService, name: str, config: dict[str, str]) -> bool:
    """Whether a connector was stored, or refused for good; false while another worker leads."""
    from twinlog.control.audit import Who

    if http.control is None or not http.control.leadership.active:
        return False
    try:
        await http.control.orders.put(Who("command line", "admin", by="file"), name, config)
    except TwinlogError as error:
        typer.echo(f"{name}: {error}", err=True)
    return True
