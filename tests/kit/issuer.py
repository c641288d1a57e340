"""An OIDC issuer: its description, its keys, and tokens signed with them, over real HTTP in a thread of the test."""

from __future__ import annotations

import base64
import hashlib
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from tests.kit.json_answers import JsonHandler

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
        self.client_secret = "hush-client"
        self.says: dict[str, Any] = {}  # claims of ID tokens that differ from those of a good one
        self.tickets: dict[str, _Ticket] = {}
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


@dataclass(frozen=True)
class _Ticket:
    """What somebody agreed to at the issuer's page."""

    client: str
    back: str
    nonce: str
    challenge: str


class _Handler(JsonHandler):
    server: Issuer

    def do_POST(self) -> None:  # noqa: N802  its name in the standard library
        """Give an ID token for a code: once, to the client that it was made for, with the right verifier."""
        issuer = self.server
        issuer.asked.append("token")
        length = int(self.headers.get("content-length", "0"))
        form = {name: values[0] for name, values in parse_qs(self.rfile.read(length).decode()).items()}
        ticket = issuer.tickets.pop(form.get("code", ""), None)
        verifier = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        shown = base64.b64decode(self.headers.get("authorization", "Basic ").partition(" ")[2]).decode()
        if ticket is None or form.get("grant_type") != "authorization_code" or form.get("redirect_uri") != ticket.back:
            self.answer(400, {"error": "invalid_grant"})
        elif base64.urlsafe_b64encode(verifier).rstrip(b"=").decode() != ticket.challenge:
            self.answer(400, {"error": "invalid_grant", "error_description": "PKCE"})
        elif shown != f"{ticket.client}:{issuer.client_secret}":
            self.answer(401, {"error": "invalid_client"})
        else:
            claims = {"aud": ticket.client, "nonce": ticket.nonce, **issuer.says}
            self.answer(200, {"access_token": "opaque", "token_type": "Bearer", "id_token": issuer.token(**claims)})

    def _agree(self) -> None:
        """The page at which somebody logs in; this one agrees to everything and sends the browser back."""
        issuer = self.server
        asked = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
        assert asked["response_type"] == "code"
        assert asked["code_challenge_method"] == "S256"
        assert "openid" in asked["scope"].split()
        code = secrets.token_urlsafe(16)
        issuer.tickets[code] = _Ticket(
            asked["client_id"], asked["redirect_uri"], asked["nonce"], asked["code_challenge"]
        )
        self.send_response(302)
        self.send_header("Location", f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_GET(self) -> None:  # noqa: N802  its name in the standard library
        issuer = self.server
        issuer.asked.append(self.path.partition("?")[0].rpartition("/")[2])
        if issuer.open and "/authorize?" in self.path:
            self._agree()
            return
        if not issuer.open:
            self.answer(503, {"error": "temporarily_unavailable"})
        elif self.path.endswith("/.well-known/openid-configuration"):
            described = {"issuer": issuer.says_it_is or issuer.url, "jwks_uri": f"{issuer.url}/keys"}
            described |= {"authorization_endpoint": f"{issuer.url}/authorize", "token_endpoint": f"{issuer.url}/token"}
            self.answer(200, described)
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
