"""An OIDC issuer: its description, its keys, and tokens signed with them, over real HTTP in a thread of the test."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from tests.json_answers import JsonHandler

AUDIENCE = "twinlog"


class Issuer(ThreadingHTTPServer):
    """Signs with the newest of its keys and shows all of them, while `open`."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.keys: dict[str, ec.EllipticCurvePrivateKey] = {}
        self.open = True
        self.says_it_is: str | None = None
        self.asked: list[str] = []
        self.rotate("first")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/realms/ops"

    def rotate(self, name: str, *, keep: bool = True) -> None:
        """Sign with a new key from now on; the old ones are still shown, or taken back."""
        self.keys = {**(self.keys if keep else {}), name: ec.generate_private_key(ec.SECP256R1())}

    def token(self, **changes: Any) -> str:
        """A good token, but for these claims; None leaves one out."""
        claims: dict[str, Any] = {"iss": self.url, "aud": AUDIENCE, "sub": "1", "exp": time.time() + 300}
        claims |= {"roles": ["viewer"], "preferred_username": "olga", **changes}
        name, key = list(self.keys.items())[-1]
        shown = {claim: value for claim, value in claims.items() if value is not None}
        return jwt.encode(shown, key, algorithm="ES256", headers={"kid": name})


class _Handler(JsonHandler):
    server: Issuer

    def do_GET(self) -> None:  # noqa: N802  its name in the standard library
        issuer = self.server
        issuer.asked.append(self.path.rpartition("/")[2])
        if not issuer.open:
            self.answer(503, {"error": "temporarily_unavailable"})
        elif self.path.endswith("/.well-known/openid-configuration"):
            self.answer(200, {"issuer": issuer.says_it_is or issuer.url, "jwks_uri": f"{issuer.url}/keys"})
        else:
            self.answer(200, {"keys": [_public(name, key) for name, key in issuer.keys.items()]})


def _public(name: str, key: ec.EllipticCurvePrivateKey) -> dict[str, Any]:
    found: dict[str, Any] = jwt.algorithms.ECAlgorithm.to_jwk(key.public_key(), as_dict=True)
    return {**found, "kid": name, "use": "sig", "alg": "ES256"}


@contextmanager
def issuer_running() -> Iterator[Issuer]:
    """Run an issuer."""
    issuer = Issuer()
    thread = threading.Thread(target=issuer.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield issuer
    finally:
        issuer.shutdown()
        thread.join(10)
        issuer.server_close()
