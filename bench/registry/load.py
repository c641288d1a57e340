"""Load for a registry: many connections, each with one request under way. Runs as a process of its own.

Prints one JSON object: answered requests, seconds, and how long answers took.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import sys
import time

KINDS = ("lookup", "register")
_LENGTH = re.compile(rb"(?i)\r\ncontent-length: *(\d+)\r\n")
_ID = re.compile(rb'"id":(\d+)')


class Asker(asyncio.Protocol):
    """One connection. Takes its next request from `run`."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.buffer = b""
        self.began = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.ask()

    def ask(self) -> None:
        request = self.run.next_request()
        if request is None:
            self.transport.close()
            return
        self.began = time.perf_counter()
        self.transport.write(request)  # type: ignore[attr-defined]

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        head = self.buffer.find(b"\r\n\r\n")
        if head < 0:
            return
        length = _LENGTH.search(self.buffer, 0, head + 2)
        if length is None:
            raise RuntimeError(f"an answer without a length: {self.buffer[:200]!r}")
        size = int(length[1])
        if len(self.buffer) < head + 4 + size:
            return
        self.run.answered(time.perf_counter() - self.began, self.buffer, ok=self.buffer.startswith(b"HTTP/1.1 200"))
        self.buffer = b""
        self.ask()

    def connection_lost(self, _error: Exception | None) -> None:
        self.run.left()


class Run:
    """So many requests. `mark` names new schemas; for lookups it is the range of ids, as `1-10000`."""

    def __init__(self, kind: str, port: int, count: int, clients: int, mark: str, *, base: str) -> None:
        self.kind, self.port, self.count, self.clients, self.mark = kind, port, count, clients, mark
        self.base = base
        self.ids = range(*map(int, mark.split("-"))) if kind == "lookup" else range(0)
        self.lowest, self.highest = 1 << 62, 0
        self.sent = self.wrong = 0
        self.times: list[float] = []
        self.open = clients
        self.done = asyncio.Event()

    def next_request(self) -> bytes | None:
        if self.sent >= self.count:
            return None
        self.sent += 1
        if self.kind == "lookup":
            return f"GET {self.base}/schemas/ids/{random.choice(self.ids)} HTTP/1.1\r\nHost: registry\r\n\r\n".encode()
        number = self.sent
        fields = [{"name": "a", "type": "int"}, {"name": "b", "type": ["null", "string"], "default": None}]
        schema = json.dumps({"type": "record", "name": f"R{self.mark}{number}", "fields": fields})
        body = json.dumps({"schema": schema}).encode()
        head = f"POST {self.base}/subjects/{self.mark}-{number}/versions HTTP/1.1\r\nHost: registry\r\n"
        return f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body

    def answered(self, seconds: float, answer: bytes, *, ok: bool) -> None:
        self.times.append(seconds)
        if self.kind == "register" and (found := _ID.search(answer)) is not None:
            self.lowest, self.highest = min(self.lowest, int(found[1])), max(self.highest, int(found[1]))
        self.wrong += not ok

    def left(self) -> None:
        self.open -= 1
        if not self.open:
            self.done.set()

    async def go(self) -> dict[str, float]:
        loop = asyncio.get_running_loop()
        began = time.perf_counter()
        for _ in range(self.clients):
            await loop.create_connection(lambda: Asker(self), "127.0.0.1", self.port)
        await self.done.wait()
        took = time.perf_counter() - began
        ordered = sorted(self.times)
        middle, high = ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.99)]
        return {
            "answered": len(ordered),
            "wrong": self.wrong,
            "seconds": took,
            "p50_ms": middle * 1000,
            "p99_ms": high * 1000,
            "lowest": self.lowest,
            "highest": self.highest,
        }


if __name__ == "__main__":
    given_kind, given_port, given_count, given_clients, given_mark, given_base = sys.argv[1:]
    run = Run(given_kind, int(given_port), int(given_count), int(given_clients), given_mark, base=given_base)
    print(json.dumps(asyncio.run(run.go())))
