"""Limits of the real server: slow heads, slow bodies, long bodies, and readers of the live stream."""

from __future__ import annotations

import contextlib
import json
import socket
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest
from tests.connect_paper import PaperService, PaperTopic, served
from tests.load.waiting import wait_until
from tests.paper_rooms import PaperRooms

from twinlog.config.service_settings import HttpSettings
from twinlog.surface.rest.desk import Desk

PATIENCE = 15


@contextmanager
def connected(address: str) -> Iterator[socket.socket]:
    place = urlsplit(address)
    with socket.create_connection((place.hostname or "", place.port or 0), timeout=PATIENCE) as found:
        yield found


def rest_of(connection: socket.socket) -> bytes:
    """Everything until the server hangs up."""
    parts = []
    while part := connection.recv(65536):
        parts.append(part)
    return b"".join(parts)


@pytest.mark.parametrize("said", [b"", b"G", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n"])
def test_whoever_does_not_say_what_they_want_is_let_go(said: bytes, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("twinlog.surface.rest.patience.HEAD_SECONDS", 0.3)
    with served(PaperService(PaperTopic())) as address, connected(address) as slow:
        slow.sendall(said)
        assert rest_of(slow) == b""


def test_a_byte_now_and_then_does_not_prolong_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("twinlog.surface.rest.patience.HEAD_SECONDS", 0.5)
    with served(PaperService(PaperTopic())) as address, connected(address) as slow:
        began = time.monotonic()
        slow.sendall(b"GET / HTTP/1.1\r\nX: ")
        slow.settimeout(0.05)
        gone = False
        while not gone and time.monotonic() - began < PATIENCE:
            try:
                slow.sendall(b"x")
                gone = slow.recv(1) == b""
            except TimeoutError:
                continue
            except OSError:
                gone = True
        assert gone, "it is still served after many times of what is allowed"


def test_a_second_request_of_a_connection_has_the_same_limit(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("twinlog.surface.rest.patience.HEAD_SECONDS", 2.0)
    with served(PaperService(PaperTopic())) as address, connected(address) as slow:
        slow.sendall(b"GET /connectors HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert slow.recv(65536).startswith(b"HTTP/1.1 200")
        slow.sendall(b"GET /")
        began = time.monotonic()
        rest_of(slow)
        assert time.monotonic() - began < 10, "less than an idle connection may stay"


def test_a_body_that_does_not_come_is_not_waited_for():
    http = HttpSettings(request_timeout_seconds=1)
    with served(PaperService(PaperTopic(), http=http)) as address, connected(address) as slow:
        head = b"POST /connectors HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        slow.sendall(head + b"Content-Length: 9\r\n\r\n{")
        slow.settimeout(PATIENCE)
        assert slow.recv(65536).startswith(b"HTTP/1.1 500"), "Connect's code for a request that takes too long"


def test_a_body_that_never_ends_is_cut_off_where_it_is_too_long():
    http = HttpSettings(max_request_bytes=10_000)
    with served(PaperService(PaperTopic(), http=http)) as address, connected(address) as long:
        head = b"POST /connectors HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        long.sendall(head + b"Transfer-Encoding: chunked\r\n\r\n")
        chunk = b"400\r\n" + b" " * 1024 + b"\r\n"
        with contextlib.suppress(OSError):  # it may hang up on us while we are sending: that is what is wanted
            for _ in range(64):
                long.sendall(chunk)
        assert long.recv(65536).startswith(b"HTTP/1.1 413")


def test_a_reader_of_the_stream_may_stay_longer_than_any_request_and_is_told_what_changes():
    http = HttpSettings(request_timeout_seconds=1)
    rooms = PaperRooms()
    service = PaperService(PaperTopic(), http=http, desk=lambda audit: Desk.of(rooms, audit, look_seconds=0.2))
    with served(service) as address, connected(address) as reader:
        reader.sendall(b"GET /v1/stream HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        began, seen = time.monotonic(), b""
        while time.monotonic() - began < 2.5 or seen.count(b"event: links") < 2:
            seen += reader.recv(65536)
        assert seen.startswith(b"HTTP/1.1 200")
        assert b"text/event-stream" in seen
        order = urllib.request.Request(  # noqa: S310
            f"{address}/v1/links/east-%3Ewest/examinations", method="POST", headers={"Idempotency-Key": "12345678"}
        )
        with urllib.request.urlopen(order, timeout=PATIENCE) as answer:  # noqa: S310
            operation = json.loads(answer.read())["id"].encode()

        def heard() -> bytes:
            nonlocal seen
            seen += reader.recv(65536)
            return seen

        wait_until(heard, lambda told: operation in told, within_s=PATIENCE, what="the operation in the stream")
