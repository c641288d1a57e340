"""Java's old key stores. Stores of keytool itself are read in tests/integration/test_logins.py."""

import hashlib
import os
import struct
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kit.keymaterial import KeyMaterial

from twinlog.config.security.jks import read_jks
from twinlog.config.security.stores import identity_from_file, trust_from_file
from twinlog.config.text.values import ValueRefusedError

MATERIAL = KeyMaterial.make()
CERTIFICATE = MATERIAL.certificate.public_bytes(serialization.Encoding.DER)
KEY = MATERIAL.key.private_bytes(
    serialization.Encoding.DER, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
)
PASSWORDS = st.text(min_size=1, max_size=12)


def block(data: bytes, length: str = ">I") -> bytes:
    return struct.pack(length, len(data)) + data


def der(tag: int, content: bytes) -> bytes:
    size = len(content)
    return bytes([tag]) + (bytes([size]) if size < 128 else b"\x82" + struct.pack(">H", size)) + content


def sealed(key: bytes, password: str) -> bytes:
    """Sun's own encryption, as its KeyProtector does it."""
    spelled, salt = password.encode("utf-16-be"), os.urandom(20)
    stream, last = b"", salt
    while len(stream) < len(key):
        last = hashlib.sha1(spelled + last, usedforsecurity=False).digest()
        stream += last
    hidden = bytes(a ^ b for a, b in zip(key, stream, strict=False))
    check = hashlib.sha1(spelled + key, usedforsecurity=False).digest()
    algorithm = der(0x30, bytes.fromhex("060a2b060104012a02110101") + b"\x05\x00")
    return der(0x30, algorithm + der(0x04, salt + hidden + check))


def store(password: str, *entries: bytes, version: int = 2) -> bytes:
    body = b"\xfe\xed\xfe\xed" + struct.pack(">II", version, len(entries)) + b"".join(entries)
    spelled = password.encode("utf-16-be")
    return body + hashlib.sha1(spelled + b"Mighty Aphrodite" + body, usedforsecurity=False).digest()


def certificate(version: int = 2) -> bytes:
    return (block(b"X.509", ">H") if version == 2 else b"") + block(CERTIFICATE)


def trusted(version: int = 2) -> bytes:
    return struct.pack(">I", 2) + block(b"ca", ">H") + bytes(8) + certificate(version)


def own(password: str) -> bytes:
    chain = struct.pack(">I", 1) + certificate()
    return struct.pack(">I", 1) + block(b"me", ">H") + bytes(8) + block(sealed(KEY, password)) + chain


def same_certificate(pem: str) -> bool:
    return x509.load_pem_x509_certificate(pem.encode()) == MATERIAL.certificate


@settings(max_examples=25, deadline=None)
@given(PASSWORDS, st.none() | PASSWORDS)
def test_key_and_chain_come_out_whatever_the_passwords(tmp_path_factory, password: str, key_password: str | None):
    file = tmp_path_factory.mktemp("jks") / "store.jks"
    file.write_bytes(store(password, own(key_password or password), trusted()))
    identity = identity_from_file(file, "JKS", password, key_password)
    assert same_certificate(identity.chain_pem)
    found = serialization.load_pem_private_key(identity.key_pem.reveal().encode(), None)
    assert found.public_key() == MATERIAL.key.public_key()


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("password", [None, "store"])
def test_trusted_certificates_need_no_password(tmp_path: Path, version: int, password: str | None):
    file = tmp_path / "trust.jks"
    file.write_bytes(store("store", trusted(version), version=version))
    # Java goes by what is in the file, not by the type that the settings name.
    assert same_certificate(trust_from_file(file, "PKCS12", password))


def test_what_is_wrong_is_told(tmp_path: Path):
    file = tmp_path / "store.jks"

    def refusal(password: str | None = "store", key_password: str | None = None) -> str:  # noqa: S107
        with pytest.raises(ValueRefusedError) as refused:
            identity_from_file(file, "JKS", password, key_password)
        return str(refused.value)

    file.write_bytes(store("store", own("other")))
    assert "password is wrong" in refusal("guess")
    assert "set ssl.key.password" in refusal()
    assert "password is not set" in refusal(None)
    file.write_bytes(store("store", trusted()))
    assert "found 0" in refusal()
    file.write_bytes(store("store", own("store"), own("store")))
    assert "found 2" in refusal()
    file.write_bytes(store("store", struct.pack(">I", 3) + block(b"secret", ">H") + bytes(8)))
    assert "neither a certificate nor a private key" in refusal()
    file.write_bytes(store("store", version=9))
    assert "unknown version 9" in refusal()


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10**6), st.binary(min_size=1, max_size=4))
def test_a_damaged_file_is_refused_or_read_but_never_a_crash(at: int, noise: bytes):
    whole = store("store", own("store"), trusted())
    at %= len(whole)
    damaged = whole[:at] + noise + whole[at + len(noise) :]
    for data, password in ((damaged, None), (whole[:at], None), (damaged, "store")):
        try:
            found = read_jks(data, password)
        except ValueRefusedError:
            continue
        assert password is None or damaged == whole or found == read_jks(whole, None)
