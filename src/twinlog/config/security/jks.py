"""Java's old key store format, JKS, read by hand: certificates, and private keys under its own encryption. Pure.

    magic FEEDFEED, version, count, then each entry:  1, alias, time, encrypted key, chain of certificates
                                                      2, alias, time, certificate
    SHA-1 over the password, "Mighty Aphrodite" and everything before

The encryption is Sun's own: a stream of SHA-1 digests of password and the digest before, first of all the salt. No
message quotes what was read (R12).
"""

from __future__ import annotations

import hashlib
import hmac
import struct
from dataclasses import dataclass, field

from twinlog.config.text.values import ValueRefusedError

MAGIC = b"\xfe\xed\xfe\xed"
_WHITENER = b"Mighty Aphrodite"
_DIGEST_BYTES = 20
_KEY_ENTRY, _CERTIFICATE_ENTRY = 1, 2
# 1.3.6.1.4.1.42.2.17.1.1, "Sun JKS encryption"
_SUN_ENCRYPTION = bytes.fromhex("060a2b060104012a02110101")


@dataclass(frozen=True)
class JavaKey:
    """A private key, still closed, and the chain of its certificate (DER)."""

    sealed: bytes = field(repr=False)
    chain: tuple[bytes, ...]


@dataclass(frozen=True)
class JavaStore:
    """What a store holds: certificates that it trusts (DER), and keys."""

    trusted: tuple[bytes, ...]
    keys: tuple[JavaKey, ...]


def read_jks(data: bytes, password: str | None) -> JavaStore:
    """Read a store; without a password nothing is checked, as Java does it. Raises ValueRefusedError."""
    if password is not None:
        _check(data, password)
    reader = _Reader(data[:-_DIGEST_BYTES])
    reader.skip(len(MAGIC))
    version, count = reader.number(), reader.number()
    if version not in {1, 2}:
        raise ValueRefusedError(f"the file is a JKS store of the unknown version {version}")
    trusted: list[bytes] = []
    keys: list[JavaKey] = []
    for _ in range(count):
        tag = reader.number()
        reader.block(">H")  # the alias
        reader.skip(8)  # when it was made
        if tag == _CERTIFICATE_ENTRY:
            trusted.append(reader.certificate(version))
        elif tag == _KEY_ENTRY:
            sealed = reader.block(">I")
            keys.append(JavaKey(sealed, tuple(reader.certificate(version) for _ in range(reader.number()))))
        else:
            raise ValueRefusedError("the file holds an entry that is neither a certificate nor a private key")
    return JavaStore(tuple(trusted), tuple(keys))


def _check(data: bytes, password: str) -> None:
    body, digest = data[:-_DIGEST_BYTES], data[-_DIGEST_BYTES:]
    computed = hashlib.sha1(_spelled(password) + _WHITENER + body, usedforsecurity=False).digest()
    if not hmac.compare_digest(computed, digest):
        raise ValueRefusedError("the store's password is wrong, or the file is damaged")


def _spelled(password: str) -> bytes:
    return password.encode("utf-16-be", "surrogatepass")


def open_key(key: JavaKey, password: str) -> bytes:
    """Return the key (PKCS8): in its EncryptedPrivateKeyInfo lie salt, key under the stream, digest of both."""
    payload = _payload(key.sealed)
    salt, body, check = payload[:_DIGEST_BYTES], payload[_DIGEST_BYTES:-_DIGEST_BYTES], payload[-_DIGEST_BYTES:]
    spelled = _spelled(password)
    stream, block = b"", salt
    while len(stream) < len(body):
        block = hashlib.sha1(spelled + block, usedforsecurity=False).digest()
        stream += block
    plain = bytes(byte ^ other for byte, other in zip(body, stream, strict=False))
    if not hmac.compare_digest(hashlib.sha1(spelled + plain, usedforsecurity=False).digest(), check):
        raise ValueRefusedError("the private key has another password: set ssl.key.password")
    return plain


def _payload(sealed: bytes) -> bytes:
    """Take the octet string out of SEQUENCE { SEQUENCE { algorithm, NULL }, OCTET STRING }."""
    whole, _ = _element(sealed)
    algorithm, rest = _element(whole)
    if not algorithm.startswith(_SUN_ENCRYPTION):
        raise ValueRefusedError("the private key is encrypted in a way that JKS does not have")
    payload, _ = _element(rest)
    if len(payload) < 2 * _DIGEST_BYTES:
        raise ValueRefusedError("the private key is cut off")
    return payload


def _element(data: bytes) -> tuple[bytes, bytes]:
    """Split off the content of the first DER element."""
    try:
        length, at = data[1], 2
        if length & 0x80:
            at += length & 0x7F
            length = int.from_bytes(data[2:at], "big")
    except IndexError:
        raise ValueRefusedError("the private key is cut off") from None
    return data[at : at + length], data[at + length :]


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def skip(self, count: int) -> None:
        self._take(count)

    def number(self) -> int:
        return int(struct.unpack(">I", self._take(4))[0])

    def block(self, length: str) -> bytes:
        """Read bytes behind their length."""
        size = struct.calcsize(length)
        return self._take(int(struct.unpack(length, self._take(size))[0]))

    def certificate(self, version: int) -> bytes:
        if version == 2:
            self.block(">H")  # its type, X.509
        return self.block(">I")

    def _take(self, count: int) -> bytes:
        if self._at + count > len(self._data):
            raise ValueRefusedError("the file is cut off")
        self._at += count
        return self._data[self._at - count : self._at]
