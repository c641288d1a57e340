"""Key material in Java's containers, turned into PEM text in memory.

Runs once, in the process that loads the settings: executors get the PEM text and need no files. Nothing is written to
disk, and no message quotes what was read (R12).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import pkcs12

from twinlog.config.security import jks
from twinlog.config.security.secrets import Secret
from twinlog.config.text.values import ValueRefusedError

_BLOCK = re.compile(r"-+BEGIN ([A-Z0-9 ]+?)-+\s(.*?)-+END \1-+", re.DOTALL)
_JCEKS_MAGIC = b"\xce\xce\xce\xce"


@dataclass(frozen=True)
class Identity:
    """Our certificate chain and its private key."""

    chain_pem: str
    key_pem: Secret
    key_password: Secret | None = None


def trust_from_pem(text: str) -> str:
    """Return the certificates in a PEM text, each checked."""
    return _certificates(_blocks(text))


def trust_from_file(path: Path, kind: str, password: str | None) -> str:
    """Return the certificates of a truststore file as PEM."""
    data = _read(path)
    if kind == "PEM":
        return trust_from_pem(_text(data))
    if data.startswith(jks.MAGIC):
        java = jks.read_jks(data, password)
        # Java trusts the certificate of a key of ours as well.
        certificates = [
            _certificate(entry) for entry in (*java.trusted, *(key.chain[0] for key in java.keys if key.chain))
        ]
    else:
        store = _pkcs12(data, password)
        certificates = [entry.certificate for entry in (store.cert, *store.additional_certs) if entry is not None]
    if not certificates:
        raise ValueRefusedError("the file holds no certificate")
    return "".join(_pem(certificate) for certificate in certificates)


def identity_from_pem(chain: str, key: str, password: str | None) -> Identity:
    """Return chain and key from PEM texts, after a try to open the key."""
    keys = [block for block in _blocks(key) if "PRIVATE KEY" in block]
    if len(keys) != 1:
        raise ValueRefusedError(f"expected one private key in PEM, found {len(keys)}")
    return Identity(_certificates(_blocks(chain)), Secret(keys[0]), _opened_by(keys[0], password))


def identity_from_file(path: Path, kind: str, password: str | None, key_password: str | None) -> Identity:
    """Return chain and key of a keystore file as PEM."""
    data = _read(path)
    if kind == "PEM":
        text = _text(data)
        return identity_from_pem(text, text, key_password)
    if data.startswith(jks.MAGIC):
        return _identity_from_jks(data, password, key_password)
    store = _pkcs12(data, password)
    if store.key is None or store.cert is None:
        raise ValueRefusedError("the file holds no private key with its certificate")
    key = store.key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    chain = [store.cert, *store.additional_certs]
    return Identity("".join(_pem(entry.certificate) for entry in chain), Secret(key.decode()))


def _identity_from_jks(data: bytes, password: str | None, key_password: str | None) -> Identity:
    keys = jks.read_jks(data, password).keys
    if len(keys) != 1:
        raise ValueRefusedError(f"expected one private key with its certificate, found {len(keys)}")
    # A key has a password of its own, which by habit is the store's.
    opened_by = key_password if key_password is not None else password
    if opened_by is None:
        raise ValueRefusedError("the private key is encrypted and the store's password is not set")
    opened = jks.open_key(keys[0], opened_by)
    try:
        key = serialization.load_der_private_key(opened, None)
    except (TypeError, ValueError):
        raise ValueRefusedError("the private key cannot be read") from None
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return Identity("".join(_pem(_certificate(entry)) for entry in keys[0].chain), Secret(pem.decode()))


def _certificate(der: bytes) -> x509.Certificate:
    try:
        return x509.load_der_x509_certificate(der)
    except ValueError:
        raise ValueRefusedError("a certificate in the file cannot be read") from None


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ValueRefusedError(f"the file cannot be read ({error.strerror})") from None


def _text(data: bytes) -> str:
    return data.decode("utf-8", errors="replace")


def _blocks(text: str) -> list[str]:
    """Cut out the PEM blocks, re-wrapped: in properties files they often stand on one line, blanks as line ends."""
    blocks: list[str] = []
    for label, body in _BLOCK.findall(text):
        packed = "".join(body.split())
        # Old encrypted keys have header lines (Proc-Type: ...), which must stay lines.
        lines = body.strip() if ":" in body else "\n".join(packed[at : at + 64] for at in range(0, len(packed), 64))
        blocks.append(f"-----BEGIN {label}-----\n{lines}\n-----END {label}-----\n")
    return blocks


def _certificates(blocks: list[str]) -> str:
    certificates = [block for block in blocks if "CERTIFICATE" in block.partition("\n")[0]]
    if not certificates:
        raise ValueRefusedError("there is no certificate in PEM")
    for number, block in enumerate(certificates, 1):
        try:
            x509.load_pem_x509_certificate(block.encode())
        except ValueError:
            raise ValueRefusedError(f"certificate {number} of {len(certificates)} cannot be read") from None
    return "".join(certificates)


def _opened_by(key: str, password: str | None) -> Secret | None:
    """Return the password if the key needs it; one that is given for an open key is no fault."""
    try:
        serialization.load_pem_private_key(key.encode(), None)
    except TypeError:
        pass
    except ValueError:
        raise ValueRefusedError("the private key cannot be read") from None
    else:
        return None
    if password is None:
        raise ValueRefusedError("the private key is encrypted and ssl.key.password is not set")
    try:
        serialization.load_pem_private_key(key.encode(), password.encode())
    except (TypeError, ValueError):
        raise ValueRefusedError("ssl.key.password does not open the private key") from None
    return Secret(password)


def _pkcs12(data: bytes, password: str | None) -> pkcs12.PKCS12KeyAndCertificates:
    if data.startswith(_JCEKS_MAGIC):
        raise ValueRefusedError(
            "the file has Java's JCEKS format; convert it with "
            "`keytool -importkeystore -srckeystore OLD -destkeystore NEW -deststoretype PKCS12`"
        )
    if b"-----BEGIN" in data[:4096]:
        raise ValueRefusedError("the file is PEM; set the store's type to PEM")
    try:
        return pkcs12.load_pkcs12(data, None if password is None else password.encode())
    except ValueError:
        raise ValueRefusedError("the file is no PKCS12 store, or the store's password is wrong or missing") from None


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()
