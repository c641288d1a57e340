"""`twinlog connect` as an operator runs it: a process of its own with REST, and everything that can be done to it.

twinlog connect (python) ── JVM (Spark driver and executor) ── worker daemon ── a Python worker per reader and writer
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Literal

import psutil
from tests.kit.connect_worker import ask, free_port
from tests.kit.engine import TWINLOG
from tests.kit.pipelines import JSON, TEXT
from tests.kit.process_tree import children_of, freeze_tree, kill_tree, thaw_tree
from tests.kit.waiting import wait_until

from twinlog.local.cluster import LocalCluster

START_S: Final = 120.0
Victim = Literal["worker", "jvm", "python"]


def worker_config(cluster: LocalCluster, group: str, **more: str) -> dict[str, str]:
    """The file of a distributed worker."""
    storage = {f"{what}.storage.topic": f"{group}-{what}" for what in ("config", "offset", "status")}
    factors = {f"{what}.storage.replication.factor": "1" for what in ("config", "offset", "status")}
    return {
        "bootstrap.servers": cluster.bootstrap_servers, "group.id": group, **storage, **factors,
        "offset.storage.partitions": "2", "status.storage.partitions": "1", "session.timeout.ms": "10000",
        "key.converter": TEXT, "value.converter": JSON, "value.converter.schemas.enable": "true", **more,
    }  # fmt: skip


class ConnectProcess:
    """One worker, in a session of its own so that all of it can be killed at once."""

    def __init__(self, config: Mapping[str, str], folder: Path, *arguments: str, cwd: Path | None = None) -> None:
        self.port = free_port()
        self.base = f"http://127.0.0.1:{self.port}"
        stem = f"connect-{time.monotonic_ns()}"
        file = folder / f"{stem}.properties"
        lines = {**config, "listeners": self.base}
        file.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))
        self.log = folder / f"{stem}.log"
        self.scratch = Path(tempfile.mkdtemp(prefix="tw"))  # short, because sockets live in it
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [*TWINLOG, "connect", "-c", str(file), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                cwd=cwd,
                env={**os.environ, "TMPDIR": str(self.scratch), "TWINLOG_LOG": "INFO"},
            )
        self.pid = self._process.pid

    def await_ready(self) -> None:
        """Until it leads its group, or is the standby of the one that does."""

        def look() -> str:
            if self._process.poll() is not None:
                raise AssertionError(f"ended with {self._process.returncode}: {self.log.read_text()[-3000:]}")
            try:
                return str(ask(self.base, "GET", "/health").body)
            except OSError as error:
                return str(error)

        wait_until(
            look,
            lambda text: "service runs" in text or "is the standby of" in text,
            within_s=START_S,
            what="the worker",
        )

    def put(self, name: str, config: Mapping[str, str]) -> None:
        """Store a connector; waits until a worker leads."""
        answer = wait_until(
            lambda: ask(self.base, "PUT", f"/connectors/{name}/config", dict(config)),
            lambda one: one.status in {200, 201},
            within_s=START_S,
            what=f"{name} stored",
        )
        assert answer.body["name"] == name

    def status(self, name: str) -> Any:
        return ask(self.base, "GET", f"/connectors/{name}/status").body

    def family(self) -> list[psutil.Process]:
        return children_of(self.pid)

    def victims(self, victim: Victim) -> list[psutil.Process]:
        found = []
        for process in self.family():
            with contextlib.suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
                name, command = process.name(), " ".join(process.cmdline())
                daemons = [one for one in process.parents()[:1] if "daemon" in " ".join(one.cmdline())]
                if (victim == "jvm" and name == "java") or (victim == "python" and "python" in command and daemons):
                    found.append(process)
        return found

    def kill(self, victim: Victim, choose: Any = None) -> None:
        """Kill -9: everything of the worker, its JVM, or one of its Python workers once there is one."""
        if victim == "worker":
            self.kill_all()
            return
        found = wait_until(lambda: self.victims(victim), bool, within_s=START_S, what=f"a {victim} to kill")
        with contextlib.suppress(psutil.NoSuchProcess):
            (found[0] if choose is None else choose(found)).kill()

    def kill_all(self) -> None:
        kill_tree(self._process)

    def freeze(self) -> None:
        """Stop all of it in its tracks."""
        freeze_tree(self.pid)

    def thaw(self) -> None:
        """Let it go on as if nothing had happened."""
        thaw_tree(self.pid)

    def stop(self, within_s: float = 60) -> int:
        self._process.terminate()
        return self._process.wait(within_s)

    def clean_up(self) -> None:
        self.kill_all()
        shutil.rmtree(self.scratch, ignore_errors=True)


@contextmanager
def connect_process(
    config: Mapping[str, str], folder: Path, *arguments: str, await_ready: bool = True, cwd: Path | None = None
) -> Iterator[ConnectProcess]:
    """A worker while the block runs; whatever is left of it afterwards is killed."""
    made = ConnectProcess(config, folder, *arguments, cwd=cwd)
    try:
        if await_ready:
            made.await_ready()
        yield made
    finally:
        made.clean_up()
