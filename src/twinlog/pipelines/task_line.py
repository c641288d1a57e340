"""The line between tasks and the driver: tasks report what they did, the driver asks them to end. JSON lines over TCP.

No data depends on it: positions are in the target or in Kafka. A task that finds nobody at the other end stops, because
its driver is gone.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import secrets
import socket
import socketserver
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

_CONNECT_S: Final = 5.0


class RunAgain(Exception):
    """The task must be run again by Spark, at once. It is no failure that anybody needs to see."""


@dataclass(frozen=True)
class LineAddress:
    """Where the driver listens, and the word by which it knows its tasks."""

    host: str
    port: int
    token: str

    def __repr__(self) -> str:
        return f"LineAddress({self.host}:{self.port})"


class TaskLine:
    """A task's end. Not for several threads."""

    def __init__(self, address: LineAddress, **who: Any) -> None:
        self._socket = socket.create_connection((address.host, address.port), timeout=_CONNECT_S)
        self._lost = False
        self._told = False
        self.send(token=address.token, **who)
        self._socket.setblocking(False)

    def send(self, **facts: Any) -> None:
        """Report something. A lost driver is noticed by `stopping`."""
        try:
            self._socket.setblocking(True)
            self._socket.sendall(json.dumps(facts).encode() + b"\n")
            self._socket.setblocking(False)
        except OSError:
            self._lost = True

    @property
    def stopping(self) -> bool:
        """Whether the driver asked for the end, or is gone."""
        if self._told or self._lost:
            return True
        try:
            data = self._socket.recv(64)
        except BlockingIOError:
            return False
        except OSError:
            self._lost = True
            return True
        if data:
            self._told = True
        else:
            self._lost = True
        return True

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.close()


class LineServer:
    """The driver's end: hands every report over, in a thread of the connection it came by."""

    def __init__(self, heard: Callable[[Mapping[str, Any]], None], host: str = "127.0.0.1", bind: str = "") -> None:
        """Listens at `bind`, and tells tasks to call `host`; without `bind` both are the same."""
        self._token = secrets.token_hex(16)
        self._heard = heard
        self._open: set[socket.socket] = set()
        self._met: set[int] = set()
        self._lock = threading.Lock()
        self._stopping = False
        self.calls = 0  # ends of tasks that have called so far: each task has two
        server = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                server._serve(self.request, self.rfile)

        class Threads(socketserver.ThreadingTCPServer):
            allow_reuse_address = True
            daemon_threads = True

        self._server = Threads((bind or host, 0), Handler)
        self.address = LineAddress(host, int(self._server.server_address[1]), self._token)
        threading.Thread(target=self._server.serve_forever, name="task-line", daemon=True).start()

    def _serve(self, connection: socket.socket, lines: Any) -> None:
        with contextlib.suppress(OSError, ValueError):
            first = json.loads(lines.readline() or b"{}")
            if not hmac.compare_digest(str(first.pop("token", "")), self._token):
                return
            with self._lock:
                self._open.add(connection)
                self.calls += 1
                self._met.add(int(first.get("task", 0)))
                stopping = self._stopping
            if stopping:
                connection.sendall(b"stop\n")
            try:
                for line in lines:
                    self._heard({**first, **json.loads(line)})
            finally:
                with self._lock:
                    self._open.discard(connection)

    def not_met(self, tasks: int) -> list[int]:
        """Which of so many tasks have never called."""
        with self._lock:
            return [task for task in range(tasks) if task not in self._met]

    def stop_tasks(self) -> None:
        """Ask every task of this run to end, also those that connect later."""
        with self._lock:
            self._stopping = True
            for connection in self._open:
                with contextlib.suppress(OSError):
                    connection.sendall(b"stop\n")

    def close(self) -> None:
        """End it. The loop that listens takes half a second to hear of it, which nobody waits for."""
        self.stop_tasks()
        threading.Thread(target=self._end, name="task-line-end", daemon=True).start()

    def _end(self) -> None:
        self._server.shutdown()
        self._server.server_close()
