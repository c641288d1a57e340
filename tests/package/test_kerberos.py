"""Logins with Kerberos: a real KDC and broker, and two identities of one key tab in one process. `make kerberos`."""

from __future__ import annotations

import asyncio
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
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)
from tests.kit.ends import Ends
from tests.kit.engine import twinlog_run
from tests.kit.tickets import REALM, login, settings_of

from twinlog.config.settings import ClientSettings, Kerberos, Security
from twinlog.errors import ClusterError, LoginUnavailable
from twinlog.kafka.logins import see_provider
from twinlog.local.cluster import LocalCluster
from twinlog.wire import protocol_errors as codes
from twinlog.wire.connection import Cluster
from twinlog.wire.tickets import TicketAuthenticator

pytestmark = [
    pytest.mark.skipif("KERBEROS" not in os.environ, reason="`make kerberos` brings the Python package gssapi"),
    pytest.mark.timeout(300),
]
PEOPLE = ("alice", "bob")
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
    for name in ("kafka/127.0.0.1", "alice", "bob", "mirror"):
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


def has_provider() -> bool:
    """Whether librdkafka was built with libsasl2; a wheel was not."""
    try:
        see_provider(
            ClientSettings(cluster="A", bootstrap_servers=("127.0.0.1:1",), security=Security(sasl_mechanism="GSSAPI"))
        )
    except LoginUnavailable:
        return False
    return True


needs_provider = pytest.mark.skipif(
    not has_provider(), reason="confluent-kafka must be built against a librdkafka with libsasl2 (docs/install.md)"
)


@pytest.fixture(scope="module")
def broker(realm: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    """Clients enter with a ticket and may do what an ACL grants: alice sees the topic `alice`, bob the topic `bob`."""
    module = "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true"
    settings = {
        "listener.security.protocol.map": "CLIENT:SASL_PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "sasl.enabled.mechanisms": "GSSAPI",
        "sasl.kerberos.service.name": "kafka",
        "listener.name.client.gssapi.sasl.jaas.config": (
            f'{module} keyTab="{realm}/broker.keytab" principal="kafka/127.0.0.1@{REALM}";'
        ),
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS;User:mirror",
    }
    folder = tmp_path_factory.mktemp("broker")
    options = [f"-Djava.security.krb5.conf={realm}/krb5.conf"]
    with LocalCluster("closed", folder, settings=settings, java_options=options) as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.internal_servers})
        for future in admin.create_topics([NewTopic(name, 1, 1) for name in PEOPLE]).values():
            future.result(30)
        rules = [
            AclBinding(
                ResourceType.TOPIC,
                name,
                ResourcePatternType.LITERAL,
                f"User:{name}",
                "*",
                AclOperation.ALL,
                AclPermissionType.ALLOW,
            )
            for name in PEOPLE
        ]
        for rule in admin.create_acls(rules).values():
            rule.result(30)
        yield cluster


def client_of(cluster: LocalCluster, realm: Path, principal: str) -> ClientSettings:
    return settings_of(cluster.bootstrap_servers, realm, principal)


def test_a_broker_knows_two_principals_of_one_process_apart(broker: LocalCluster, realm: Path):
    async def seen(principal: str) -> dict[str, int]:
        cluster = Cluster(client_of(broker, realm, principal), "twinlog|test")
        try:
            await cluster.refresh(set(PEOPLE))
            return {name: cluster.topics[name].error for name in PEOPLE}
        finally:
            await cluster.close()

    async def both() -> list[dict[str, int]]:
        return await asyncio.gather(*(seen(name) for name in (*PEOPLE, *PEOPLE)))

    denied = codes.TOPIC_AUTHORIZATION_FAILED
    alice, bob = {"alice": 0, "bob": denied}, {"alice": denied, "bob": 0}
    assert asyncio.run(both()) == [alice, bob, alice, bob]


def test_a_principal_that_the_key_tab_does_not_have_is_told(broker: LocalCluster, realm: Path):
    async def enter() -> None:
        cluster = Cluster(client_of(broker, realm, "carol"), "twinlog|test")
        try:
            await cluster.refresh(set(PEOPLE))
        finally:
            await cluster.close()

    with pytest.raises(ClusterError, match=f"carol@{REALM}"):
        asyncio.run(enter())


# What a process does whose librdkafka logs in: once by the default credentials, and once more as somebody else.
BY_LIBRDKAFKA = """
import sys
from twinlog.errors import KerberosTaken
from twinlog.kafka.admin import ClusterAdmin
from tests.kit.tickets import settings_of
first, second = (settings_of(*sys.argv[1:3], name) for name in sys.argv[3:5])
print(sorted(name for name, told in ClusterAdmin(first).describe_topics(["alice", "bob"]).items()
             if not isinstance(told, Exception)))
try:
    ClusterAdmin(second)
except KerberosTaken as error:
    print("refused", error)
"""


@needs_provider
@pytest.mark.parametrize(("first", "second"), [("alice", "bob"), ("bob", "alice")])
def test_librdkafka_enters_as_the_principal_of_the_settings_and_nobody_else(
    first: str, second: str, broker: LocalCluster, realm: Path
):
    said = subprocess.run(
        [sys.executable, "-c", BY_LIBRDKAFKA, broker.bootstrap_servers, str(realm), first, second],
        check=True, capture_output=True, text=True,
    ).stdout.splitlines()  # fmt: skip
    assert said[0] == f"['{first}']"
    assert said[1].startswith("refused")
    assert f"{first}@{REALM}" in said[1]


class ByTicket(Ends):
    """A link that enters its target with a ticket."""

    def __init__(self, source: LocalCluster, target: LocalCluster, realm: Path) -> None:
        self.realm = realm
        super().__init__(source, target)

    @property
    def properties(self) -> str:
        lines = [line for line in super().properties.splitlines() if not line.startswith("T.security.protocol")]
        return "\n".join([*lines, *(f"T.{line}" for line in login(self.realm, "mirror"))]) + "\n"


@needs_provider
@pytest.mark.proves("R1")
def test_a_link_copies_with_kerberos_logins_alone(broker: LocalCluster, realm: Path, tmp_path: Path):
    with LocalCluster("open", tmp_path / "open") as source:
        ends = ByTicket(source, broker, realm)
        topic = ends.create("orders", 2)
        load = ends.load(topic, 2)
        load.produce(100)
        with twinlog_run(ends, tmp_path) as engine:
            ends.await_copied(topic)
            load.produce(100)
            ends.await_copied(topic)
            assert not [line for line in engine.command_lines() if "kinit" in line]
        ends.check(topic)
