"""A real Kafka Connect worker, distributed as in production, to compare our answers with."""

from __future__ import annotations

import json
import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.kit.waiting import wait_until

from twinlog.local.cluster import LocalCluster
from twinlog.local.jars import CONNECT_MIRROR, JarSet, class_path, resolve
from twinlog.machine.java import find_java
from twinlog.machine.local_token import token_for

_JAVA: Final = ("-Xmx512m", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn")


@dataclass(frozen=True)
class Answer:
    status: int
    body: Any
    headers: dict[str, str]


def ask(
    base: str,
    method: str,
    path: str,
    body: Any = None,
    raw: bytes | None = None,
    *,
    headers: dict[str, str] | None = None,
) -> Answer:
    """One request; answers of any status are answers."""
    data = raw if raw is not None else None if body is None else json.dumps(body).encode()
    told = {"Content-Type": "application/json", "Accept": "application/json", **own_token(base), **(headers or {})}
    request = urllib.request.Request(base + path, data=data, method=method, headers=told)  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
            return _answer(answer.status, answer)
    except urllib.error.HTTPError as error:
        return _answer(error.code, error)


def own_token(base: str) -> dict[str, str]:
    """The header that makes an admin of the user who runs a Twinlog service here; nothing for a Connect worker."""
    token = token_for(base)
    return {} if token is None else {"Authorization": f"Bearer {token}"}


def _answer(status: int, found: Any) -> Answer:
    text = found.read()
    try:
        body = json.loads(text) if text else None
    except ValueError:
        body = text.decode()
    return Answer(status, body, {key.lower(): value for key, value in found.headers.items()})


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


@contextmanager
def connect_running(cluster: LocalCluster, folder: Path, jars: JarSet = CONNECT_MIRROR) -> Iterator[str]:
    """The worker's address while the block runs."""
    port = free_port()
    topics = {f"{what}.storage.topic": f"connect-{what}" for what in ("config", "offset", "status")}
    factors = {f"{what}.storage.replication.factor": "1" for what in ("config", "offset", "status")}
    settings = {
        **cluster.client_properties("admin"),
        "group.id": "connect-oracle",
        "key.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
        "value.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
        "listeners": f"http://127.0.0.1:{port}",
        "offset.storage.partitions": "1",
        "status.storage.partitions": "1",
        "plugin.discovery": "hybrid_warn",
        "config.providers": "env",
        "config.providers.env.class": "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
        **topics,
        **factors,
    }
    file = folder / "worker.properties"
    file.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    command = [str(find_java().java), *_JAVA, "-cp", class_path(resolve(jars))]
    command += ["org.apache.kafka.connect.cli.ConnectDistributed", str(file)]
    with (folder / "worker.log").open("wb") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
    base = f"http://127.0.0.1:{port}"
    try:
        wait_until(lambda: _ready(base), lambda ready: ready is True, within_s=90, what="the Connect worker")
        yield base
    finally:
        process.kill()
        process.wait(20)


def _ready(base: str) -> bool | str:
    try:
        return ask(base, "GET", "/health").status == 200
    except OSError as error:
        return str(error)
