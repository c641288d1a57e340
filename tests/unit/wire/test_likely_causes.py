"""A cluster that cannot be reached because of TLS or a name: the sentence and the remedy name the likely cause."""

from __future__ import annotations

import asyncio
import ssl
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

import pytest
from confluent_kafka import KafkaError

from twinlog.config.settings import ClientSettings, Security
from twinlog.errors import AccessDenied, ClusterUnreachable, TokenUnavailable
from twinlog.kafka.foreign_errors import translated
from twinlog.wire.connection import Cluster


@pytest.fixture(scope="module")
def pem(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for the name `broker`, and its key, in one file."""
    file = tmp_path_factory.mktemp("tls") / "broker.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=broker",
         "-keyout", file, "-out", file.with_suffix(".crt")],
        check=True, capture_output=True,
    )  # fmt: skip
    file.write_text(file.read_text() + file.with_suffix(".crt").read_text())
    return file


@asynccontextmanager
async def listener(pem: Path, *, tls: bool) -> AsyncIterator[str]:
    """A port that closes as a broker does when what comes is not the protocol of the listener."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)

    async def close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(4)
        writer.close()

    server = await asyncio.start_server(close, "127.0.0.1", 0, ssl=context if tls else None)
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


def refusal(pem: Path, security: Security, *, tls: bool) -> ClusterUnreachable:
    async def ask() -> None:
        async with listener(pem, tls=tls) as address:
            cluster = Cluster(ClientSettings(cluster="east", bootstrap_servers=(address,), security=security), "test")
            try:
                await cluster.refresh(None)
            finally:
                await cluster.close()

    with pytest.raises(ClusterUnreachable) as raised:
        asyncio.run(ask())
    return raised.value


@pytest.mark.proves("R14")
def test_a_client_that_does_not_trust_the_broker_is_told_to_set_the_ca(pem: Path):
    error = refusal(pem, Security(protocol="SSL"), tls=True)
    assert "the certificate is not trusted: self-signed certificate" in str(error)
    assert "ssl.truststore.location of east" in error.remedy_text()


def test_a_certificate_for_another_name_is_told_apart(pem: Path):
    ca = pem.with_suffix(".crt").read_text()
    error = refusal(pem, Security(protocol="SSL", ca_pem=ca), tls=True)
    assert "certificate is not valid for '127.0.0.1'" in str(error)
    assert "for another name" in error.remedy_text()


@pytest.mark.parametrize(("protocol", "tls"), [("PLAINTEXT", True), ("SSL", False)])
def test_the_wrong_protocol_for_a_port_is_the_likely_cause(pem: Path, protocol: Literal["PLAINTEXT", "SSL"], tls: bool):
    error = refusal(pem, Security(protocol=protocol), tls=tls)
    assert "security.protocol of east" in error.remedy_text(), str(error)


_LONG = (
    "ssl://k:9093/bootstrap: SSL handshake failed: error:0A000086:SSL routines::certificate verify failed: broker "
    "certificate could not be verified, verify that ssl.ca.location is correctly configured or root CA certificates "
    "are installed (install ca-certificates package) (after 8ms in state SSL_HANDSHAKE)"
)


def test_the_ordinary_client_says_the_same_without_settings_that_we_do_not_have():
    error = translated("east", KafkaError(KafkaError._SSL, _LONG))
    said = "k:9093: TLS handshake failed: certificate verify failed: broker certificate could not be verified"
    assert str(error) == f"east: no broker answers: {said}"
    assert "ssl.truststore.location of east" in error.remedy_text()


def test_a_refused_password_is_said_without_the_librarys_own_state():
    text = "sasl_ssl://k:1/bootstrap: SASL authentication error: invalid credentials (after 378ms in state AUTH_REQ)"
    error = translated("east", KafkaError(KafkaError._AUTHENTICATION, text))
    assert str(error) == "east: access denied: k:1: invalid credentials"
    assert "sasl.jaas.config of east" in error.remedy_text()
    assert "Grant the right" in AccessDenied("east", "TOPIC_AUTHORIZATION_FAILED").remedy_text()
    silent = translated(
        "east", KafkaError(KafkaError._TIMED_OUT, "Failed while waiting for controller: Local: Timed out")
    )
    assert str(silent) == "east: no broker answers: no answer in time"
    assert "security.protocol of east" in silent.remedy_text()


def test_other_causes_keep_their_remedies():
    assert "bootstrap.servers" in ClusterUnreachable("east", "k:1: Name or service not known").remedy_text()
    assert "cluster runs" in ClusterUnreachable("east", "k:1: connection refused").remedy_text()
    assert "token.endpoint" in TokenUnavailable("east", "connection reset by peer").remedy_text()
