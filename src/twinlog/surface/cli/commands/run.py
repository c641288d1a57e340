"""`twinlog run`: mirror what the file says until told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Annotated, NoReturn, TypeAlias

import typer
from rich.console import Console
from rich.markup import escape

from twinlog.errors import EngineDied, Finding, LinkTaken, SettingsInvalid, TwinlogError, UsageError
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.surface.cli.effects import DryRun, would
from twinlog.surface.cli.notify import Supervisor, known_phases
from twinlog.surface.cli.options import Clusters, ConfigFile
from twinlog.surface.cli.output import Form, Output, chosen_clusters, print_event, print_findings

if TYPE_CHECKING:
    from twinlog.config.changes import Change
    from twinlog.config.resolve import Resolved
    from twinlog.config.settings import LinkSettings
    from twinlog.config.watch import SettingsWatch
    from twinlog.model.ledger.records import Engine as EngineEntry
    from twinlog.service.links import Service
    from twinlog.surface.cli.listening import Door, Take

Say: TypeAlias = "Callable[[str, str, str | None], None]"
Reading: TypeAlias = "Callable[[], contextlib.AbstractContextManager[None]]"
"""Surrounds each reading of a changed file."""
SUPERSEDED = 4
"""Exit code when another engine took the links over."""
LOOK_SECONDS = 1.0
"""How often the settings file is looked at."""


def run(
    *,
    config: ConfigFile,
    clusters: Clusters = None,
    master: Annotated[str | None, typer.Option(help="Spark master, e.g. spark://host:7077. Default: here.")] = None,
    spark_conf: Annotated[list[str] | None, typer.Option("--spark-conf", help="KEY=VALUE for Spark.")] = None,
    listen: Annotated[
        list[str] | None,
        typer.Option(help="Answer over HTTP at HOST:PORT, e.g. 127.0.0.1:8083, and at unix:PATH for admins here."),
    ] = None,
    take_over: Annotated[
        bool, typer.Option("--take-over", help="Take links also from another engine that runs them now.")
    ] = False,
    dry_run: DryRun = False,
    output: Form = Output.TABLE,
) -> None:
    """Mirror until Ctrl-C or SIGTERM, which end cleanly: what was read is written and recorded first.

    The file is watched: a change takes effect within seconds, for the links that it concerns. SIGHUP reads it at once.

    With --listen the service answers over HTTP: Kafka Connect's REST interface makes, changes and holds links. Services
    with the same group.id stand by for each other. Without a login everybody on this machine may look; orders are for
    you (the link that is printed, and your own commands) and for whoever may write to the Unix socket.

    Another engine may run a link already. At a terminal the command asks before it takes the link; elsewhere it ends
    with exit code 4, unless --take-over is given. With --listen it starts and waits for the end of the other one. An
    engine that was stopped or killed, and a standby of the same group, need no flag.
    """
    from twinlog.config.watch import SettingsWatch
    from twinlog.service import SparkPlace, scratch_folder
    from twinlog.service.links import Service

    watch = SettingsWatch(config, chosen_clusters(clusters))
    resolved = watch.load()
    print_findings(resolved.findings, output)
    if not resolved.links and not listen:
        raise UsageError(f"{config}: there is no link in it; with --listen links can be made over HTTP")
    if dry_run:
        would(*_plan(resolved, master, listen or ()))
        return
    if not listen and resolved.service.otel is not None:
        unheard = "nothing is told to it without --listen"
        print_findings([Finding("warning", str(config), None, "otel.endpoint", unheard)], output)
    group = resolved.service.group_id if listen else ""
    take_over = take_over or _asked_to_take(resolved.links, group, listening=bool(listen))
    door = None if not listen else _open_door(listen, resolved)
    options = tuple((key, value) for key, _, value in (item.partition("=") for item in spark_conf or ()))
    say = _voice(output)
    for link in resolved.links:
        say("starting", link.name, f"topics {','.join(link.topics.include)} from {link.start_from}")
    scratch = scratch_folder()
    try:
        place = SparkPlace(master, options)
        service = Service(
            resolved.links,
            place,
            scratch,
            resolved.heartbeats,
            stays=door is not None,
            group=group,
            take_over=take_over,
        )
        gc.freeze()  # what is loaded stays: a full collection need not look at it while somebody waits for an answer
        with asyncio.Runner() as runner:
            runner.get_loop().set_default_executor(_Questions())
            runner.run(_serve(service, watch, say, output, door))
    except EngineDied as error:
        Console(stderr=True).print(f"[yellow]{error}[/] Starting anew.")
        shutil.rmtree(scratch, ignore_errors=True)
        time.sleep(1)
        os.execv(sys.executable, [sys.executable, "-m", "twinlog", *sys.argv[1:]])  # noqa: S606  ourselves again
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    phases = {job.spec.name: job.phase for job in service.jobs}
    _leave(SUPERSEDED if phases and all(phase == "superseded" for phase in phases.values()) else 0)


def _asked_to_take(links: Sequence[LinkSettings], group: str, *, listening: bool) -> bool:
    """Whether links may be taken from living engines. Raises LinkTaken where nobody can be asked, or says no."""
    at_terminal = sys.stdin.isatty()
    if listening and not at_terminal:
        return False  # a service waits for the end of the other engine
    from twinlog.engine.rivals import name_of
    from twinlog.service import living_engine

    async def look() -> list[EngineEntry | None]:
        return await asyncio.gather(*(living_engine(link, group) for link in links))

    taken = [(link.name, there) for link, there in zip(links, asyncio.run(look()), strict=True) if there is not None]
    for link, there in taken:
        since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime((there.since_ms or there.at_ms) / 1000))
        owner = f"{name_of(there)}, signed in at {since},"
        if not at_terminal or not typer.confirm(f"{link}: {owner} is alive and copies. Take the link from it?"):
            raise LinkTaken(link, owner)
    return bool(taken)


class _Questions(ThreadPoolExecutor):
    """Threads in which clusters are asked. Nobody waits for their answers once the links have ended."""

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002  asyncio wants both
        super().shutdown(wait=False, cancel_futures=True)


def _leave(code: int) -> NoReturn:
    """End the process. A cluster that is away holds a question for half a minute, and Python would wait for it."""
    if any(not one.daemon and one is not threading.current_thread() for one in threading.enumerate()):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    raise typer.Exit(code)


def _plan(resolved: Resolved, master: str | None, listen: Sequence[str]) -> Iterator[str]:
    for link in resolved.links:
        topics = ",".join(link.topics.include)
        yield f"{link.name}: would be mirrored: topics {topics} from {link.start_from}, on Spark {master or 'here'}"
    for pair in resolved.heartbeats:
        yield f"{pair.name}: a heartbeat would be written to {pair.target} every {pair.seconds} s"
    for address in listen:
        yield f"{address}: would answer over HTTP"


def _open_door(listen: Sequence[str], resolved: Resolved) -> Door:
    from twinlog.surface.cli.listening import Door

    return Door.open(listen, resolved)


async def _serve(service: Service, watch: SettingsWatch, say: Say, output: Output, door: Door | None) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, service.stop)
    asked = asyncio.Event()
    loop.add_signal_handler(signal.SIGHUP, asked.set)
    told: dict[str, tuple[str, str | None]] = {}
    async with contextlib.AsyncExitStack() as stack:
        take: Take = _taker(service)
        if door is not None:
            take = await stack.enter_async_context(door.standing(service))
            seen = sys.stderr.isatty() and not output.for_programs
            _announce(output, "service", None, "answering", door.announcement(to_its_user=seen))
        supervisor, began = Supervisor.of(os.environ), time.monotonic()
        reading: Reading = contextlib.nullcontext if supervisor is None else supervisor.reloading
        beside = [
            asyncio.create_task(_watch(service, say, told)),
            asyncio.create_task(_follow_file(service, watch, asked, output, take=take, reading=reading)),
        ]
        if supervisor is not None:
            beside.append(asyncio.create_task(supervisor.follow(lambda: _phases(service, door, began))))
        try:
            await service.run()
        finally:
            for task in beside:
                task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)
            _tell(service, say, told)


def _phases(service: Service, door: Door | None, began: float) -> list[str] | None:
    phases = [job.phase for job in service.jobs]
    if door is None:
        return phases or None
    return known_phases(phases, door.to_run, time.monotonic() - began)


def _taker(service: Service) -> Take:
    async def take(resolved: Resolved) -> tuple[Change, ...]:
        return await service.apply(resolved.links, resolved.heartbeats)

    return take


async def _follow_file(
    service: Service, watch: SettingsWatch, asked: asyncio.Event, output: Output, *, take: Take, reading: Reading
) -> None:
    """Bring what the file says into force whenever it changes; a wrong file changes nothing."""
    while True:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LOOK_SECONDS):
                await asked.wait()
        if not asked.is_set() and not await asyncio.to_thread(watch.changed):
            continue
        asked.clear()
        try:
            with reading():
                resolved = await asyncio.to_thread(watch.load)
                changes = await take(resolved)
        except TwinlogError as error:
            findings = error.findings if isinstance(error, SettingsInvalid) else ()
            print_findings(findings, output)
            _announce(
                output,
                "settings",
                None,
                "rejected",
                f"{watch.path} is wrong; all links go on with the settings read before",
            )
            service.reject([str(one) for one in findings if one.level == "error"] or [str(error)])
        else:
            print_findings(resolved.findings, output)
            for change in changes:
                _announce(output, "settings", change.name, "changed", str(change))


def _announce(output: Output, what: str, link: str | None, phase: str, detail: str) -> None:
    if output.for_programs:
        print_event({"at": SYSTEM_CLOCK.now_s(), "link": link, "phase": phase, "detail": detail}, output)
    else:
        told = f"{time.strftime('%H:%M:%S')} [bold]{what}[/] {phase}: {escape(detail)}"
        Console(stderr=True, highlight=False).print(told, soft_wrap=True)


async def _watch(service: Service, say: Say, told: dict[str, tuple[str, str | None]]) -> None:
    """Say every change of a link's phase or trouble once."""
    while True:
        _tell(service, say, told)
        await asyncio.sleep(0.2)


def _tell(service: Service, say: Say, told: dict[str, tuple[str, str | None]]) -> None:
    for job in service.jobs:
        now = (job.phase, job.trouble)
        if told.get(job.spec.name) != now:
            told[job.spec.name] = now
            say(job.phase, job.spec.name, job.trouble)


def _voice(output: Output) -> Say:
    console = Console(stderr=True, highlight=False)

    def say(phase: str, job: str, detail: str | None) -> None:
        if output.for_programs:
            print_event({"at": SYSTEM_CLOCK.now_s(), "link": job, "phase": phase, "detail": detail}, output)
        else:
            more = f": {detail}" if detail else ""
            console.print(f"{time.strftime('%H:%M:%S')} [bold]{job}[/] {phase}{more}", soft_wrap=True)

    return say
