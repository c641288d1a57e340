"""Many connections, silent ones, and streams: the service stays alive for probes and for everybody else."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
import ssl
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.kit.connect_paper import PaperService, PaperTopic, asked, served
from tests.kit.paper_backend import PaperBackend
from tests.kit.waiting import wait_until

from twinlog.config.security.users import remove_user, save_user, with_certificate, with_token
from twinlog.config.service_settings import HttpSettings
from twinlog.local.certificates import write_certificates
from twinlog.local.security import SecureFiles
from twinlog.surface.http.app_state import AppState
from twinlog.surface.http.health_listener import answer_probes, bind_health


def service_of(http: HttpSettings) -> PaperService:
    return PaperService(
        PaperTopic(), http=http, app_state=lambda audit: AppState.of(PaperBackend(), audit, look_seconds=0.2)
    )


def place(address: str) -> tuple[str, int]:
    parts = urlsplit(address)
    return parts.hostname or "", parts.port or 0


def status(url: str, headers: dict[str, str] | None = None, context: ssl.SSLContext | None = None) -> int:
    request = urllib.request.Request(url, headers=headers or {})  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=10, context=context) as answer:  # noqa: S310
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


@contextmanager
def probed(app_state: AppState) -> Iterator[str]:
    """The listener for probes in a thread; yields its address."""
    sock = bind_health("127.0.0.1:0")
    port = sock.getsockname()[1]
    loop = asyncio.new_event_loop()
    task = loop.create_task(answer_probes(sock, app_state))
    thread = threading.Thread(target=lambda: loop.run_until_complete(asyncio.wait([task])), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        loop.call_soon_threadsafe(task.cancel)
        thread.join(10)
        loop.close()


def hung_up(connection: socket.socket) -> bool:
    """Whether the other side closed it."""
    connection.settimeout(0.01)
    try:
        return connection.recv(1) == b""
    except TimeoutError:
        return False
    except OSError:
        return True


def test_idle_connections_of_one_address_are_limited_and_given_back():
    http = HttpSettings(connections_per_address=20)
    with served(service_of(http)) as address, ExitStack() as idle:
        held = [idle.enter_context(socket.create_connection(place(address), timeout=5)) for _ in range(60)]
        wait_until(lambda: sum(map(hung_up, held)), lambda gone: gone == 40, within_s=10, what="those too many")
        for one in held:
            one.close()
        wait_until(lambda: _quietly(f"{address}/livez"), lambda seen: seen == 200, within_s=10, what="room again")


def _quietly(url: str) -> int:
    try:
        return status(url)
    except (OSError, urllib.error.URLError):
        return 0


def test_probes_are_answered_while_every_connection_of_the_service_is_taken():
    http = HttpSettings(connections_per_address=1200)
    service = service_of(http)
    with served(service) as address, probed(service.app.state.app_state) as probes, ExitStack() as idle:
        for _ in range(1000):
            idle.enter_context(socket.create_connection(place(address), timeout=5))
        taken = wait_until(lambda: _quietly(f"{address}/livez"), lambda seen: seen != 200, within_s=10, what="no room")
        assert taken in {503, 0}, "this is what used to kill the pod"
        assert status(f"{probes}/livez") == 200
        assert status(f"{probes}/readyz") in {200, 503}
        assert status(f"{probes}/connectors") == 404
        with pytest.raises((urllib.error.URLError, OSError)):
            urllib.request.urlopen(f"{probes}/livez", data=b"x" * 20_000, timeout=10)  # noqa: S310


@pytest.fixture
def files(tmp_path: Path) -> SecureFiles:
    found = SecureFiles(tmp_path / "tls")
    write_certificates(found)
    return found


def test_whoever_begins_tls_and_falls_silent_is_let_go(files: SecureFiles, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("twinlog.surface.http.serve.HANDSHAKE_S", 0.5)
    http = HttpSettings(certificate=files.broker)
    with (
        served(PaperService(PaperTopic(), http=http)) as address,
        socket.create_connection(place(address), timeout=10) as silent,
    ):
        began = time.monotonic()
        assert silent.recv(1) == b""
        assert time.monotonic() - began < 5


def test_a_renewed_certificate_is_shown_without_a_restart(files: SecureFiles, tmp_path: Path):
    used, other = tmp_path / "used.pem", SecureFiles(tmp_path / "other")
    write_certificates(other)
    shutil.copy(files.broker, used)

    def shown() -> bytes:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with socket.create_connection(place(address), timeout=5) as plain, context.wrap_socket(plain) as secured:
            return secured.getpeercert(binary_form=True) or b""

    with served(PaperService(PaperTopic(), http=HttpSettings(certificate=used))) as address:
        before = shown()
        used.write_text("half of a")
        assert shown() == before, "a file that is being written changes nothing"
        shutil.copy(other.broker, tmp_path / "new.pem")
        (tmp_path / "new.pem").replace(used)
        wait_until(shown, lambda seen: seen != before, within_s=20, what="the new certificate")


def test_a_certificate_says_who_it_is(files: SecureFiles, tmp_path: Path):
    users = tmp_path / "users"
    save_user(users, with_certificate("robot", "operator", files.broker.read_bytes()))
    http = HttpSettings(certificate=files.broker, client_ca=files.authority, users_file=users)
    context = ssl.create_default_context(cafile=str(files.authority))
    context.load_cert_chain(files.broker)
    topic = PaperTopic()
    with served(PaperService(topic, http=http)) as address:
        assert status(f"{address}/connectors", context=context) == 200
        assert status(f"{address}/connectors", {"authorization": "Bearer wrong"}, context) == 401, (
            "what is shown counts"
        )
        remove_user(users, "robot")
        assert status(f"{address}/connectors", context=context) == 401
    assert ("robot", "certificate") in {(one["name"], one["by"]) for one in map(json.loads, topic.audited)}


def test_streams_of_one_user_are_limited_and_end_when_the_user_is_removed(tmp_path: Path):
    users = tmp_path / "users"
    vera, token = with_token("vera", "viewer")
    otto, other = with_token("otto", "viewer")
    save_user(users, vera)
    save_user(users, otto)
    http = HttpSettings(users_file=users, streams_per_user=2)
    with served(service_of(http)) as address, ExitStack() as open_streams:

        def stream(shown: str) -> socket.socket:
            found = open_streams.enter_context(socket.create_connection(place(address), timeout=10))
            head = f"GET /v1/stream HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {shown}\r\n\r\n"
            found.sendall(head.encode())
            return found

        first, second = stream(token), stream(token)
        assert first.recv(12) == b"HTTP/1.1 200"
        assert second.recv(12) == b"HTTP/1.1 200"
        headers = {"authorization": f"Bearer {token}"}
        assert status(f"{address}/v1/stream", headers) == 429
        assert stream(other).recv(12) == b"HTTP/1.1 200"
        second.close()
        third = wait_until(lambda: stream(token), lambda one: one.recv(12) == b"HTTP/1.1 200", within_s=10, what="room")
        del third
        remove_user(users, "vera")
        told = b""
        while not told.endswith(b"0\r\n\r\n"):  # the end of an answer in chunks; otherwise the socket's time is up
            told += first.recv(65536)
        assert b"event: links" in told, "it told of links until then"


def test_every_answer_tells_browsers_to_guess_and_keep_nothing(tmp_path: Path):
    users = tmp_path / "users"
    vera, token = with_token("vera", "viewer")
    save_user(users, vera)
    with asked(service_of(HttpSettings(users_file=users))) as client:
        for path in ("/connectors", "/v1/links", "/ui/", "/ui/static/page.css", "/none", "/livez", "/metrics"):
            for headers in ({}, {"authorization": f"Bearer {token}"}):
                found = client.get(path, headers=headers).headers
                assert found["x-content-type-options"] == "nosniff", path
                assert "frame-ancestors 'none'" in found["content-security-policy"], path
                assert path.startswith("/ui/static") or found["cache-control"] == "no-store", path
                assert "strict-transport-security" not in found, "there is no TLS"


def test_a_path_writes_no_line_of_its_own_into_the_log(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    def fail(*_: object) -> None:
        raise RuntimeError("a mistake")

    service = service_of(HttpSettings())
    with asked(service) as client:
        monkeypatch.setattr(service.control.connectors, "connector", fail)
        answer = client.get("/connectors/x%0A2026-11-16 ERROR forged")
        assert answer.status_code == 500
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert not [one for one in caplog.records if "\n" in one.getMessage()]
