"""`twinlog run`: mirror what the file says until told to stop."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from twinlog.config.resolve import load_file
from twinlog.config.settings import LinkSettings
from twinlog.errors import EngineDied
from twinlog.service import Service, SparkPlace, scratch_folder
from twinlog.surface.cli.output import Output, print_findings

Say = Callable[[str, LinkSettings, str | None], None]
SUPERSEDED = 4
"""Exit code when another engine took the links over."""


def run(
    config: Annotated[Path, typer.Option("--config", "-c", help="A MirrorMaker 2 properties file.")],
    clusters: Annotated[list[str] | None, typer.Option(help="Run only links into these clusters.")] = None,
    master: Annotated[str | None, typer.Option(help="Spark master, e.g. spark://host:7077. Default: here.")] = None,
    spark_conf: Annotated[list[str] | None, typer.Option("--spark-conf", help="KEY=VALUE for Spark.")] = None,
    output: Annotated[Output, typer.Option("--output", "-o", help="How to say what happens.")] = Output.TABLE,
) -> None:
    """Mirror until Ctrl-C or SIGTERM, which end cleanly: what was read is written and recorded first."""
    resolved = load_file(config, clusters or ())
    print_findings(resolved.findings, output)
    options = tuple((key, value) for key, _, value in (item.partition("=") for item in spark_conf or ()))
    say = _voice(output)
    for link in resolved.links:
        say("starting", link, f"topics {','.join(link.topics.include)} from {link.start_from}")
    scratch = scratch_folder()
    try:
        service = Service(resolved.links, SparkPlace(master, options), scratch)
        asyncio.run(_serve(service, say))
    except EngineDied as error:
        Console(stderr=True).print(f"[yellow]{error}[/] Starting anew.")
        shutil.rmtree(scratch, ignore_errors=True)
        time.sleep(1)
        os.execv(sys.executable, [sys.executable, "-m", "twinlog", *sys.argv[1:]])  # noqa: S606  ourselves again
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    phases = {engine.link.name: engine.phase for engine in service.engines}
    if phases and all(phase == "superseded" for phase in phases.values()):
        raise typer.Exit(SUPERSEDED)


async def _serve(service: Service, say: Say) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, service.stop)
    told: dict[str, tuple[str, str | None]] = {}
    watching = asyncio.create_task(_watch(service, say, told))
    try:
        await service.run()
    finally:
        watching.cancel()
        _tell(service, say, told)


async def _watch(service: Service, say: Say, told: dict[str, tuple[str, str | None]]) -> None:
    """Say every change of a link's phase or trouble once."""
    while True:
        _tell(service, say, told)
        await asyncio.sleep(0.2)


def _tell(service: Service, say: Say, told: dict[str, tuple[str, str | None]]) -> None:
    for engine in service.engines:
        now = (engine.phase, engine.trouble)
        if told.get(engine.link.name) != now:
            told[engine.link.name] = now
            say(engine.phase, engine.link, engine.trouble)


def _voice(output: Output) -> Say:
    console = Console(stderr=True, highlight=False)

    def say(phase: str, link: LinkSettings, detail: str | None) -> None:
        if output is Output.JSON:
            print(json.dumps({"at": time.time(), "link": link.name, "phase": phase, "detail": detail}), flush=True)
        else:
            more = f": {detail}" if detail else ""
            console.print(f"{time.strftime('%H:%M:%S')} [bold]{link.name}[/] {phase}{more}", soft_wrap=True)

    return say
