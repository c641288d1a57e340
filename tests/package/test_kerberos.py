"""Logins with Kerberos: a real KDC, and two identities of one key tab in one process. `make kerberos`."""

from __future__ import annotations

import importlib
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from twinlog.config.settings import Kerberos
from twinlog.wire.tickets import TicketAuthenticator

pytestmark = [
    pytest.mark.skipif("KERBEROS" not in os.environ, reason="`make kerberos` brings the Python package gssapi"),
    pytest.mark.timeout(300),
]
REALM = "TWINLOG.TEST"
# What librdkafka's Kerberos library would do: it takes the default credentials of the process.
BY_DEFAULT = """
import sys
import gssapi
from twinlog.config.security.kerberos_identity import claim_identity
from twinlog.config.settings import Kerberos
claim_identity("A", Kerberos(service="kafka", principal=sys.argv[2], keytab=sys.argv[1]))
print(gssapi.Credentials(usage="initiate").name)
"""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


@pytest.fixture(scope="module")
def realm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A KDC that knows a broker, alice and bob."""
    folder = tmp_path_factory.mktemp("realm")
    port = free_port()
    (folder / "krb5.conf").write_text(
        f"[libdefaults]\n default_realm = {REALM}\n dns_lookup_kdc = false\n rdns = false\n"
        f" dns_canonicalize_hostname = false\n udp_preference_limit = 1\n"
        f"[realms]\n {REALM} = {{\n  kdc = 127.0.0.1:{port}\n }}\n"
    )
    (folder / "kdc.conf").write_text(
        f"[kdcdefaults]\n kdc_listen = 127.0.0.1:{port}\n kdc_tcp_listen = 127.0.0.1:{port}\n[realms]\n {REALM} = {{\n"
        f"  database_name = {folder}/principal\n  key_stash_file = {folder}/stash\n }}\n"
    )
    os.environ["KRB5_CONFIG"] = str(folder / "krb5.conf")
    env = {**os.environ, "KRB5_KDC_PROFILE": str(folder / "kdc.conf"), "PATH": f"{os.environ['PATH']}:/usr/sbin"}

    def run(*words: str) -> None:
        subprocess.run(words, check=True, env=env, capture_output=True)

    run("kdb5_util", "create", "-s", "-P", "master")
    for name in ("kafka/127.0.0.1", "alice", "bob"):
        run("kadmin.local", "-q", f"addprinc -randkey {name}")
        run("kadmin.local", "-q", f"ktadd -k {folder}/{'broker' if '/' in name else 'people'}.keytab {name}")
    program = shutil.which("krb5kdc", path=env["PATH"])
    assert program is not None
    with subprocess.Popen([program, "-n", "-P", str(folder / "pid")], env=env, stderr=subprocess.DEVNULL) as kdc:
        time.sleep(1)
        yield folder
        kdc.terminate()


@pytest.mark.parametrize("principal", ["alice", "bob"])
def test_the_default_credentials_of_a_process_are_those_of_its_principal(principal: str, realm: Path):
    said = subprocess.run(
        [sys.executable, "-c", BY_DEFAULT, f"{realm}/people.keytab", principal],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert said.stdout.strip() == f"{principal}@{REALM}"


@pytest.mark.parametrize("principal", ["alice", "bob"])
def test_the_handshake_is_the_principals_whose_name_the_settings_have(principal: str, realm: Path):
    """Against the Kerberos library's own acceptor, which says whom it met."""
    gssapi = importlib.import_module("gssapi")
    kerberos = Kerberos(service="kafka", principal=principal, keytab=f"{realm}/people.keytab")
    client = TicketAuthenticator(loop=None, principal="kafka@127.0.0.1", kerberos=kerberos).authenticator_gssapi()
    broker = gssapi.SecurityContext(
        creds=gssapi.Credentials(usage="accept", store={"keytab": f"{realm}/broker.keytab"}), usage="accept"
    )
    token, more = next(client)
    while not broker.complete:
        answer = broker.step(token)
        if not broker.complete:
            token, more = client.send(answer or b"")
    token, more = client.send(answer or b"")
    assert more, "the broker offers its layers next"
    chosen, more = client.send(broker.wrap(b"\x01\x00\x00\x00", False).message)
    assert not more
    assert broker.unwrap(chosen).message[:1] == b"\x01"
    assert str(broker.initiator_name) == f"{principal}@{REALM}"
