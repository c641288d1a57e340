"""Engines as an operator runs them: `twinlog run` in a process of its own, and everything that can be done to it.

twinlog run (python) ── JVM (Spark driver and executor) ── pyspark.daemon ── a worker per reader and per writer
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import psutil
from tests.kit.ends import Ends
from tests.kit.process_tree import children_of, freeze_tree, kill_tree, thaw_tree
from tests.kit.waiting import wait_until

TWINLOG = (sys.executable, "-m", "twinlog")
START_SECONDS = 90.0

Victim = Literal["engine", "jvm", "reader", "writer"]


class EngineProcess:
    """One `twinlog run`, in a session of its own so that all of it can be killed at once."""

    def __init__(self, ends: Ends, folder: Path, *arguments: str, settings: Path | None = None) -> None:
        self.ends = ends
        self.file = settings or ends.write_file(folder)
        stem = f"{ends.alias}-{time.monotonic_ns()}"
        self.stdout, self.stderr = folder / f"{stem}.out", folder / f"{stem}.err"
        # Short, because sockets live in it; the folder of a test is not.
        self.scratch = Path(tempfile.mkdtemp(prefix="tw"))
        with self.stdout.open("wb") as out, self.stderr.open("wb") as err:
            self._process = subprocess.Popen(
                [*TWINLOG, "run", "-c", str(self.file), "-o", "json", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
                env=_environment(self.scratch),
            )
        self.pid = self._process.pid

    # --- looking --------------------------------------------------------------------------------------------------

    @property
    def events(self) -> list[dict[str, Any]]:
        """What it said."""
        lines = self.stdout.read_text(encoding="utf-8", errors="replace").splitlines()
        return [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]

    @property
    def output(self) -> str:
        """Everything it printed."""
        return self.stdout.read_text(errors="replace") + self.stderr.read_text(errors="replace")

    @property
    def exit_code(self) -> int | None:
        return self._process.poll()

    def await_phase(self, phase: str, within_s: float = START_SECONDS) -> None:
        """Wait until it says that it is in this phase; one that ended is not waited for."""
        wait_until(
            lambda: (self.exit_code, [event["phase"] for event in self.events]),
            lambda seen: phase in seen[1] or seen[0] is not None,
            within_s=within_s,
            what=f"phase {phase}",
        )
        phases = [event["phase"] for event in self.events]
        assert phase in phases, f"ended with {self.exit_code} before {phase}: {phases}\n{self.output[-4000:]}"

    def await_end(self, within_s: float) -> int:
        """Wait for its end; return the exit code."""
        code = wait_until(
            lambda: self.exit_code, lambda code: code is not None, within_s=within_s, what=f"the end of {self.pid}"
        )
        assert code is not None
        return code

    def family(self) -> list[psutil.Process]:
        return children_of(self.pid)

    def command_lines(self) -> list[str]:
        """What a look at the list of processes shows of it."""
        return [" ".join(_command(process)) for process in self.family()]

    def resident_bytes(self) -> int:
        """Memory of all its processes, shared pages counted in each."""
        total = 0
        for process in self.family():
            with contextlib.suppress(psutil.NoSuchProcess):
                total += process.memory_info().rss
        return total

    def jvm(self) -> psutil.Process | None:
        """Spark."""
        return next((p for p in self.family() if _name(p) == "java"), None)

    def workers(self, kind: Literal["reader", "writer"]) -> list[psutil.Process]:
        """Python workers at work. A reader talks to the source (and to the ledger); a writer to the target only."""
        source, target = _ports(self.ends.source_cluster), _ports(self.ends.target_cluster)
        found = []
        for process in self.family():
            if "pyspark.worker" not in _command(process):
                continue
            talks_to = _peers(process)
            if talks_to & source if kind == "reader" else talks_to & target and not talks_to & source:
                found.append(process)
        return found

    # --- doing ----------------------------------------------------------------------------------------------------

    def kill(self, victim: Victim = "engine") -> int:
        """Kill -9: the engine with all it started, its JVM, or one of its workers once there is one; return the pid."""
        if victim == "engine":
            self.kill_all()
            return self.pid
        look = {"jvm": lambda: [p for p in [self.jvm()] if p], "reader": lambda: self.workers("reader")}.get(
            victim, lambda: self.workers("writer")
        )
        # Behind the kill of a JVM the engine starts anew first.
        return wait_until(lambda: _kill_first(look()), bool, within_s=90, what=f"a {victim} to kill")

    def kill_all(self) -> None:
        """The machine is gone: everything that this engine started ends at once."""
        kill_tree(self._process)

    def clean_up(self) -> None:
        """Kill what is left and remove what it wrote; what it said stays."""
        self.kill_all()
        shutil.rmtree(self.scratch, ignore_errors=True)

    def freeze(self) -> None:
        """Stop all of it in its tracks."""
        freeze_tree(self.pid)

    def thaw(self) -> None:
        """Let it go on as if nothing had happened."""
        thaw_tree(self.pid)

    def terminate(self) -> None:
        """Ask for a clean end."""
        self._process.terminate()

    def stop(self, within_s: float = 30) -> int:
        """Ask for a clean end and wait for it; return the exit code."""
        self.terminate()
        return self.await_end(within_s)


@contextmanager
def twinlog_run(
    ends: Ends, folder: Path, *arguments: str, settings: Path | None = None, await_running: bool = True
) -> Iterator[EngineProcess]:
    """An engine while the block runs; whatever is left of it afterwards is killed."""
    engine = EngineProcess(ends, folder, *arguments, settings=settings)
    try:
        if await_running:
            engine.await_phase("running")
        yield engine
    finally:
        engine.clean_up()


def twinlog(*arguments: str, scratch: Path | None = None) -> subprocess.CompletedProcess[str]:
    """One command to its end. One that starts Spark needs a folder for what Spark leaves, and more time."""
    env, patience_s = (None, 60) if scratch is None else (_environment(scratch), START_SECONDS)
    command = [*TWINLOG, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=patience_s, check=False, env=env)


def _environment(scratch: Path) -> dict[str, str]:
    env = {**os.environ, "TMPDIR": str(scratch), "TWINLOG_LOG": "INFO"}
    if env.pop("PYTHONDONTWRITEBYTECODE", ""):
        # Every engine is a dozen Python processes: compiled modules are kept between them, if only for these tests.
        env["PYTHONPYCACHEPREFIX"] = str(Path(env["TWINLOG_HOME"], "compiled"))
    return env


def _kill_first(found: Sequence[psutil.Process]) -> int:
    for process in found:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
            return process.pid
    return 0


def _ports(cluster: Any) -> set[int]:
    """Where mirrors are connected to: a cluster may have a listener for them alone."""
    return getattr(cluster, "mirror_ports", None) or {broker.port for broker in cluster.brokers}


def _peers(process: psutil.Process) -> set[int]:
    with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
        return {c.raddr.port for c in process.net_connections("tcp") if c.raddr and c.status == psutil.CONN_ESTABLISHED}
    return set()


def _name(process: psutil.Process) -> str:
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.name()
    return ""


def _command(process: psutil.Process) -> list[str]:
    with contextlib.suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
        return process.cmdline()
    return []
