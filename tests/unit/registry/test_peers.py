"""Requests to the leader use connections again; one that was closed meanwhile is replaced."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from twinlog.surface.registry.peers import PeerAnswer, PeerAway, Peers


class Server:
    """Answers every request of every connection with the same bytes."""

    def __init__(self, answer: bytes = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}", requests: int = 1000) -> None:
        self.answer, self.requests = answer, requests
        self.connections = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        for _ in range(self.requests):
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0] or b"0")
            await reader.readexactly(length)
            writer.write(self.answer)
            await writer.drain()
        writer.close()


def asked(server: Server, work: Callable[[Peers, str], Awaitable[None]]) -> None:
    async def run() -> None:
        listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
        peers = Peers()
        try:
            await work(peers, f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}")
        finally:
            peers.close()
            listening.close()

    asyncio.run(run())


async def _ask(peers: Peers, url: str) -> PeerAnswer:
    return await peers.ask(url, "POST", b"/subjects/s/versions", [], b"{}")


def test_one_connection_serves_many_requests() -> None:
    server = Server()

    async def work(peers: Peers, url: str) -> None:
        for _ in range(5):
            assert (await _ask(peers, url)).body == b"{}"

    asked(server, work)
    assert server.connections == 1


def test_requests_at_the_same_time_have_connections_of_their_own() -> None:
    server = Server()

    async def work(peers: Peers, url: str) -> None:
        for _ in range(3):
            await asyncio.gather(*(_ask(peers, url) for _ in range(4)))

    asked(server, work)
    assert server.connections == 4


def test_a_server_that_says_close_is_not_asked_again_on_that_connection() -> None:
    server = Server(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}")

    async def work(peers: Peers, url: str) -> None:
        for _ in range(3):
            await _ask(peers, url)

    asked(server, work)
    assert server.connections == 3


def test_a_connection_that_was_closed_meanwhile_is_replaced() -> None:
    server = Server(requests=1)

    async def work(peers: Peers, url: str) -> None:
        for _ in range(3):
            await _ask(peers, url)
            await asyncio.sleep(0.01)

    asked(server, work)
    assert server.connections == 3


def test_nobody_there_is_told() -> None:
    async def run() -> str:
        try:
            await _ask(Peers(), "http://127.0.0.1:1")
        except PeerAway as away:
            return str(away)
        return ""

    assert "127.0.0.1:1" in asyncio.run(run())
