"""Registries as processes: started with Confluent's file, asked over HTTP, killed and frozen."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple


class Answer(NamedTuple):
    status: int
    body: Any
    headers: dict[str, str]


def free_port() -> int:
    with closing(socket.socket()) as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


class RegistryProcess:
    """One instance. `settings` are added to its file."""

    def __init__(self, folder: Path, bootstrap: str, name: str = "registry", **settings: str) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = folder / f"{name}-{self.port}.log"
        self.file = folder / f"{name}-{self.port}.properties"
        lines = {
            "listeners": self.url,
            "host.name": "127.0.0.1",
            "kafkastore.bootstrap.servers": f"PLAINTEXT://{bootstrap}",
            "kafkastore.topic.replication.factor": "1",
            "kafkastore.timeout.ms": "5000",
            **{key.replace("_", "."): value for key, value in settings.items()},
        }
        self.file.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> RegistryProcess:
        command = [sys.executable, "-m", "twinlog", "registry", "run", "-c", str(self.file)]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, "TWINLOG_LOG": "INFO"})
        return self

    def await_ready(self, patience_s: float = 60.0, *, leader: bool = True) -> RegistryProcess:
        """Wait until it has read the topic and, if asked for, knows a leader."""
        until = time.monotonic() + patience_s
        last: Any = None
        while time.monotonic() < until:
            try:
                last = self.facts()
            except OSError as error:
                last = error
            else:
                elected = last["leader"] is not None and (last["leader"] != self.url or last["role"] == "leader")
                if last["loaded"] and (elected or not leader):
                    return self
            if self._process is not None and self._process.poll() is not None:
                break
            time.sleep(0.1)
        raise AssertionError(f"{self.url} is not ready: {last}\n{self.log.read_text()[-3000:]}")

    def await_serving(self, patience_s: float = 60.0) -> RegistryProcess:
        """Wait until it has read the topic, where its status asks for a login."""
        until = time.monotonic() + patience_s
        while time.monotonic() < until:
            try:
                if self.ask("GET", "/readyz", timeout_s=3.0).status == 200:
                    return self
            except OSError:
                pass
            time.sleep(0.1)
        raise AssertionError(f"{self.url} is not ready\n{self.log.read_text()[-3000:]}")

    def facts(self) -> dict[str, Any]:
        return dict(self.ask("GET", "/twinlog/registry", timeout_s=3.0).body)

    @property
    def leads(self) -> bool:
        return bool(self.facts()["role"] == "leader")

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        timeout_s: float = 40.0,
        headers: dict[str, str] | None = None,
    ) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout_s)
        data = None if body is None else json.dumps(body).encode()
        try:
            connection.request(method, path, data, {"Content-Type": "application/json", **(headers or {})})
            answer = connection.getresponse()
            text = answer.read()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, json.loads(text) if text else None, found)
        finally:
            connection.close()

    def register(self, subject: str, schema: Any, **more: Any) -> Answer:
        text = schema if isinstance(schema, str) else json.dumps(schema)
        timeout_s = more.pop("timeout_s", 40.0)
        return self.ask("POST", f"/subjects/{subject}/versions", {"schema": text, **more}, timeout_s=timeout_s)

    def _send(self, number: int) -> None:
        assert self._process is not None
        os.kill(self._process.pid, number)

    def freeze(self) -> None:
        self._send(signal.SIGSTOP)

    def thaw(self) -> None:
        self._send(signal.SIGCONT)

    def kill(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait(10)

    def stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(15)
            except subprocess.TimeoutExpired:
                self.kill()

    @property
    def rss_mib(self) -> float:
        assert self._process is not None
        for line in Path(f"/proc/{self._process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) / 1024
        return 0.0

    @property
    def cpu_s(self) -> float:
        assert self._process is not None
        parts = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")


def avro(name: str, *fields: str) -> dict[str, Any]:
    """A record whose name makes it a schema of its own."""
    return {"type": "record", "name": name, "fields": [{"name": field, "type": "int"} for field in fields]}
