"""When our own certificates end."""

from __future__ import annotations

import datetime as dt

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from tests.kit.paper_backend import PaperBackend

from twinlog.config.settings import ClientSettings
from twinlog.wire.certificates import own_expired

BEGAN = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
ENDS = dt.datetime(2026, 2, 1, tzinfo=dt.UTC)


def client(*, encrypted: bool) -> ClientSettings:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "mirror")])
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = made.serial_number(1).not_valid_before(BEGAN).not_valid_after(ENDS)
    pem = made.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM).decode()
    plain = PaperBackend().links()[0].clients.source_admin
    protocol = "SSL" if encrypted else "PLAINTEXT"
    security = plain.security.model_copy(update={"protocol": protocol, "client_chain_pem": pem})
    return plain.model_copy(update={"security": security})


@pytest.mark.proves("R14")
def test_a_certificate_of_ours_is_told_when_it_has_ended_and_not_before() -> None:
    ends_ms = int(ENDS.timestamp() * 1000)
    assert own_expired(client(encrypted=True), ends_ms - 1) is None
    told = own_expired(client(encrypted=True), ends_ms)
    assert told == "the certificate CN=mirror of this client expired at 2026-02-01 00:00+00:00"
    assert own_expired(client(encrypted=False), ends_ms) is None
