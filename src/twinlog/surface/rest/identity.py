"""Who asks: users with passwords or tokens, and tokens of an OIDC issuer. Runs in the service's loop."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import time
import urllib.request
from collections import deque
from typing import Any, Final, cast

import jwt

from twinlog.config.service_settings import HttpSettings, OidcSettings
from twinlog.config.users import Users
from twinlog.connectors.audit import RANKS, Role, Who

log = logging.getLogger("twinlog.rest")

_ALGORITHMS: Final = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
_WITHIN_S: Final = 5
_KEYS_LAST_S: Final = 300
"""A key that the issuer took back is believed no longer than this."""
_ASK_AGAIN_S: Final = 5.0
"""A token with a new key makes us ask for keys, but whoever sends nonsense must not make us ask all the time."""
_LONGEST: Final = 1 << 20
_LEEWAY_S: Final = 30
_FAILURES: Final = 10
_WITHIN_SECONDS: Final = 60.0
_MOST_ADDRESSES: Final = 10_000


class IssuerAwayError(Exception):
    """The issuer of tokens cannot be asked: whether a token is good is not known."""


class Doorkeeper:
    """Tells who somebody is by what they show."""

    def __init__(self, settings: HttpSettings) -> None:
        self._users = Users(settings.users_file) if settings.users_file is not None else None
        self._oidc = _Issuer(settings.oidc) if settings.oidc is not None else None
        self._failed: dict[str, deque[float]] = {}

    def seconds_to_wait(self, address: str) -> int:
        """How long an address must wait that showed wrong passwords again and again; checking one costs us dearly."""
        failed = self._failed.get(address)
        if failed is None or len(failed) < _FAILURES:
            return 0
        return max(0, int(failed[0] + _WITHIN_SECONDS - time.monotonic() + 0.999))

    def _note_failure(self, address: str) -> None:
        if address not in self._failed and len(self._failed) >= _MOST_ADDRESSES:
            self._failed.pop(next(iter(self._failed)))
        self._failed.setdefault(address, deque(maxlen=_FAILURES)).append(time.monotonic())

    async def identify(self, authorization: str, address: str) -> Who | None:
        """Return who it is; None when what is shown is worth nothing. Raises IssuerAwayError."""
        scheme, _, shown = authorization.partition(" ")
        match scheme.lower():
            case "basic":
                who = await self._by_password(shown.strip(), address)
            case "bearer":
                who = await self._by_token(shown.strip(), address)
            case _:
                return None  # nothing was shown: browsers ask so first
        if who is None:
            self._note_failure(address)
        else:
            self._failed.pop(address, None)
        return who

    async def _by_password(self, shown: str, address: str) -> Who | None:
        try:
            name, colon, password = base64.b64decode(shown, validate=True).decode().partition(":")
        except ValueError:
            return None
        if self._users is None or not colon:
            return None
        user = await asyncio.to_thread(self._users.by_password, name, password)
        return None if user is None else Who(user.name, cast("Role", user.role), address)

    async def _by_token(self, token: str, address: str) -> Who | None:
        user = self._users.by_token(token) if self._users is not None else None
        if user is not None:
            return Who(user.name, cast("Role", user.role), address)
        if self._oidc is None or token.count(".") != 2:
            return None
        found = await asyncio.to_thread(self._oidc.read, token)
        return None if found is None else Who(*found, address)


class _Issuer:
    """Checks tokens by the issuer's keys, which are fetched when they are needed and kept."""

    def __init__(self, settings: OidcSettings) -> None:
        self._settings = settings
        self._keys: jwt.PyJWKClient | None = None

    def read(self, token: str) -> tuple[str, Role] | None:
        """Return name and role of a token that is good. Blocking; raises IssuerAwayError."""
        settings = self._settings
        try:
            key = self._client().get_signing_key_from_jwt(token)
            claims = jwt.decode(
                token,
                key.key,
                algorithms=_ALGORITHMS,
                audience=settings.audience,
                issuer=settings.issuer,
                leeway=_LEEWAY_S,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
        except (jwt.PyJWKClientConnectionError, OSError, json.JSONDecodeError) as error:
            log.warning("%s: its keys cannot be had: %s", settings.issuer, error)
            raise IssuerAwayError(settings.issuer) from error
        except (jwt.PyJWTError, ValueError) as error:
            log.warning("a token of %s was refused: %s", settings.issuer, type(error).__name__)
            return None
        role = _role(claims, settings.roles_claim)
        if role is None:
            return None
        return str(claims.get("preferred_username") or claims["sub"]), role

    def _client(self) -> jwt.PyJWKClient:
        if self._keys is None:
            url = self._settings.jwks_url or self._described()
            # Single keys are not kept: they would be believed for ever.
            self._keys = jwt.PyJWKClient(
                url, cache_keys=False, lifespan=_KEYS_LAST_S, timeout=_WITHIN_S, cooldown_duration=_ASK_AGAIN_S
            )
        return self._keys

    def _described(self) -> str:
        address = self._settings.issuer.rstrip("/") + "/.well-known/openid-configuration"
        with urllib.request.urlopen(address, timeout=_WITHIN_S) as answer:  # noqa: S310  the operator's own setting
            found = json.loads(answer.read(_LONGEST))
        described = found if isinstance(found, dict) else {}
        if described.get("issuer") != self._settings.issuer:
            # What it signs would be refused anyway, token by token and without this reason.
            raise OSError(f"{address} describes {described.get('issuer')}, not {self._settings.issuer}")
        return str(described.get("jwks_uri"))


def _role(claims: dict[str, Any], claim: str) -> Role | None:
    """Find the highest role of a token; none at all opens nothing."""
    found: Any = claims
    for part in claim.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    words = found.split() if isinstance(found, str) else found if isinstance(found, list) else []
    roles = [word for word in words if word in RANKS]
    return cast("Role", max(roles, key=lambda word: RANKS[cast("Role", word)])) if roles else None
