"""`twinlog connect`: run Kafka Connect's connectors as Spark pipelines, from a worker's file."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

import typer

from twinlog.errors import UsageError
from twinlog.surface.cli.effects import DryRun, would

if TYPE_CHECKING:
    from twinlog.pipelines.connect_service import ConnectService
    from twinlog.pipelines.worker_settings import Worker

WorkerFile = Annotated[
    Path, typer.Option("--config", "-c", help="File of a Connect worker, distributed or standalone: it works as it is.")
]
_SLOTS = 16


def connect(
    connectors: Annotated[
        list[Path] | None, typer.Argument(help="Connectors to start: JSON or properties files.")
    ] = None,
    *,
    config: WorkerFile,
    slots: Annotated[int, typer.Option(help="Tasks of all connectors that run at the same time.")] = _SLOTS,
    dry_run: DryRun = False,
) -> None:
    """Run connectors until told to stop. REST listens where the file says (listeners, rest.port; 8083).

    Workers with one group.id elect one that runs all connectors; the others stand by and take over.
    """
    from twinlog.pipelines.files import read_connector_file, read_properties
    from twinlog.pipelines.settings import SettingsRefused
    from twinlog.pipelines.validate import findings_of
    from twinlog.pipelines.worker_settings import read_worker

    try:
        worker = read_worker(read_properties(config))
        given = [read_connector_file(one) for one in connectors or ()]
    except SettingsRefused as error:
        raise UsageError(str(error)) from error
    remarks = [one for name, its in given for one in findings_of(name, its, worker.config)]
    if errors := [one for one in remarks if one.level == "error"]:
        raise UsageError(str(SettingsRefused(errors)))
    for one in remarks:
        typer.echo(f"{one.level}: {one.key}: {one.message}", err=True)
    host, port = listening(worker)
    if dry_run:
        names = ", ".join(name for name, _ in given) or "no connector of a file"
        would(f"run {names} on {worker.keys.bootstrap}, and listen on http://{host}:{port}")
        return
    _serve(worker, given, host, port, slots)


def listening(worker: Worker) -> tuple[str, int]:
    """Address and port of the REST service. Raises UsageError."""
    first = worker.keys.listeners.split(",")[0].strip()
    if not first:
        return worker.keys.host or "127.0.0.1", worker.keys.port
    parts = urlsplit(first if "://" in first else f"http://{first}")
    if parts.scheme.lower() != "http":
        raise UsageError(f"listeners: {parts.scheme} is not supported by `twinlog connect`; `twinlog run` serves https")
    return parts.hostname or "0.0.0.0", parts.port or worker.keys.port  # noqa: S104  Connect's meaning of no host


def _serve(worker: Worker, given: Sequence[tuple[str, dict[str, str]]], host: str, port: int, slots: int) -> None:
    import uvicorn

    from twinlog.pipelines.connect_service import ConnectService
    from twinlog.pipelines.session import start_pipeline_spark
    from twinlog.pipelines.worker import Pipelines
    from twinlog.surface.rest.pipelines import pipelines_app

    scratch = Path(tempfile.mkdtemp(prefix="twinlog-connect-"))
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        raise UsageError(f"{host}:{port}: {os.strerror(error.errno or 0).lower()}") from error
    port = listener.getsockname()[1]
    worker_id = f"{worker.config.get('rest.advertised.host.name', socket.gethostname())}:{port}"
    typer.echo(f"starting Spark; REST will be on http://{host}:{port}")
    spark = start_pipeline_spark(scratch, slots)
    service = ConnectService(Pipelines(worker, spark, scratch, worker_id), f"http://{worker_id}")
    server = uvicorn.Server(uvicorn.Config(pipelines_app(service), log_level="warning", lifespan="off"))
    ending = threading.Event()

    def end(*_: Any) -> None:
        ending.set()
        server.should_exit = True

    try:
        service.open()
        threading.Thread(target=_submit, args=(service, given, ending), daemon=True).start()
        server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, end)
        typer.echo(f"ready: http://{host}:{port}")
        server.run([listener])
    finally:
        ending.set()
        service.close()
        spark.stop()
        shutil.rmtree(scratch, ignore_errors=True)


def _submit(service: ConnectService, given: Sequence[tuple[str, dict[str, str]]], ending: threading.Event) -> None:
    """Store the connectors of the command line once this worker leads."""
    from twinlog.errors import TwinlogError

    for name, config in given:
        while not ending.is_set():
            if service.leads:
                try:
                    service.put(name, config)
                except TwinlogError as error:
                    typer.echo(f"{name}: {error}", err=True)
                break
            ending.wait(0.2)
