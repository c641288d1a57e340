"""`python -m tests.faults.relay PORT DELAY_MS CUT_KB`: a slow line, or one that breaks in the middle of an answer.

nftables redirects new connections here. The relay asks the kernel where they wanted to go, and goes there with a mark
by which nftables lets it pass.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from twinlog.local.blueprint import free_ports
from twinlog.local.security import HOST

if TYPE_CHECKING:
    from tests.faults.packets import Network

MARK = 7
_ORIGINAL_DESTINATION = 80
_CHUNK = 16_384
_NO_LINGER = struct.pack("ii", 1, 0)


@contextmanager
def relayed(network: Network, ports: set[int], *, delay_ms: int = 0, cut_kb: int = 0) -> Iterator[None]:
    """New connections to these ports take the relay while the block runs; the caller ends those that exist."""
    (here,) = free_ports(1)
    command = [sys.executable, "-m", "tests.faults.relay", str(here), str(delay_ms), str(cut_kb)]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline(), "the relay did not start"
            network.redirect(ports, here, MARK)
            yield
        finally:
            # In this order: without the rules nobody would hear that the relay has closed its connections.
            process.kill()
            process.wait()
            time.sleep(0.2)
            network.open()


async def _serve(here: int, delay_s: float, cut_bytes: int) -> None:
    dice = random.Random(here)

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        wanted = writer.get_extra_info("socket").getsockopt(socket.SOL_IP, _ORIGINAL_DESTINATION, 16)
        (port,) = struct.unpack_from("!H", wanted, 2)
        away = socket.socket()
        away.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, MARK)
        away.setblocking(False)
        try:
            await asyncio.get_running_loop().sock_connect(away, (HOST, port))
        except OSError:
            writer.transport.abort()
            return
        there, back = await asyncio.open_connection(sock=away)
        cut = dice.randrange(1, 2 * cut_bytes) if cut_bytes else 0
        await asyncio.gather(_pump(reader, back, delay_s, 0), _pump(there, writer, delay_s, cut))

    server = await asyncio.start_server(accept, HOST, here, limit=1 << 20)
    print("ready", flush=True)
    await server.serve_forever()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay_s: float, cut: int) -> None:
    """Pass bytes on, each chunk a while later; break both connections after `cut` bytes."""
    loop = asyncio.get_running_loop()
    passed = 0
    try:
        while chunk := await reader.read(_CHUNK):
            if cut and passed + len(chunk) > cut:
                writer.write(chunk[: cut - passed])
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
                await asyncio.sleep(0.05)
                break
            passed += len(chunk)
            loop.call_later(delay_s, writer.write, chunk)
    except OSError:
        pass
    await asyncio.sleep(delay_s)
    with contextlib.suppress(OSError):
        writer.transport.abort()
        reader._transport.abort()  # type: ignore[attr-defined]


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1]), int(sys.argv[2]) / 1000, int(sys.argv[3]) * 1000))
