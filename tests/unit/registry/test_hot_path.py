"""The short way to an answer: the same bytes as the ordinary way, and never an old answer."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
import uvicorn
from tests.kit.registry import free_port
from tests.unit.registry.asking import Asking, record

from twinlog.surface.registry.hot_path import hot_protocol

GET = b"GET /schemas/ids/1 HTTP/1.1\r\nHost: x\r\n\r\n"


class Served:
    """A registry in memory behind the protocol of the real one."""

    def __init__(self) -> None:
        self.ask = Asking()
        self.port = free_port()

    async def talk(self, *packets: bytes) -> bytes:
        """Send packets over one connection; returns all that comes back."""
        config = uvicorn.Config(self.ask.app, port=self.port, http=hot_protocol(self.ask.app.prepared), lifespan="off",
                                log_level="error", access_log=False)  # fmt: skip
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server.serve())
        while not server.started:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        answers = b""
        for packet in packets:
            writer.write(packet)
            await writer.drain()
            if packet.endswith(b"\r\n\r\n"):
                async with asyncio.timeout(5):
                    answers += await reader.read(65536)
        writer.close()
        server.should_exit = True
        await serving
        return answers


@pytest.fixture
def served() -> Served:
    made = Served()
    made.ask.register("s", record("R", a="int"))
    return made


def _hits(served: Served) -> Any:
    return served.ask.app.prepared.hits


def test_a_repeated_question_is_answered_from_prepared_bytes(served: Served) -> None:
    answers = asyncio.run(served.talk(GET, GET))
    assert answers.count(b'"subject":"s"') == 2
    assert _hits(served) == 2


def test_a_change_is_seen_at_once(served: Served) -> None:
    assert b'"deleted":false' in asyncio.run(served.talk(GET))
    served.ask("DELETE", "/subjects/s")
    served.port = free_port()
    assert b'"deleted":true' in asyncio.run(served.talk(GET))
    served.ask("DELETE", "/subjects/s?permanent=true")
    served.port = free_port()
    assert b"404" in asyncio.run(served.talk(GET))[:15]


@pytest.mark.parametrize(
    "packet",
    [
        GET.replace(b"Host: x", b"Host: x\r\nAccept: application/json"),
        GET.replace(b"Host: x", b"Host: x\r\nContent-Length: 0"),
        GET.replace(b"HTTP/1.1", b"HTTP/1.0"),
        b"GET /schemas/ids/1?fetchMaxId=true HTTP/1.1\r\nHost: x\r\n\r\n",
    ],
)
def test_what_is_not_plain_goes_the_ordinary_way(served: Served, packet: bytes) -> None:
    assert b"200 OK" in asyncio.run(served.talk(packet))
    assert _hits(served) == 0


def test_two_requests_in_one_packet_are_left_to_the_parser(served: Served) -> None:
    assert b"HTTP/1.1 200" in asyncio.run(served.talk(GET + GET))
    assert _hits(served) == 0


def test_a_request_in_two_pieces_is_put_together(served: Served) -> None:
    assert b'"subject":"s"' in asyncio.run(served.talk(GET[:30], GET[30:]))


def _post(body: bytes, *more: bytes) -> bytes:
    lines = (b"POST /subjects/s/versions HTTP/1.1", b"Host: x", b"Content-Type: application/json", *more)
    return b"\r\n".join((*lines, b"Content-Length: %d" % len(body))) + b"\r\n\r\n" + body


def test_a_known_schema_is_answered_again_from_what_was_kept(served: Served) -> None:
    body = json.dumps({"schema": json.dumps(record("R", a="int"))}).encode() + b"\r\n\r\n"
    answers = asyncio.run(served.talk(_post(body), _post(body)))
    assert answers.count(b'"id":1') == 2
    assert _hits(served) == 1
    served.ask("DELETE", "/subjects/s")
    served.port = free_port()
    assert b'"id":1,"version":2' in asyncio.run(served.talk(_post(body)))
    assert _hits(served) == 1


def test_a_body_of_another_type_is_refused_although_the_schema_is_known(served: Served) -> None:
    body = json.dumps({"schema": json.dumps(record("R", a="int"))}).encode() + b"\r\n\r\n"
    asyncio.run(served.talk(_post(body)))
    served.port = free_port()
    odd = _post(body).replace(b"application/json", b"text/plain")
    assert b"415" in asyncio.run(served.talk(odd))[:15]
