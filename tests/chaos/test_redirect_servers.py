"""Redirect hooks against the real servers: bind9 with a signed dynamic update, etcd with its JSON gateway."""

from __future__ import annotations

import base64
import json
import socket
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.kit.debian import server_command
from tests.kit.waiting import wait_until

from twinlog.config.security.secrets import Secret
from twinlog.config.switch_settings import Redirect
from twinlog.errors import RedirectFailed
from twinlog.model.switch.redirects import Direction
from twinlog.recovery.redirect import dns, etcd

pytestmark = pytest.mark.chaos

TO_B = Direction("B", "A", "b1:9092,b2:9092", 7, "A->B")
TO_A = Direction("A", "B", "a1:9092", 8, "A->B")
KEY = base64.b64encode(b"thirty-two bytes of a shared key").decode()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def _running(command: list[str], env: dict[str, str], port: int, log: Path) -> Iterator[None]:
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=env)

    def listens() -> bool:
        assert process.poll() is None, log.read_text(errors="replace")[-2000:]
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    try:
        wait_until(listens, bool, within_s=20, what=command[0])
        yield
    finally:
        process.terminate()
        process.wait(20)


@pytest.fixture
def bind9(tmp_path: Path) -> Iterator[int]:
    """A name server for dc.test that takes updates signed with our key."""
    named, env = server_command("named", "bind9")
    port = _free_port()
    (tmp_path / "dc.test.zone").write_text(
        "$TTL 30\n@ IN SOA ns. root. 1 60 60 60 60\n@ IN NS ns.\nkafka IN CNAME a.dc.test.\n"
    )
    (tmp_path / "named.conf").write_text(
        f'key "mover" {{ algorithm hmac-sha256; secret "{KEY}"; }};\n'
        f'options {{ directory "{tmp_path}"; listen-on port {port} {{ 127.0.0.1; }}; listen-on-v6 {{ none; }};'
        f' pid-file none; session-keyfile "{tmp_path}/session.key"; dnssec-validation no; }};\n'
        "controls { };\n"
        f'zone "dc.test" {{ type primary; file "{tmp_path}/dc.test.zone"; allow-update {{ key "mover"; }}; }};\n'
    )
    with _running([named, "-g", "-c", str(tmp_path / "named.conf")], env, port, tmp_path / "named.log"):
        # It listens before it has loaded its zones.
        wait_until(
            (tmp_path / "named.log").read_text,
            lambda said: "all zones loaded" in said,
            within_s=20,
            what="zones",
        )
        yield port


def test_a_name_is_moved_by_a_signed_update(bind9: int) -> None:
    hook = Redirect(
        name="names",
        kind="dns",
        server=f"127.0.0.1:{bind9}",
        zone="dc.test.",
        record_name="kafka.dc.test.",
        values={"A": "a.dc.test.", "B": "b.dc.test."},
        tsig_name="mover",
        tsig_secret=Secret(KEY),
        timeout_seconds=5,
    )
    assert "b.dc.test." in dns.call(hook, TO_B)
    assert "b.dc.test." in dns.call(hook, TO_B)  # a second time does no harm
    assert "a.dc.test." in dns.call(hook, TO_A)
    with pytest.raises(RedirectFailed, match="REFUSED"):
        dns.call(hook.model_copy(update={"tsig_name": None}), TO_B)
    with pytest.raises(RedirectFailed) as wrong:
        dns.call(hook.model_copy(update={"tsig_secret": Secret(base64.b64encode(b"x" * 32).decode())}), TO_B)
    assert KEY not in str(wrong.value)


@pytest.fixture
def etcd_url(tmp_path: Path) -> Iterator[str]:
    """One etcd."""
    program, env = server_command("etcd", "etcd-server")
    client, peer = _free_port(), _free_port()
    here, there = f"http://127.0.0.1:{client}", f"http://127.0.0.1:{peer}"
    command = [
        program, "--name", "n1", "--data-dir", str(tmp_path / "data"), "--listen-client-urls", here,
        "--advertise-client-urls", here, "--listen-peer-urls", there, "--initial-advertise-peer-urls", there,
        "--initial-cluster", f"n1={there}",
    ]  # fmt: skip
    with _running(command, env, client, tmp_path / "etcd.log"):
        wait_until(lambda: _healthy(here), bool, within_s=20, what="a healthy etcd")
        yield here


def _healthy(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=2) as answer:  # noqa: S310  our own server
            return b"true" in answer.read()
    except OSError:
        return False


def _value(url: str) -> str:
    """What a client of etcd reads."""
    asked = json.dumps({"key": base64.b64encode(b"/kafka/active").decode()}).encode()
    with urllib.request.urlopen(f"{url}/v3/kv/range", asked, timeout=5) as answer:  # noqa: S310  our own server
        (entry,) = json.load(answer)["kvs"]
    return base64.b64decode(entry["value"]).decode()


def test_a_key_of_etcd_says_where_to_go(etcd_url: str) -> None:
    hook = Redirect(name="flag", kind="etcd", url=Secret(etcd_url), key="/kafka/active", timeout_seconds=5)
    assert etcd.call(hook, TO_B) == "/kafka/active holds the new value"
    assert _value(etcd_url) == "b1:9092,b2:9092"
    etcd.call(hook, TO_A)
    assert _value(etcd_url) == "a1:9092"
    own = hook.model_copy(update={"value": "{active} {generation}"})
    etcd.call(own, TO_B)
    assert _value(etcd_url) == "B 7"
    secured = hook.model_copy(update={"user": "root", "password": Secret("s3cret")})
    with pytest.raises(RedirectFailed) as refused:
        etcd.call(secured, TO_B)
    assert "s3cret" not in str(refused.value)
