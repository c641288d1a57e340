"""Make the certificates of a secure local cluster on the spot: an authority that signs once and is forgotten."""

from __future__ import annotations

import datetime as dt
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from twinlog.local.security import BROKER_NAME, USERS, SecureFiles
from twinlog.machine.folders import write_atomically

_LIFETIME = dt.timedelta(days=3650)
# A clock that is a little behind ours must not find the certificate "not yet valid".
_BACKDATED = dt.timedelta(hours=1)


def write_certificates(files: SecureFiles) -> None:
    """Write the authority's certificate, and key and certificate of brokers and users, unless they are there.

    All brokers share one key: they live on one machine and are one thing to their clients. It serves both ways,
    because the brokers also show it to each other as clients.
    """
    if files.authority.exists() and files.broker.exists():
        return
    files.folder.mkdir(parents=True, exist_ok=True)
    authority_key = ec.generate_private_key(ec.SECP256R1())
    issuer = _name("Twinlog local authority")
    root = (
        _unsigned(issuer, issuer, authority_key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(authority_key.public_key()), critical=False)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .sign(authority_key, hashes.SHA256())
    )
    _write_signed(files.broker, BROKER_NAME, issuer, authority_key)
    for user in USERS:
        _write_signed(files.certificate(user), user, issuer, authority_key)
    write_atomically(files.authority, root.public_bytes(Encoding.PEM).decode())


def _write_signed(file: Path, name: str, issuer: x509.Name, authority_key: ec.EllipticCurvePrivateKey) -> None:
    """Write a new key and its certificate into one file that only its owner can read."""
    own_key = ec.generate_private_key(ec.SECP256R1())
    addresses = [
        x509.DNSName("localhost"),
        x509.IPAddress(ipaddress.IPv4Address("127.0.0.1")),
        x509.IPAddress(ipaddress.IPv6Address("::1")),
    ]
    leaf = (
        _unsigned(issuer, _name(name), own_key.public_key())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName(addresses), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()),
            critical=False,
        )
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(
            x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]),
            critical=False,
        )
        .sign(authority_key, hashes.SHA256())
    )
    # Kafka reads PKCS#8 only; the older form for EC keys ends in "Private key could not be loaded".
    key = own_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    write_atomically(file, (key + leaf.public_bytes(Encoding.PEM)).decode(), mode=0o600)


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _unsigned(issuer: x509.Name, subject: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .issuer_name(issuer)
        .subject_name(subject)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BACKDATED)
        .not_valid_after(now + _LIFETIME)
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
