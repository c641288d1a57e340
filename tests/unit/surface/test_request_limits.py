"""Limits of the real server: slow heads, slow bodies, long bodies, and readers of the live stream."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest
from tests.kit.connect_paper import TOKEN, PaperService, PaperTopic, served
from tests.kit.paper_backend import PaperBackend
from tests.kit.waiting import wait_until

from twinlog.config.service_settings import HttpSettings
from twinlog.surface.http.app_state import AppState

PATIENCE = 15
ORDER = b"POST /connectors HTTP/1.1\r\nAuthorization: Bearer %s\r\n" % TOKEN.encode()


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
    monkeypatch.setattr("twinlog.surface.http.request_limits.HEAD_SECONDS", 0.3)
    with served(PaperService(PaperTopic())) as address, connected(address) as slow:
        slow.sendall(said)
        assert rest_of(slow) == b""


def test_a_byte_now_and_then_does_not_prolong_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("twinlog.surface.http.request_limits.HEAD_SECONDS", 0.5)
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
    monkeypatch.setattr("twinlog.surface.http.request_limits.HEAD_SECONDS", 2.0)
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
        head = ORDER + b"Host: 127.0.0.1\r\nContent-Type: application/json\r\n"
        slow.sendall(head + b"Content-Length: 9\r\n\r\n{")
        slow.settimeout(PATIENCE)
        assert slow.recv(65536).startswith(b"HTTP/1.1 500"), "Connect's code for a request that takes too long"


def test_a_body_that_never_ends_is_cut_off_where_it_is_too_long():
    http = HttpSettings(max_request_bytes=10_000)
    with served(PaperService(PaperTopic(), http=http)) as address, connected(address) as long:
        head = ORDER + b"Host: 127.0.0.1\r\nContent-Type: application/json\r\n"
        long.sendall(head + b"Transfer-Encoding: chunked\r\n\r\n")
        chunk = b"400\r\n" + b" " * 1024 + b"\r\n"
        with contextlib.suppress(OSError):  # it may hang up on us while we are sending: that is what is wanted
            for _ in range(64):
                long.sendall(chunk)
        assert long.recv(65536).startswith(b"HTTP/1.1 413")


def test_a_reader_of_the_stream_may_stay_longer_than_any_request_and_is_told_what_changes():
    http = HttpSettings(request_timeout_seconds=1)
    backend = PaperBackend()
    service = PaperService(
        PaperTopic(), http=http, app_state=lambda audit: AppState.of(backend, audit, look_seconds=0.2)
    )
    with served(service) as address, connected(address) as reader:
        reader.sendall(b"GET /v1/stream HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        began, seen = time.monotonic(), b""
        while time.monotonic() - began < 2.5 or seen.count(b"event: links") < 2:
            seen += reader.recv(65536)
        assert seen.startswith(b"HTTP/1.1 200")
        assert b"text/event-stream" in seen
        order = urllib.request.Request(  # noqa: S310
            f"{address}/v1/links/east-%3Ewest/examinations",
            method="POST",
            headers={"Idempotency-Key": "12345678", "Authorization": f"Bearer {TOKEN}"},
        )
        with urllib.request.urlopen(order, timeout=PATIENCE) as answer:  # noqa: S310
            operation = json.loads(answer.read())["id"].encode()

        def heard() -> bytes:
            nonlocal seen
            seen += reader.recv(65536)
            return seen

        wait_until(heard, lambda told: operation in told, within_s=PATIENCE, what="the operation in the stream")


def said_back(address: str, said: bytes, until: bytes) -> bytes:
    """What the server answers, until it said something or hung up."""
    with connected(address) as connection:
        connection.sendall(said)
        heard = b""
        while until not in heard and (part := connection.recv(65536)):
            heard += part
        return heard


HEAD = b"GET /connectors HTTP/1.1\r\nHost: 127.0.0.1\r\n"


@pytest.mark.proves("R11")
@pytest.mark.parametrize(
    ("head", "piece"),
    [(HEAD, b"X: " + b"x" * 500 + b"\r\n"), (HEAD + b"X: ", b"x" * 500), (b"GET /", b"x" * 500)],
    ids=["many headers", "a long header", "a long path"],
)
def test_a_head_without_end_is_cut_off(head: bytes, piece: bytes):
    with served(PaperService(PaperTopic())) as address, connected(address) as long:
        long.sendall(head)
        heard, sent = b"", 0
        # It may hang up on us while we are sending: that is what is wanted.
        with contextlib.suppress(ConnectionError):
            while sent < 50_000_000:
                long.sendall(piece * 100)
                sent += len(piece) * 100
        with contextlib.suppress(ConnectionError):
            heard = rest_of(long)
        assert sent < 50_000_000
        assert heard == b"" or heard.startswith(b"HTTP/1.1 400")


@pytest.mark.proves("R11")
def test_behind_a_stream_and_behind_a_body_there_is_no_head_without_end_either():
    backend = PaperBackend()
    service = PaperService(PaperTopic(), app_state=lambda audit: AppState.of(backend, audit))
    chunked = ORDER + b"Host: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"
    with served(service) as address:
        for begun in (b"GET /v1/stream HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nGET / HTTP/1.1\r\n", chunked):
            with connected(address) as long:
                long.sendall(begun)
                sent = 0
                with contextlib.suppress(ConnectionError):
                    while sent < 50_000_000:
                        long.sendall(b"X: xxxxxxxxxx\r\n" * 1000)
                        sent += 15_000
                assert sent < 50_000_000


@pytest.mark.parametrize("hosts", [b"", b"Host: 127.0.0.1\r\nHost: evil.example\r\n"])
def test_a_head_names_one_host(hosts: bytes):
    with served(PaperService(PaperTopic())) as address:
        assert said_back(address, b"GET /connectors HTTP/1.1\r\n" + hosts + b"\r\n", b"\r\n").startswith(
            b"HTTP/1.1 400"
        )
        assert b" 200 " in said_back(address, b"GET /connectors HTTP/1.0\r\n\r\n", b"]")


def test_requests_behind_each_other_are_answered_in_their_order():
    ask = b"GET /%s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    last = ask.replace(b"Host", b"Connection: close\r\nHost")
    with served(PaperService(PaperTopic())) as address:
        heard = said_back(address, ask % b"connectors" + ask % b"nowhere" + last % b"connectors", b"nothing says this")
        assert re.findall(rb"HTTP/1.1 (\d+) ", heard) == [b"200", b"404", b"200"]


def test_a_client_that_would_rather_speak_http_2_is_understood():
    """Java's own client asks for it with every first request, also with one that has a body."""
    wish = b"Host: 127.0.0.1\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAA\r\n"
    body = b'{"name": "c", "nonsense": 1}'
    order = ORDER + wish + b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
    with served(PaperService(PaperTopic())) as address, connected(address) as java:
        for said, expected in (
            (b"GET /connectors HTTP/1.1\r\n" + wish + b"\r\n", b"[]"),
            (order % (len(body), body), b"nonsense"),
        ):
            for _ in range(2):
                java.sendall(said)
                heard = b""
                while expected not in heard:
                    part = java.recv(65536)
                    assert part, heard
                    heard += part
