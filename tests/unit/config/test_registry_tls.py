"""TLS of a registry from the stores that Java's tools write, with the keys of Confluent's file: a real handshake."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from pathlib import Path

import pytest

from twinlog.config.foreign.schema_registry import load_registry_file
from twinlog.surface.registry.server import listener_context

KEYTOOL = shutil.which("keytool")


def _handshake(server: ssl.SSLContext, client: ssl.SSLContext) -> str:
    """Both ends in memory; returns the protocol. Raises ssl.SSLError."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        client.wrap_bio(to_client, to_server, server_hostname="127.0.0.1"),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    done: set[int] = set()
    for _ in range(10):
        for place, end in enumerate(ends):
            try:
                end.do_handshake()
                done.add(place)
            except ssl.SSLWantReadError:
                pass
        if len(done) == len(ends):
            return str(ends[0].version())
    raise AssertionError("no handshake")


@pytest.mark.skipif(KEYTOOL is None, reason="no keytool here")
@pytest.mark.parametrize("kind", ["JKS", "PKCS12"])
def test_a_store_of_keytool_is_what_the_listener_shows(tmp_path: Path, kind: str) -> None:
    store, password = tmp_path / "store", "changeit"
    names = ["-alias", "r", "-storetype", kind, "-keystore", str(store), "-storepass", password]
    make = ["-genkeypair", "-keyalg", "EC", "-dname", "CN=registry", "-ext", "san=ip:127.0.0.1", "-validity", "30"]
    subprocess.run([str(KEYTOOL), *make, "-keypass", password, *names], check=True, capture_output=True)
    shown = subprocess.run([str(KEYTOOL), "-exportcert", "-rfc", *names], check=True, capture_output=True, text=True)
    file = tmp_path / "schema-registry.properties"
    file.write_text(
        f"listeners=https://127.0.0.1:8081\ninter.instance.protocol=https\nkafkastore.bootstrap.servers=PLAINTEXT://127.0.0.1:9092\n"
        f"ssl.keystore.location={store}\nssl.keystore.type={kind}\nssl.keystore.password={password}\n"
        f"ssl.key.password={password}\nssl.truststore.location={store}\nssl.truststore.type={kind}\n"
        f"ssl.truststore.password={password}\n"
    )
    settings, findings = load_registry_file(file)
    assert settings.tls is not None
    assert not [finding for finding in findings if "ssl" in str(finding)]
    trusting = ssl.create_default_context(cadata=shown.stdout)
    assert _handshake(listener_context(settings.tls), trusting) == "TLSv1.3"
    with pytest.raises(ssl.SSLCertVerificationError):
        _handshake(listener_context(settings.tls), ssl.create_default_context())
