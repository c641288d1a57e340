"""Sessions of browsers: sealed texts in cookies, so that any service of a group can read them. Runs in the loop.

Without http.group.secret the key lasts as long as the process: a restart signs everybody out, and the issuer signs them
in again. What was signed out is remembered until it would have ended; other services of the group do not hear of it.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
from http.cookies import CookieError, SimpleCookie
from typing import Any, Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from fastapi.responses import Response

from twinlog.config.security.secrets import Secret
from twinlog.model.clock import SYSTEM_CLOCK

_NONCE: Final = 12
_LONGEST: Final = 4096
_MOST_ENDED: Final = 10_000


class Sealed:
    """One kind of cookie. Its content is secret, cannot be changed, and ends."""

    def __init__(self, name: str, secret: Secret | None) -> None:
        self._name = name
        root = os.urandom(32) if secret is None else secret.reveal().encode()
        self._key = AESGCM(hmac.digest(root, f"twinlog cookie {name}".encode(), "sha256"))
        self._ended: dict[str, float] = {}

    def name(self, *, secure: bool) -> str:
        """What it is called: over TLS so that no other host or path can set it."""
        return f"__Host-{self._name}" if secure else self._name

    def write(self, answer: Response, content: dict[str, Any], seconds: int, *, secure: bool) -> None:
        """Give it to a browser."""
        nonce = os.urandom(_NONCE)
        text = json.dumps({**content, "until": SYSTEM_CLOCK.now_s() + seconds}).encode()
        value = base64.urlsafe_b64encode(nonce + self._key.encrypt(nonce, text, None)).decode()
        answer.set_cookie(
            self.name(secure=secure), value, max_age=seconds, httponly=True, samesite="lax", secure=secure
        )

    def remove(self, answer: Response, *, secure: bool) -> None:
        """Take it from a browser."""
        answer.set_cookie(self.name(secure=secure), "", max_age=0, httponly=True, samesite="lax", secure=secure)

    def read(self, cookies: str, *, secure: bool) -> dict[str, Any] | None:
        """What a browser shows; None for nothing, for what was changed, and for what has ended."""
        try:
            shown = SimpleCookie(cookies).get(self.name(secure=secure))
        except CookieError:
            return None
        if shown is None or len(shown.value) > _LONGEST:
            return None
        try:
            sealed = base64.urlsafe_b64decode(shown.value)
            session: dict[str, Any] = json.loads(self._key.decrypt(sealed[:_NONCE], sealed[_NONCE:], None))
        except (ValueError, InvalidTag):
            return None
        good = SYSTEM_CLOCK.now_s() < session["until"] and not self.is_ended(token_of(str(session.get("id"))))
        return session if good else None

    def end(self, content: dict[str, Any]) -> None:
        """Believe it no longer, whoever has a copy."""
        self._ended[token_of(str(content.get("id")))] = float(content["until"])
        for token, until in list(self._ended.items()):
            if until < SYSTEM_CLOCK.now_s() or len(self._ended) > _MOST_ENDED:
                del self._ended[token]

    def is_ended(self, token: str) -> bool:
        """Whether the session of a token was signed out here."""
        return token in self._ended


def token_of(identity: str) -> str:
    """What a page must show with an order, for its session; the session's own id stays in the cookie."""
    return hashlib.sha256(f"csrf {identity}".encode()).hexdigest()[:32]
