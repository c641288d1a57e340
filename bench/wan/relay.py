"""The long line: a relay that passes bytes on some time later, and no faster than a rate.

`relay TARGET_PORT:LISTEN_PORT ... DELAY_MS MBIT` serves until its input closes; for each line of input it prints what
crossed so far as JSON. All connections share one line, so the rate holds for their sum, in each direction by itself.

    client ── read at once ──▶ queue of (due, bytes) ── written when due ──▶ broker

What waits in the relay is limited to what such a line holds: rate times delay and a router's buffer behind it. So a
sender is held back as by a real line, and a line without a limit holds whatever is sent within its delay.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import sys
from collections import deque
from dataclasses import dataclass, field

HOST = "127.0.0.1"
_CHUNK = 1 << 18
_LIMITED_CHUNK = 1 << 15  # of a line with a rate: small, so that connections share it fairly
_BUFFER_S = 0.05  # what a router holds beside what is on the line
_UNLIMITED = 1 << 29


@dataclass
class Direction:
    """One way of the line, for all connections together."""

    delay_s: float
    bytes_per_s: float  # 0: no limit
    crossed: int = 0
    free_at: float = 0.0

    @property
    def chunk(self) -> int:
        return _LIMITED_CHUNK if self.bytes_per_s else _CHUNK

    @property
    def holds(self) -> int:
        """Most bytes that may be inside."""
        limit = self.bytes_per_s * (self.delay_s + _BUFFER_S)
        return max(int(limit), 4 * _LIMITED_CHUNK) if self.bytes_per_s else _UNLIMITED

    def due(self, size: int, now: float) -> float:
        """When bytes that enter now come out."""
        self.crossed += size
        if self.bytes_per_s:
            self.free_at = max(now, self.free_at) + size / self.bytes_per_s
            now = self.free_at
        return now + self.delay_s


@dataclass
class Line:
    """Both ways."""

    there: Direction
    back: Direction
    inside: dict[Direction, int] = field(default_factory=dict)


class Pump:
    """One direction of one connection."""

    def __init__(self, way: Direction, incoming: socket.socket, outgoing: socket.socket) -> None:
        self.way, self.incoming, self.outgoing = way, incoming, outgoing
        self.queue: deque[tuple[float, memoryview, int]] = deque()
        self.spare: list[memoryview] = []  # used again: fresh memory would cost more than the copying
        self.held = 0
        self.changed = asyncio.Event()
        self.ended = False

    async def run(self) -> None:
        async with asyncio.TaskGroup() as work:
            work.create_task(self._read())
            work.create_task(self._write())

    async def _read(self) -> None:
        loop, way = asyncio.get_running_loop(), self.way
        try:
            while True:
                while self.held > way.holds:
                    self.changed.clear()
                    await self.changed.wait()
                buffer = self.spare.pop() if self.spare else memoryview(bytearray(way.chunk))
                size = await loop.sock_recv_into(self.incoming, buffer)
                if not size:
                    return
                self.held += size
                self.queue.append((way.due(size, loop.time()), buffer, size))
                self.changed.set()
        except OSError:
            return
        finally:
            self.ended = True
            self.changed.set()

    async def _write(self) -> None:
        loop = asyncio.get_running_loop()
        with contextlib.suppress(OSError):
            while True:
                if not self.queue:
                    if self.ended:
                        break
                    self.changed.clear()
                    await self.changed.wait()
                    continue
                due, buffer, size = self.queue[0]
                if (wait := due - loop.time()) > 0:
                    await asyncio.sleep(wait)
                await loop.sock_sendall(self.outgoing, buffer[:size])
                self.queue.popleft()
                self.spare.append(buffer)
                self.held -= size
                self.changed.set()
        with contextlib.suppress(OSError):
            self.outgoing.shutdown(socket.SHUT_RDWR)
        with contextlib.suppress(OSError):
            self.incoming.shutdown(socket.SHUT_RDWR)  # who cannot be reached any more must hear of it


async def serve(ports: dict[int, int], there: Direction, back: Direction) -> None:
    """Relay connections to each listening port; answer questions on standard input."""
    loop = asyncio.get_running_loop()
    work: set[asyncio.Task[None]] = set()

    async def connect(client: socket.socket, port: int) -> None:
        broker = socket.socket()
        broker.setblocking(False)
        try:
            await asyncio.sleep(there.delay_s + back.delay_s)  # the three messages that open a connection
            await loop.sock_connect(broker, (HOST, port))
            for end in (client, broker):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            async with asyncio.TaskGroup() as both:
                both.create_task(Pump(there, client, broker).run())
                both.create_task(Pump(back, broker, client).run())
        except OSError:
            pass
        finally:
            client.close()
            broker.close()

    async def accept(listener: socket.socket, port: int) -> None:
        while True:
            client, _ = await loop.sock_accept(listener)
            client.setblocking(False)
            task = asyncio.create_task(connect(client, port))
            work.add(task)
            task.add_done_callback(work.discard)

    for listen, port in ports.items():
        listener = socket.create_server((HOST, listen), backlog=128)
        listener.setblocking(False)
        work.add(asyncio.create_task(accept(listener, port)))
    print("ready", flush=True)
    questions = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(questions), sys.stdin)
    while await questions.readline():
        print(json.dumps({"there": there.crossed, "back": back.crossed}), flush=True)


if __name__ == "__main__":
    *pairs, delay_ms, mbit = sys.argv[1:]
    wanted = {int(listen): int(port) for port, _, listen in (pair.partition(":") for pair in pairs)}
    ways = [Direction(float(delay_ms) / 1000, float(mbit) * 125_000) for _ in range(2)]
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(wanted, *ways))
