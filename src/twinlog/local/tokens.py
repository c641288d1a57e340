"""Tokens that a secure local cluster accepts (OAUTHBEARER), signed with a key that is made with the cluster.

A token endpoint is no part of a local cluster; with `sign_token` one is written in a few lines.
"""

from __future__ import annotations

import base64
import json

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from twinlog.local.security import AUDIENCE, SecureFiles
from twinlog.machine.folders import write_atomically
from twinlog.model.clock import SYSTEM_CLOCK

_KEY_ID = "twinlog-local"
_NUMBER_BYTES = 32


def write_token_key(files: SecureFiles) -> None:
    """Write the key that signs tokens and the file that checks them, unless they are there."""
    if files.token_key.exists() and files.token_check.exists():
        return
    files.folder.mkdir(parents=True, exist_ok=True)
    key = ec.generate_private_key(ec.SECP256R1())
    numbers = key.public_key().public_numbers()
    check = {
        "kty": "EC",
        "crv": "P-256",
        "use": "sig",
        "alg": "ES256",
        "kid": _KEY_ID,
        "x": _encoded(numbers.x.to_bytes(_NUMBER_BYTES, "big")),
        "y": _encoded(numbers.y.to_bytes(_NUMBER_BYTES, "big")),
    }
    write_atomically(files.token_check, json.dumps({"keys": [check]}, indent=2) + "\n")
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    write_atomically(files.token_key, pem.decode(), mode=0o600)


def sign_token(files: SecureFiles, user: str, life_s: float = 300.0) -> str:
    """Return a token (JWT, ES256) with which brokers take its bearer for this user."""
    key = load_pem_private_key(files.token_key.read_bytes(), None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        msg = f"{files.token_key} does not hold the key of a local cluster"
        raise TypeError(msg)
    now = SYSTEM_CLOCK.now_s()
    head = {"alg": "ES256", "typ": "JWT", "kid": _KEY_ID}
    claims = {"sub": user, "aud": AUDIENCE, "iat": int(now), "exp": int(now + life_s)}
    signed = ".".join(_encoded(json.dumps(part).encode()) for part in (head, claims))
    first, other = decode_dss_signature(key.sign(signed.encode(), ec.ECDSA(hashes.SHA256())))
    signature = first.to_bytes(_NUMBER_BYTES, "big") + other.to_bytes(_NUMBER_BYTES, "big")
    return f"{signed}.{_encoded(signature)}"


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
