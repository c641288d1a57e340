"""Who asks: users with passwords or tokens, and tokens of an OIDC issuer. Runs in the service's loop."""

from __future__ import annotations

import base64
import json
import logging
import time
import urllib.request
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import jwt

from twinlog.config.roles import RoleSettings
from twinlog.config.service_settings import HttpSettings, OidcSettings
from twinlog.config.users import User, Users
from twinlog.connectors.audit import RANKS, Grant, Role, Who
from twinlog.model.selection import Patterns
from twinlog.surface.rest.login_limits import LoginLimits
from twinlog.surface.rest.own_threads import OwnThreads

log = logging.getLogger("twinlog.rest")

_ALGORITHMS: Final = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
_WITHIN_S: Final = 5
_KEYS_LAST_S: Final = 300
"""A key that the issuer took back is believed no longer than this."""
_ASK_AGAIN_S: Final = 5.0
"""A token with a new key makes us ask for keys, but whoever sends nonsense must not make us ask all the time."""
_LONGEST: Final = 1 << 20
_LEEWAY_S: Final = 30
_WRONG_LOGIN: Final = "wrong name or password"


class IssuerAwayError(Exception):
    """The issuer of tokens cannot be asked: whether a token is good is not known."""


@dataclass(frozen=True)
class Refused:
    """What somebody showed is worth nothing: `name` is what they said they are, `why` is for the audit."""

    name: str
    why: str


class Doorkeeper:
    """Tells who somebody is by what they show."""

    def __init__(self, settings: HttpSettings) -> None:
        self._roles = Roles(settings.roles)
        self._users = Users(settings.users_file, self._roles.names) if settings.users_file is not None else None
        self._oidc = _Issuer(settings.oidc, self._roles) if settings.oidc is not None else None
        self._limits = LoginLimits()
        # Checking a password takes a processor for long, asking an issuer takes time: neither may wait for clusters
        # that are away, nor for the other.
        self._checking = OwnThreads("passwords", threads=2, most_waiting=16)
        self._asking = OwnThreads("issuer", threads=2, most_waiting=64)

    async def identify(self, authorization: str, address: str) -> Who | Refused | None:
        """Return who it is; None when nothing was shown, as browsers do at first.

        Raises IssuerAwayError, TooManyLoginsError, TooBusyError.
        """
        scheme, _, shown = authorization.partition(" ")
        match scheme.lower():
            case "basic":
                return await self._by_password(shown.strip(), address)
            case "bearer":
                return await self._by_token(shown.strip(), address)
            case _:
                return None

    async def _by_password(self, shown: str, address: str) -> Who | Refused:
        try:
            name, colon, password = base64.b64decode(shown, validate=True).decode().partition(":")
        except ValueError:
            return Refused("", "unreadable login")
        if self._users is None or not colon:
            return Refused(name, _WRONG_LOGIN)
        user = self._users.remembered(name, password)
        if user is None or self._limits.is_slowed(name, address):
            async with self._limits.turn(name, address) as turn:
                user = await self._checking.run(self._users.by_password, name, password)
                if user is not None:
                    turn.right()
        if user is None:
            return Refused(name, _WRONG_LOGIN)
        return self._known(user, address, "password")

    async def _by_token(self, token: str, address: str) -> Who | Refused:
        user = self._users.by_token(token) if self._users is not None else None
        if user is not None:
            return self._known(user, address, "token")
        if self._oidc is None or token.count(".") != 2:
            return Refused("", "wrong token")
        found = await self._asking.run(self._oidc.read, token)
        return Refused("", "wrong token") if found is None else replace(found, address=address)

    def _known(self, user: User, address: str, by: str) -> Who | Refused:
        role, grants = self._roles.of([user.role])
        if role is None:
            return Refused(user.name, f"unknown role {user.role}")
        return Who(user.name, role, address, by, grants=grants, proof=user.line())

    def still_in(self, who: Who) -> bool:
        """Whether somebody would still be let in by what they showed: streams last longer than rights."""
        if who.until is not None and time.time() > who.until:
            return False
        if who.by not in {"password", "token", "certificate"}:
            return True
        user = self._users.by_name(who.name) if self._users is not None else None
        if user is None or user.line() != who.proof:
            return False
        return user.expires is None or time.time() < user.expires

    def by_certificate(self, subject: str, address: str) -> Who | Refused | None:
        """Return whose certificate it is; None when it is nobody's, and they may log in otherwise."""
        user = self._users.by_certificate(subject) if self._users is not None else None
        return None if user is None else self._known(user, address, "certificate")


class Roles:
    """What the roles of the settings file, and the three that always are, allow."""

    def __init__(self, settings: Sequence[RoleSettings]) -> None:
        self._grants: dict[str, Grant] = {role: Grant(role) for role in RANKS}
        for one in settings:
            self._grants[one.name] = Grant(one.may, None if one.links is None else Patterns(one.links))

    @property
    def names(self) -> frozenset[str]:
        """All roles that there are."""
        return frozenset(self._grants)

    def of(self, names: Iterable[str]) -> tuple[Role | None, tuple[Grant, ...]]:
        """The highest role of somebody with these, and everything they may do. Unknown names open nothing."""
        grants = tuple(self._grants[name] for name in names if name in self._grants)
        return max((grant.role for grant in grants), key=RANKS.__getitem__, default=None), grants


class _Issuer:
    """Checks tokens by the issuer's keys, which are fetched when they are needed and kept."""

    def __init__(self, settings: OidcSettings, roles: Roles) -> None:
        self._settings = settings
        self._roles = roles
        self._keys: jwt.PyJWKClient | None = None

    def read(self, token: str) -> Who | None:
        """Return whose token it is, if it is good. Blocking; raises IssuerAwayError."""
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
        role, grants = self._roles.of(_words(claims, settings.roles_claim))
        if role is None:
            return None
        name = str(claims.get("preferred_username") or claims["sub"])
        until = float(claims["exp"]) + _LEEWAY_S
        return Who(
            name, role, by="oidc", subject=str(claims["sub"]), issuer=settings.issuer, grants=grants, until=until
        )

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


def _words(claims: dict[str, Any], claim: str) -> list[str]:
    """The roles that a token names."""
    found: Any = claims
    for part in claim.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    words = found.split() if isinstance(found, str) else found if isinstance(found, list) else []
    return [word for word in words if isinstance(word, str)]
