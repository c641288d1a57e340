"""Redirect hooks: what each sends and reads back, what it says when that fails, and what no output shows.

Consul's server is played by a stand-in that follows its documented HTTP API; etcd and DNS have tests with real servers.
"""

from __future__ import annotations

import base64
import json
import ssl
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from twinlog.config.resolve import resolve
from twinlog.config.security.secrets import Secret
from twinlog.config.switch_settings import Redirect
from twinlog.errors import RedirectFailed, SettingsInvalid
from twinlog.local.certificates import write_certificates
from twinlog.local.security import ADMIN, SecureFiles
from twinlog.model.switch.redirects import Direction
from twinlog.recovery.redirect import command, consul, webhook

WAY = Direction("B", "A", "b1:9092,b2:9092", 7, "A->B")
HERE = sys.executable
ETCD = "A->B.redirects = x\nA->B.redirects.x.type = etcd\nA->B.redirects.x.key = k\n"

Answer = Callable[[str, str, bytes, dict[str, str]], tuple[int, bytes]]


@contextmanager
def server(answer: Answer, context: ssl.SSLContext | None = None) -> Iterator[str]:
    """An HTTP server whose every answer is made by a function of method, path, body and headers."""

    class Handler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, said = answer(self.command, self.path, body, dict(self.headers))
            self.send_response(status)
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        do_GET = do_PUT = do_POST = _serve  # noqa: N815  the names that the server looks for

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Say nothing."""

    one = HTTPServer(("127.0.0.1", 0), Handler)
    if context is not None:
        one.socket = context.wrap_socket(one.socket, server_side=True)
    thread = threading.Thread(target=one.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"{'http' if context is None else 'https'}://127.0.0.1:{one.server_port}"
    finally:
        one.shutdown()
        one.server_close()


def test_a_text_names_what_the_switch_knows_and_keeps_other_braces() -> None:
    assert WAY.fill('{"to": "{bootstrap}", "by": {link}, "x": {}}') == '{"to": "b1:9092,b2:9092", "by": A->B, "x": {}}'
    assert WAY.value(None, {}) == "b1:9092,b2:9092"
    assert WAY.value("{active}!", {}) == "B!"
    assert WAY.value("{active}!", {"B": "own"}) == "own"


def test_a_command_gets_what_is_known_and_its_end_is_its_word() -> None:
    show = "import os, sys; sys.exit(0 if (os.environ['TWINLOG_ACTIVE'], sys.argv[1]) == ('B', '7') else 3)"
    assert "ended well" in command.call(
        Redirect(name="c", kind="command", command=(HERE, "-c", show, "{generation}")), WAY
    )
    fail = Redirect(name="c", kind="command", command=(HERE, "-c", "raise SystemExit('no such zone')"))
    with pytest.raises(RedirectFailed, match="ended with 1; the log has what it printed"):
        command.call(fail, WAY)
    slow = Redirect(
        name="c", kind="command", command=(HERE, "-c", "input()" * 0 + "import time; time.sleep(9)"), timeout_seconds=1
    )
    with pytest.raises(RedirectFailed, match="did not end within 1 s"):
        command.call(slow, WAY)
    with pytest.raises(RedirectFailed, match="No such file"):
        command.call(Redirect(name="c", kind="command", command=("/no/such/program",)), WAY)


def test_a_webhook_is_called_and_verified_until_it_holds() -> None:
    seen: list[tuple[str, str, bytes, str | None]] = []

    def answer(method: str, path: str, body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
        seen.append((method, path, body, headers.get("X-Key")))
        if method == "GET":
            return 200, b"active is B" if len(seen) > 2 else b"active is A"
        return 200, b""

    with server(answer) as url:
        hook = Redirect(
            name="w",
            kind="webhook",
            url=Secret(f"{url}/switch/{{active}}"),
            headers={"X-Key": Secret("s3cret")},
            verify_url=Secret(f"{url}/now"),
            timeout_seconds=5,
        )
        assert "says B" in webhook.call(hook, WAY)
    assert seen[0][:2] == ("POST", "/switch/B")
    assert json.loads(seen[0][2]) == WAY.words()
    assert seen[0][3] == "s3cret"
    assert [one[0] for one in seen] == ["POST", "GET", "GET"]


def test_a_webhook_that_fails_says_why_and_shows_no_secret() -> None:
    with server(lambda *_: (503, b"maintenance")) as url:
        hook = Redirect(
            name="w",
            kind="webhook",
            url=Secret(f"{url}/s3cret"),
            headers={"Authorization": Secret("s3cret")},
            body=Secret("s3cret"),
        )
        with pytest.raises(RedirectFailed, match="503") as failed:
            webhook.call(hook, WAY)
    assert "maintenance" not in str(failed.value), "for the log: everybody who may look reads the error"
    assert "s3cret" not in str(failed.value) + repr(hook)
    with pytest.raises(RedirectFailed, match="refused"):
        webhook.call(Redirect(name="w", kind="webhook", url=Secret(url)), WAY)
    with pytest.raises(RedirectFailed, match="only http"):
        webhook.call(Redirect(name="w", kind="webhook", url=Secret("file:///etc/passwd")), WAY)
    with server(lambda *_: (200, b"still A")) as url:
        hook = Redirect(name="w", kind="webhook", url=Secret(url), verify_url=Secret(url), timeout_seconds=1)
        with pytest.raises(RedirectFailed, match="does not say B"):
            webhook.call(hook, WAY)


def test_consul_gets_the_key_and_is_asked_for_it() -> None:
    store: dict[str, bytes] = {}

    def answer(method: str, path: str, body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
        if headers.get("X-Consul-Token") != "tok":
            return 403, b"Permission denied"
        key = path.removeprefix("/v1/kv/").removesuffix("?consistent")
        if method == "PUT":
            store[key] = body
            return 200, b"true"
        assert path.endswith("?consistent")
        return 200, json.dumps([{"Key": key, "Value": base64.b64encode(store[key]).decode()}]).encode()

    with server(answer) as url:
        hook = Redirect(
            name="k", kind="consul", url=Secret(url), key="kafka/{link}", value="{active}", token=Secret("tok")
        )
        assert consul.call(hook, WAY) == "kafka/A->B holds the new value"
        assert store == {"kafka/A-%3EB": b"B"}
        with pytest.raises(RedirectFailed, match="403"):
            consul.call(hook.model_copy(update={"token": None}), WAY)


def test_consul_that_does_not_keep_the_value_is_noticed() -> None:
    def answer(method: str, *_: Any) -> tuple[int, bytes]:
        old = json.dumps([{"Value": base64.b64encode(b"A").decode()}]).encode()
        return 200, b"true" if method == "PUT" else old

    with server(answer) as url, pytest.raises(RedirectFailed, match="does not hold what was written"):
        consul.call(Redirect(name="k", kind="consul", url=Secret(url), key="k", value="{active}"), WAY)


def test_hooks_are_read_in_their_order_with_what_they_need() -> None:
    text = """
        clusters = A, B
        A.bootstrap.servers = a:1
        B.bootstrap.servers = b:1
        A->B.enabled = true
        A->B.redirects = names, flag
        A->B.redirects.names.type = dns
        A->B.redirects.names.server = 127.0.0.1:5353
        A->B.redirects.names.zone = example.com.
        A->B.redirects.names.name = kafka.example.com.
        A->B.redirects.names.value.A = a.example.com.
        A->B.redirects.names.value.B = b.example.com.
        A->B.redirects.names.tsig.name = key
        A->B.redirects.names.tsig.secret = c2VjcmV0
        A->B.redirects.flag.type = command
        A->B.redirects.flag.command = /bin/tell "all of them" {active}
        A->B.redirects.flag.timeout.seconds = 5
        A->B.switch.fence = acl
    """
    found = resolve(text.encode(), "f", (), {})
    (link,) = found.links
    names, flag = link.switch.redirects
    assert (names.kind, names.values, names.record) == ("dns", {"A": "a.example.com.", "B": "b.example.com."}, "CNAME")
    assert flag.command == ("/bin/tell", "all of them", "{active}")
    assert flag.timeout_seconds == 5
    assert link.switch.fence == "acl"
    assert not found.findings
    assert "c2VjcmV0" not in repr(found)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("A->B.redirects = x", "has no valid type"),
        ("A->B.redirects = x\nA->B.redirects.x.type = carrier-pigeon", "is not valid"),
        ("A->B.redirects = x\nA->B.redirects.x.type = etcd\nA->B.redirects.x.url = http://e", "needs redirects.x.key"),
        (f"{ETCD}A->B.redirects.x.url = http://e\nA->B.redirects.x.password = s3cret", "in clear text"),
        (f"{ETCD}A->B.redirects.x.url = https://e\nA->B.switch.allowed.urls = https://f", "switch.allowed.urls"),
        (f"{ETCD}A->B.redirects.x.url = https://e\nA->B.redirects.x.ca = /no/such.pem", "there is no such file"),
        (f"{ETCD}A->B.redirects.x.url = https://e\nA->B.redirects.x.private.key = /no/such.pem", "x.certificate"),
    ],
)
def test_a_hook_that_cannot_work_is_an_error(lines: str, words: str) -> None:
    text = f"clusters = A, B\nA.bootstrap.servers = a:1\nB.bootstrap.servers = b:1\nA->B.enabled = true\n{lines}\n"
    with pytest.raises(SettingsInvalid) as invalid:
        resolve(text.encode(), "f", (), {})
    assert words in str(invalid.value)
    assert "s3cret" not in str(invalid.value)


@pytest.mark.parametrize(
    "lines",
    [
        "A->B.redirects.x.url = http://e:2379",
        "A->B.redirects.x.url = http://127.0.0.1:2379\nA->B.redirects.x.password = p",
        "A->B.redirects.x.url = http://e:2379\nA->B.redirects.x.password = p\nswitch.allowed.urls = http://e:2379",
    ],
)
def test_a_hook_without_tls_is_for_what_is_no_secret_or_was_allowed(lines: str) -> None:
    text = f"clusters = A, B\nbootstrap.servers = k:1\nA->B.enabled = true\n{ETCD}{lines}\n"
    assert not resolve(text.encode(), "f", (), {}).findings


def test_a_hook_asks_no_address_beyond_its_list_whatever_is_filled_in() -> None:
    with server(lambda *_: (200, b"")) as url:
        hook = Redirect(name="w", kind="webhook", url=Secret(f"{url}/to/{{active}}"), allowed_urls=(f"{url}/to",))
        webhook.call(hook, WAY)
        for address in (f"{url}/to/../{{active}}", f"{url}/other", "http://{active}.example/to/x"):
            with pytest.raises(RedirectFailed, match=r"switch\.allowed\.urls"):
                webhook.call(hook.model_copy(update={"url": Secret(address)}), WAY)


def test_a_hook_believes_its_own_authority_and_shows_its_certificate(tmp_path: Path) -> None:
    files = SecureFiles(tmp_path / "tls")
    write_certificates(files)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files.broker)
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(files.authority)
    with server(lambda *_: (200, b""), context) as url:
        known = Redirect(
            name="w",
            kind="webhook",
            url=Secret(url),
            ca=str(files.authority),
            certificate=str(files.certificate(ADMIN)),
        )
        assert "answered well" in webhook.call(known, WAY)
        with pytest.raises(RedirectFailed, match="CERTIFICATE_VERIFY_FAILED"):
            webhook.call(known.model_copy(update={"ca": None}), WAY)
        with pytest.raises(RedirectFailed):
            webhook.call(known.model_copy(update={"certificate": None}), WAY)
