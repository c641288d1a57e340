"""Running a service in the foreground: signals, a changed settings file, what is said. For `run` and `connect`."""

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
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias

import typer
from rich.console import Console
from rich.markup import escape

from twinlog.errors import EngineDied, SettingsInvalid, TwinlogError
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.surface.cli.notify import Supervisor, known_phases
from twinlog.surface.cli.output import Output, print_event, print_findings

if TYPE_CHECKING:
    from twinlog.config.resolve import Resolved
    from twinlog.config.watch import SettingsWatch
    from twinlog.engine.spec_changes import Change
    from twinlog.service.links import Service
    from twinlog.surface.http.listening import HttpService, Take

Say: TypeAlias = "Callable[[str, str, str | None], None]"
Reading: TypeAlias = "Callable[[], contextlib.AbstractContextManager[None]]"
"""Surrounds each reading of a changed file."""
SUPERSEDED: Final = 4
"""Exit code when another engine took the links over."""
LOOK_SECONDS: Final = 1.0
"""How often the settings file is looked at."""


def run_service(
    make: Callable[[Path], Service],
    watch: SettingsWatch | None,
    output: Output,
    http: HttpService | None,
    beside: Sequence[Coroutine[Any, Any, None]] = (),
) -> NoReturn:
    """Run a service until it is told to stop, then end the process. `make` gets a folder for what may be lost.

    Without `watch` no file is looked at. `beside` runs until the end.
    """
    from twinlog.service import scratch_folder

    scratch = scratch_folder()
    try:
        service = make(scratch)
        gc.freeze()  # what is loaded stays: a full collection need not look at it while somebody waits for an answer
        with asyncio.Runner() as runner:
            runner.get_loop().set_default_executor(_Questions())
            runner.run(_serve(service, watch, output, http, beside))
    except EngineDied as error:
        Console(stderr=True).print(f"[yellow]{error}[/] Starting again.")
        shutil.rmtree(scratch, ignore_errors=True)
        time.sleep(1)
        os.execv(sys.executable, [sys.executable, "-m", "twinlog", *sys.argv[1:]])  # noqa: S606  ourselves again
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    phases = {job.spec.name: job.phase for job in service.jobs}
    _leave(SUPERSEDED if phases and all(phase == "superseded" for phase in phases.values()) else 0)


class _Questions(ThreadPoolExecutor):
    """Threads in which clusters are asked. Nobody waits for their answers once the links have ended."""

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002  asyncio wants both
        super().shutdown(wait=False, cancel_futures=True)


def _leave(code: int) -> NoReturn:
    """End the process. A cluster that is away holds a question for half a minute, and Python would wait for it."""
    if any(not thread.daemon and thread is not threading.current_thread() for thread in threading.enumerate()):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    raise typer.Exit(code)


async def _serve(
    service: Service,
    watch: SettingsWatch | None,
    output: Output,
    http: HttpService | None,
    beside: Sequence[Coroutine[Any, Any, None]],
) -> None:
    say = voice(output)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, service.stop)
    asked = asyncio.Event()
    loop.add_signal_handler(signal.SIGHUP, asked.set)
    told: dict[str, tuple[str, str | None]] = {}
    async with contextlib.AsyncExitStack() as stack:
        take: Take = _applied_to(service)
        if http is not None:
            take = await stack.enter_async_context(http.answering(service))
            seen = sys.stderr.isatty() and not output.for_programs
            _announce(output, "service", None, "answering", http.announcement(to_its_user=seen))
        supervisor, began = Supervisor.of(os.environ), time.monotonic()
        reading: Reading = contextlib.nullcontext if supervisor is None else supervisor.reloading
        tasks = [asyncio.create_task(_watch(service, say, told)), *map(asyncio.create_task, beside)]
        if watch is not None:
            following = _follow_file(service, watch, asked, output, take=take, reading=reading)
            tasks.append(asyncio.create_task(following))
        if supervisor is not None:
            tasks.append(asyncio.create_task(supervisor.follow(lambda: _phases(service, http, began))))
        try:
            await service.run()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            _tell(service, say, told)


def _phases(service: Service, http: HttpService | None, began: float) -> list[str] | None:
    phases = [job.phase for job in service.jobs]
    if http is None:
        return phases or None
    return known_phases(phases, http.to_run, time.monotonic() - began)


def _applied_to(service: Service) -> Take:
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
        from twinlog.service.link_transforms import check_file

        try:
            with reading():
                resolved = check_file(await asyncio.to_thread(watch.load))
                changes = await take(resolved)
        except TwinlogError as error:
            findings = error.findings if isinstance(error, SettingsInvalid) else ()
            print_findings(findings, output)
            _announce(
                output,
                "settings",
                None,
                "rejected",
                f"{watch.path} is wrong; all links continue with the settings read before",
            )
            service.reject([str(finding) for finding in findings if finding.level == "error"] or [str(error)])
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


def voice(output: Output) -> Say:
    """How changes of a job's phase are said."""
    console = Console(stderr=True, highlight=False)

    def say(phase: str, job: str, detail: str | None) -> None:
        if output.for_programs:
            print_event({"at": SYSTEM_CLOCK.now_s(), "link": job, "phase": phase, "detail": detail}, output)
        else:
            more = f": {detail}" if detail else ""
            console.print(f"{time.strftime('%H:%M:%S')} [bold]{job}[/] {phase}{more}", soft_wrap=True)

    return say
