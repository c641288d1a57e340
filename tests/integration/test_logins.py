"""Every way to log in, with both kinds of client, against one secure cluster."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, load_pem_private_key, pkcs12
from tests.kit.token_endpoint import token_endpoint

from twinlog.config.resolve import resolve
from twinlog.config.settings import LinkSettings
from twinlog.errors import AccessDenied, BrokerAway, LoginUnavailable, TokenUnavailable
from twinlog.kafka.admin import ClusterAdmin
from twinlog.local.cluster import LocalCluster
from twinlog.machine.java import find_java
from twinlog.wire.connection import Cluster

STORE_PASSWORD = "store-secret"


@pytest.fixture
def secure(secure_cluster: LocalCluster) -> LocalCluster:
    return secure_cluster


def link_to(properties: dict[str, str]) -> LinkSettings:
    """A link into a cluster that is reached like this."""
    lines = ["clusters = A, B", "A.bootstrap.servers = 127.0.0.1:1", "A->B.enabled = true"]
    lines += [f"B.{key} = {value}" for key, value in properties.items()]
    (link,) = resolve("\n".join(lines).encode(), "f", (), {}).links
    return link


async def greet(cluster: Cluster) -> list[int]:
    """Ask by hand for the brokers."""
    try:
        await cluster.refresh(None)
        return list(cluster.nodes)
    finally:
        await cluster.close()


def assert_let_in(properties: dict[str, str], cluster: LocalCluster) -> None:
    link = link_to(properties)
    assert ClusterAdmin(link.clients.target_admin).fetch_cluster_id() == cluster.cluster_id
    assert asyncio.run(greet(Cluster(link.clients.target_producer, "test"))) == [1]


@pytest.mark.parametrize("way", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "TLS"])
def test_a_client_logs_in(secure: LocalCluster, way: str) -> None:
    assert_let_in(secure.client_properties("admin", way), secure)  # type: ignore[arg-type]


@pytest.mark.proves("R14")
def test_a_wrong_password_is_told_by_both_clients(secure: LocalCluster) -> None:
    right = secure.client_properties("admin", "PLAIN")
    wrong = right | {"sasl.jaas.config": right["sasl.jaas.config"].replace(secure.password("admin"), "guessed")}
    link = link_to(wrong)
    with pytest.raises(AccessDenied):
        ClusterAdmin(link.clients.target_admin).fetch_cluster_id()
    with pytest.raises(AccessDenied):
        asyncio.run(greet(Cluster(link.clients.target_producer, "test")))


@pytest.mark.parametrize("kind", ["PKCS12", "JKS"])
def test_certificates_come_from_stores_of_java(secure: LocalCluster, tmp_path: Path, kind: str) -> None:
    """PKCS12 made by OpenSSL's rules, JKS by Java's own keytool."""
    pem = secure.files.certificate("admin").read_bytes()
    key = load_pem_private_key(pem, None)
    certificate = x509.load_pem_x509_certificate(pem[pem.index(b"-----BEGIN CERTIFICATE") :])
    encryption = BestAvailableEncryption(STORE_PASSWORD.encode())
    key_store, trust_store = tmp_path / "key.p12", tmp_path / f"trust.{kind}"
    key_store.write_bytes(
        pkcs12.serialize_key_and_certificates(b"me", key, certificate, None, encryption)  # type: ignore[arg-type]
    )
    tool = find_java().java.with_name("keytool")
    password = ["-storepass", STORE_PASSWORD, "-noprompt", "-storetype", kind]
    trust = ["-importcert", "-alias", "ca", "-file", str(secure.authority), "-keystore", str(trust_store)]
    subprocess.run([tool, *trust, *password], check=True, capture_output=True)
    if kind == "JKS":
        source = ["-srckeystore", str(key_store), "-srcstoretype", "PKCS12", "-srcstorepass", STORE_PASSWORD]
        key_store = tmp_path / "key.jks"
        target = ["-destkeystore", str(key_store), "-deststoretype", "JKS", "-deststorepass", STORE_PASSWORD]
        subprocess.run([tool, "-importkeystore", *source, *target, "-noprompt"], check=True, capture_output=True)
        assert key_store.read_bytes()[:4] == trust_store.read_bytes()[:4] == b"\xfe\xed\xfe\xed"
    stores = {
        "ssl.keystore.type": kind, "ssl.keystore.location": str(key_store), "ssl.keystore.password": STORE_PASSWORD,
        "ssl.truststore.type": kind, "ssl.truststore.location": str(trust_store),
        "ssl.truststore.password": STORE_PASSWORD,
    }  # fmt: skip
    assert_let_in(secure.client_properties("admin", "TLS") | stores, secure)


@pytest.mark.proves("R9", "R14")
def test_tokens_are_got_renewed_and_waited_for(secure: LocalCluster) -> None:
    with token_endpoint(secure, life_s=3.0) as endpoint:
        properties = secure.client_properties("admin", "OAUTHBEARER")
        properties["sasl.oauthbearer.token.endpoint.url"] = endpoint.url
        assert_let_in(properties, secure)

        cluster = Cluster(link_to(properties).clients.target_producer, "test")

        async def next_trouble() -> TokenUnavailable:
            """Greet until there is no token any more; a broker that ends a connection with its token is no trouble."""
            while True:
                try:
                    assert await greet(cluster) == [1]
                except TokenUnavailable as error:
                    return error
                except BrokerAway:
                    continue

        async def story() -> None:
            assert await greet(cluster) == [1]
            handed_out = endpoint.handed_out
            assert await greet(cluster) == [1]
            assert endpoint.handed_out == handed_out, "a token is used until it grows old"
            endpoint.open = False
            async with asyncio.timeout(30):
                assert "503 (temporarily_unavailable)" in str(await next_trouble())
            endpoint.open = True
            assert await greet(cluster) == [1]
            assert endpoint.handed_out == handed_out + 1

        asyncio.run(story())


@pytest.mark.proves("R12", "R14")
def test_no_token_is_a_clear_trouble_of_both_clients(secure: LocalCluster) -> None:
    properties = secure.client_properties("admin", "OAUTHBEARER")
    secret = secure.password("admin")
    with token_endpoint(secure) as endpoint:
        properties["sasl.oauthbearer.token.endpoint.url"] = endpoint.url
        properties["sasl.oauthbearer.client.credentials.client.secret"] = "guessed"
        link = link_to(properties)
        admin = ClusterAdmin(link.clients.target_admin)
        # Twice, because the client says it only once.
        for _ in range(2):
            with pytest.raises(TokenUnavailable) as by_admin:
                admin.fetch_cluster_id()
        with pytest.raises(TokenUnavailable, match=r"401 \(invalid_client: no such client\)") as by_hand:
            asyncio.run(greet(Cluster(link.clients.target_producer, "test")))
    with pytest.raises(TokenUnavailable, match="does not answer") as gone:
        asyncio.run(greet(Cluster(link.clients.target_producer, "test")))
    told = "".join(str(one.value) + one.value.remedy_text() for one in (by_admin, by_hand, gone))
    assert "guessed" not in told
    assert secret not in told


@pytest.mark.proves("R14")
def test_kerberos_without_its_libraries_is_told_with_the_way_out(secure: LocalCluster) -> None:
    link = link_to(secure.client_properties() | {
        "sasl.mechanism": "GSSAPI", "sasl.kerberos.service.name": "kafka",
        "sasl.jaas.config": "com.sun.security.auth.module.Krb5LoginModule required useTicketCache=true;",
    })  # fmt: skip
    with pytest.raises(LoginUnavailable, match="GSSAPI") as by_admin:
        ClusterAdmin(link.clients.target_admin)
    with pytest.raises(LoginUnavailable, match="package gssapi"):
        asyncio.run(greet(Cluster(link.clients.target_producer, "test")))
    assert "pip install gssapi" in by_admin.value.remedy_text()
