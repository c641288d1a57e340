"""Tokens for OAUTHBEARER, by client credentials. Runs wherever connections are made; one provider per cluster.

A token is got when the first connection asks for one, shared by all, and renewed after four fifths of its life: a
connection that is made later still has time to use it.
"""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass, field
from typing import Any, Final

from aiokafka.abc import AbstractTokenProvider
from aiokafka.errors import KafkaConnectionError

from twinlog.config.settings import ClientCredentials
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.wire.web import opened

_LIMIT_S: Final = 10.0
_USED_PART_OF_LIFE: Final = 0.8
# For endpoints that do not say how long their tokens live, in the answer or in the token.
_UNKNOWN_LIFE_S: Final = 60.0
_LONGEST_ANSWER: Final = 1 << 20


class TokenTrouble(KafkaConnectionError):  # type: ignore[misc]
    """The endpoint gave no token. A kind of connection trouble: everybody who waits for brokers waits for it too."""


@dataclass(frozen=True)
class _Token:
    text: str
    renew_at: float


@dataclass
class TokenProvider(AbstractTokenProvider):  # type: ignore[misc]
    """The tokens of one client."""

    credentials: ClientCredentials
    ca_pem: str | None = None
    _token: _Token | None = None
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def token(self) -> str:
        """Return a token that is good for a while. Raises TokenTrouble."""
        async with self._lock:
            if self._token is None or time.monotonic() >= self._token.renew_at:
                self._token = await asyncio.to_thread(_fetch_token, self.credentials, self.ca_pem)
            return self._token.text

    def extensions(self) -> dict[str, str]:
        """What is sent along with the token."""
        return dict(self.credentials.extensions)

    def forget(self) -> None:
        """Do not use the token again: a broker refused it."""
        self._token = None


def _fetch_token(credentials: ClientCredentials, ca_pem: str | None) -> _Token:
    form = {"grant_type": "client_credentials"} | ({"scope": credentials.scope} if credentials.scope else {})
    login = f"{credentials.client_id}:{credentials.client_secret.reveal()}".encode()
    url = credentials.token_url
    request = urllib.request.Request(  # noqa: S310  the settings allow http and https only
        url,
        data=urllib.parse.urlencode(form).encode(),
        headers={
            "Authorization": f"Basic {base64.b64encode(login).decode()}",
            "Accept": "application/json",
            "Content-Type": "application/x-www-form-urlencoded",
        },
    )
    context = _trust(ca_pem) if url.startswith("https:") else None
    began = time.monotonic()
    try:
        with opened(request, timeout_s=_LIMIT_S, context=context) as answer:
            data = answer.read(_LONGEST_ANSWER)
    except urllib.error.HTTPError as error:
        raise TokenTrouble(f"{url} answers {error.code}{_reason(error)}") from None
    except (OSError, ValueError) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        raise TokenTrouble(f"{url} does not answer: {reason or type(error).__name__}") from None
    text, life_s = _read_answer(url, data)
    return _Token(text, began + _USED_PART_OF_LIFE * life_s)


def _trust(ca_pem: str | None) -> ssl.SSLContext:
    """The system's authorities, and the one of the cluster: a company mostly has one for both."""
    context = ssl.create_default_context()
    if ca_pem is not None:
        context.load_verify_locations(cadata=ca_pem)
    return context


def _reason(error: urllib.error.HTTPError) -> str:
    """What the endpoint says about its refusal, in the two fields that the standard has for that."""
    try:
        said = json.loads(error.read(_LONGEST_ANSWER))
    except (OSError, ValueError):
        return ""
    told = [str(said[name]) for name in ("error", "error_description") if said.get(name)] if _is_map(said) else []
    return f" ({': '.join(told)[:200]})" if told else ""


def _read_answer(url: str, data: bytes) -> tuple[str, float]:
    try:
        answer = json.loads(data)
    except ValueError:
        answer = None
    text = answer.get("access_token") if _is_map(answer) else None
    if not isinstance(text, str) or not text:
        raise TokenTrouble(f"{url} answers without an access_token")
    life = answer.get("expires_in")
    if isinstance(life, int | float) and not isinstance(life, bool) and life > 0:
        return text, float(life)
    return text, _life_by_claims(text)


def _life_by_claims(token: str) -> float:
    """How long a token lives by its own word (JWT, claim `exp`)."""
    try:
        _, payload, _ = token.split(".")
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        return max(1.0, float(claims["exp"]) - SYSTEM_CLOCK.now_s())
    except (ValueError, KeyError, TypeError):
        return _UNKNOWN_LIFE_S


def _is_map(value: Any) -> bool:
    return isinstance(value, dict)
