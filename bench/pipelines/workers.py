"""Two workers that run the same connectors: Kafka Connect's own, and `twinlog connect`."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
from bench.pipelines.peers import plugin_path
from tests.kit.connect_worker import ask, free_port
from tests.kit.waiting import wait_until

from twinlog.local.cluster import LocalCluster
from twinlog.local.jars import class_path, resolve
from twinlog.local.server_jars import CONNECT_FILE
from twinlog.machine.java import find_java

WITHIN_S = 120.0


@dataclass(frozen=True)
class Worker:
    """A worker that runs: where it listens, and its first process."""

    name: str
    base: str
    pid: int

    def put(self, name: str, config: dict[str, str]) -> None:
        wait_until(
            lambda: ask(self.base, "PUT", f"/connectors/{name}/config", config),
            lambda answer: answer.status in {200, 201},
            within_s=WITHIN_S,
            what=f"{self.name}: {name}",
        )

    def delete(self, name: str) -> None:
        ask(self.base, "DELETE", f"/connectors/{name}")


def _file(cluster: LocalCluster, folder: Path, port: int, more: dict[str, str]) -> Path:
    group = f"bench-{uuid.uuid4().hex[:8]}"
    settings = {
        "bootstrap.servers": cluster.bootstrap_servers, "group.id": group,
        **{f"{what}.storage.topic": f"{group}-{what}" for what in ("config", "offset", "status")},
        **{f"{what}.storage.replication.factor": "1" for what in ("config", "offset", "status")},
        "offset.storage.partitions": "1", "status.storage.partitions": "1",
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        "value.converter": "org.apache.kafka.connect.storage.StringConverter",
        "listeners": f"http://127.0.0.1:{port}", "plugin.discovery": "hybrid_warn",
        "connector.client.config.override.policy": "All", **more,
    }  # fmt: skip
    path = folder / f"{group}.properties"
    path.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    return path


def _command(name: str, file: Path) -> list[str]:
    if name == "twinlog":
        return [sys.executable, "-m", "twinlog", "connect", "-c", str(file)]
    java = [str(find_java().java), "-Xmx2g", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"]
    return [
        *java,
        "-cp",
        class_path(resolve(CONNECT_FILE)),
        "org.apache.kafka.connect.cli.ConnectDistributed",
        str(file),
    ]


@contextmanager
def running(name: str, cluster: LocalCluster, folder: Path) -> Iterator[Worker]:
    """A worker while the block runs."""
    port = free_port()
    scratch = tempfile.mkdtemp(prefix="tw")
    more = {"plugin.path": str(plugin_path())} if name == "connect" else {}
    file = _file(cluster, folder, port, more)
    with (folder / f"{file.stem}.log").open("wb") as log:
        process = subprocess.Popen(
            _command(name, file), stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            env={**os.environ, "TMPDIR": scratch},
        )  # fmt: skip
    worker = Worker(name, f"http://127.0.0.1:{port}", process.pid)

    def ready() -> str:
        if process.poll() is not None:
            raise RuntimeError(f"{name} ended with {process.returncode}; see {log.name}")
        try:
            answer = ask(worker.base, "GET", "/health")
        except OSError as error:
            return str(error)
        return "ready" if answer.status == 200 and "starting" not in str(answer.body) else str(answer.body)

    try:
        wait_until(ready, lambda said: said == "ready", within_s=WITHIN_S, what=name)
        yield worker
    finally:
        family = [process.pid, *[one.pid for one in psutil.Process(process.pid).children(recursive=True)]]
        for pid in family:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait()
