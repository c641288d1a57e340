"""Whoever asks a service all the time, in a process of its own: `readers HOST PORT RATE PATH...`.

Keeps the pace whatever the answers do, over a few connections, until its input closes; then prints what it saw as JSON.
Requests are written by hand: a client that costs more than the server would measure itself.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from array import array
from dataclasses import dataclass, field

from bench.latency.percentiles import percentiles

_CONNECTIONS = 16


@dataclass
class Seen:
    """What became of the requests."""

    took: dict[str, array[int]] = field(default_factory=dict)
    failed: int = 0
    size: int = 0


async def _ask(host: str, port: int, paths: asyncio.Queue[str], seen: Seen) -> None:
    reader: asyncio.StreamReader | None = None
    writer: asyncio.StreamWriter | None = None
    while True:
        path = await paths.get()
        began = time.monotonic_ns()
        try:
            if reader is None or writer is None:
                reader, writer = await asyncio.open_connection(host, port, limit=1 << 20)
            writer.write(f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
            head = await reader.readuntil(b"\r\n\r\n")
            status, size = _read_head(head)
            await reader.readexactly(size)
        except (OSError, EOFError, ValueError):
            seen.failed += 1
            if writer is not None:
                writer.close()
            reader = writer = None
            continue
        seen.size += size
        seen.took.setdefault(path, array("q")).append(time.monotonic_ns() - began)
        seen.failed += status != 200


def _read_head(head: bytes) -> tuple[int, int]:
    """Status and length of the body."""
    first, *lines = head.decode("latin-1").split("\r\n")
    lengths = [line for line in lines if line.lower().startswith("content-length:")]
    if not lengths:
        raise ValueError("no length")
    return int(first.split(" ", 2)[1]), int(lengths[0].split(":", 1)[1])


async def main(host: str, port: int, rate: int, paths: list[str]) -> None:
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()

    def wait_for_end() -> None:
        sys.stdin.read()
        loop.call_soon_threadsafe(ended.set)

    threading.Thread(target=wait_for_end, daemon=True).start()
    seen, waiting = Seen(), asyncio.Queue[str]()
    askers = [asyncio.create_task(_ask(host, port, waiting, seen)) for _ in range(_CONNECTIONS)]
    began, sent = time.monotonic(), 0
    while not ended.is_set():
        due = int((time.monotonic() - began) * rate)
        while sent < due:
            waiting.put_nowait(paths[sent % len(paths)])
            sent += 1
        await asyncio.sleep(0.005)
    for asker in askers:
        asker.cancel()
    every = array("q", (one for some in seen.took.values() for one in some))
    answer = {
        "seconds": time.monotonic() - began,
        "sent": sent,
        "answered": len(every),
        "failed": seen.failed,
        "bytes": seen.size,
        "ms": percentiles(every) if every else {},
        "paths": {path: percentiles(some) for path, some in seen.took.items()},
    }
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]))
