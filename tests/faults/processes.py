"""Faults of the mirror's own processes: killed, frozen, doubled, out of memory."""

from __future__ import annotations

import contextlib
import os
import re
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

import psutil
from tests.faults.mirrors import Mirror, Twinlog
from tests.faults.scenario import scenario

if TYPE_CHECKING:
    from tests.faults.scene import Scene

ENGINE_SILENT = r"^STALLED; .*its engine has been silent for \d+ s"
_WORKER_DIED = "a Python worker (died: it was killed, or it had no memory left|has no memory left)"
_HEADROOM = 1 << 20
_JVM_GONE = r"^STALLED; engine starting; .*spark: its JVM is gone: "
_NO_MEMORY = "insufficient memory for the Java Runtime Environment"


@scenario("kill -9 of the mirror, everything at once", 1, 2, 28, named=ENGINE_SILENT)
def mirror_killed(scene: Scene) -> None:
    """Kill -9 of the service, its JVM and its workers; the supervisor starts it again after 5 s."""
    with scene.fault():
        for mirror in scene.mirrors:
            mirror.kill()
        scene.effect(not scene.twinlog.processes(), "no process of the engine was left")


@scenario("the mirror is dead and nobody starts it", 1, named=ENGINE_SILENT)
def mirror_stays_dead(scene: Scene) -> None:
    """Kill -9 of everything; the supervisor is away for 25 s."""
    with scene.fault():
        for mirror in scene.mirrors:
            mirror.held = True
            mirror.kill()
        scene.hold(25)
        scene.effect(not scene.twinlog.processes(), "no process of the engine was there for 25 s")
        for mirror in scene.mirrors:
            mirror.held = False
            mirror.start()


@scenario("kill -9 of Spark's JVM", 2, peer=False, named=_JVM_GONE + "it was killed by SIGKILL")
def jvm_killed(scene: Scene) -> None:
    """Kill -9 of the JVM (driver and executor); the service goes on living."""
    with scene.fault():
        ended = scene.twinlog.engine.kill("jvm")
        scene.effect(ended, f"process {ended} was killed")


@scenario("kill -9 of a Python worker that writes", 3, 42, peer=False, named=_WORKER_DIED)
def writer_killed(scene: Scene) -> None:
    """Kill -9 of one worker that writes to the target, then of the next one, 3 s apart."""
    _kill_two(scene, "writer")


@scenario("kill -9 of a Python worker that reads", 3, 42, peer=False, named=_WORKER_DIED)
def reader_killed(scene: Scene) -> None:
    """Kill -9 of one worker that reads from the source, then of the next one, 3 s apart."""
    _kill_two(scene, "reader")


@scenario("no memory for the Python workers", 3, peer=False, named=_WORKER_DIED)
def workers_without_memory(scene: Scene) -> None:
    """The address space of every worker is limited to what it has now (RLIMIT_AS) for 15 s; 15 MB come at once."""
    with scene.fault():
        engine = scene.twinlog.engine
        limited = [*engine.workers("reader"), *engine.workers("writer")]
        for process in limited:
            _limit(process, process.memory_info().vms + _HEADROOM)
        scene.burst()
        scene.hold(15)
        ended = [process.pid for process in limited if not process.is_running()]
        scene.effect(ended, f"{len(ended)} of {len(limited)} workers ended for want of memory")
        for process in limited:
            _limit(process, resource.RLIM_INFINITY)


@scenario("no memory for Spark's JVM", 3, peer=False, settings={"epoch_seconds": "5"},
          named=f"{_JVM_GONE}.*{_NO_MEMORY}")  # fmt: skip
def jvm_without_memory(scene: Scene) -> None:
    """The JVM's address space is limited to half of what it has (RLIMIT_AS) until it ends; 15 MB come at once."""
    with scene.fault():
        jvm = scene.twinlog.engine.jvm()
        assert jvm is not None
        _limit(jvm, jvm.memory_info().vms // 2)
        scene.burst()
        ended = scene.await_true(lambda: not jvm.is_running(), "the JVM ends for want of memory", 45)
        report = scene.twinlog.engine.scratch / f"twinlog-jvm-{jvm.pid}.log"
        said = report.read_text(errors="replace") if report.exists() else ""
        scene.effect(ended and _NO_MEMORY in said, f"the JVM ended, and its report says: {_NO_MEMORY}")
        scene.injected()


@scenario("the mirror is frozen and wakes again", 4, named=ENGINE_SILENT)
def mirror_frozen(scene: Scene) -> None:
    """SIGSTOP of all processes of the mirror for 25 s, then SIGCONT."""
    with scene.fault(), frozen(scene.mirrors):
        scene.hold(25)
        scene.stood_still(20)


@scenario("a frozen mirror wakes beside its successor", 4, 37, peer=False, spoils=True, named=ENGINE_SILENT)
def zombie(scene: Scene) -> None:
    """SIGSTOP of everything; a second engine takes the link over and copies; SIGCONT of the first under load."""
    with scene.fault():
        heir = _successor(scene)
        scene.await_true(lambda: scene.twinlog.engine.exit_code == 4, "the first engine ends with exit code 4", 60)
        scene.effect(True, "the first engine woke up and ended with exit code 4")
        scene.twinlog.process, heir.process = heir.process, None


@scenario("two engines are started for one link", 37, peer=False, spoils=True,
          unnoticed="the second one tells its own operator and ends")  # fmt: skip
def two_engines(scene: Scene) -> None:
    """A second engine is started with the same file while the first one runs: it must refuse and end with code 4."""
    other = Twinlog(scene.ends, scene.twinlog.folder)
    with scene.fault():
        other.start()
        scene.await_true(lambda: other.engine.exit_code == 4, "the second engine ends with exit code 4", 60)
        owner = rf"\(pid {scene.twinlog.engine.pid}\).* runs this link now"
        scene.effect(re.search(owner, other.engine.output), "the second engine named the first one by its process")
    other.close()


def _successor(scene: Scene) -> Twinlog:
    """Freeze the engine and start another one that takes its link; the first wakes when the other copies."""
    heir = Twinlog(scene.ends, scene.twinlog.folder, *scene.take_over_option())
    reached = sum(scene.witnesses[Twinlog.name].reached().values())
    with frozen([scene.twinlog]):
        heir.start()
        heir.engine.await_phase("running", 90)
        scene.await_true(
            lambda: sum(scene.witnesses[Twinlog.name].reached().values()) > reached + 100, "the second one copies", 60
        )
    return heir


@contextmanager
def frozen(mirrors: list[Mirror]) -> Iterator[None]:
    """Mirrors with all their processes, stopped in their tracks while the block runs."""
    stopped = [process for mirror in mirrors for process in mirror.processes()]
    for process in stopped:
        with contextlib.suppress(psutil.NoSuchProcess):
            os.kill(process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for process in reversed(stopped):
            with contextlib.suppress(psutil.NoSuchProcess, ProcessLookupError):
                os.kill(process.pid, signal.SIGCONT)


def _kill_two(scene: Scene, victim: Literal["reader", "writer"]) -> None:
    with scene.fault():
        killed = [scene.twinlog.engine.kill(victim)]
        scene.hold(3)
        killed.append(scene.twinlog.engine.kill(victim))
        scene.effect(len(set(killed)) == 2, f"processes {killed[0]} and {killed[1]} were killed")


def _limit(process: psutil.Process, limit: int) -> None:
    with contextlib.suppress(psutil.NoSuchProcess, ProcessLookupError):
        process.rlimit(psutil.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
