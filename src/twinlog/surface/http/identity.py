"""Who asks: users with passwords or tokens, and tokens of an OIDC issuer. Runs in the service's loop."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass, replace
from typing import Final

from twinlog.config.security.users import User, Users
from twinlog.config.service_settings import HttpSettings
from twinlog.control.audit import Who
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.surface.http.login_limits import LoginLimits
from twinlog.surface.http.oidc_issuer import OidcIssuer
from twinlog.surface.http.roles import Roles
from twinlog.surface.http.sign_in import SignIn
from twinlog.surface.http.thread_pool import ThreadPool

_WRONG_LOGIN: Final = "wrong name or password"


@dataclass(frozen=True)
class Refused:
    """What somebody showed is worth nothing: `name` is what they said they are, `why` is for the audit."""

    name: str
    why: str


class Authenticator:
    """Tells who somebody is by what they show."""

    def __init__(self, settings: HttpSettings) -> None:
        self._roles = Roles(settings.roles)
        self._users = Users(settings.users_file, self._roles.names) if settings.users_file is not None else None
        self._oidc = OidcIssuer(settings.oidc, self._roles) if settings.oidc is not None else None
        self._limits = LoginLimits()
        # Checking a password takes a processor for long, asking an issuer takes time: neither may wait for clusters
        # that are away, nor for the other.
        self._checking = ThreadPool("passwords", threads=2, most_waiting=16)
        self._asking = ThreadPool("issuer", threads=2, most_waiting=64)
        self.sign_in: SignIn | None = None
        if settings.oidc is not None and self._oidc is not None and settings.oidc.client_id is not None:
            self.sign_in = SignIn(settings, settings.oidc, self._oidc, self._asking)

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
        who = await self._asking.run(self._oidc.read, token)
        return Refused("", "wrong token") if who is None else replace(who, address=address)

    def _known(self, user: User, address: str, by: str) -> Who | Refused:
        role, grants = self._roles.of([user.role])
        if role is None:
            return Refused(user.name, f"unknown role {user.role}")
        return Who(user.name, role, address, by, grants=grants, proof=_proof(user))

    def still_in(self, who: Who) -> bool:
        """Whether somebody would still be let in by what they showed: streams last longer than rights."""
        if who.until is not None and SYSTEM_CLOCK.now_s() > who.until:
            return False
        if who.by == "session":
            return self.sign_in is not None and not self.sign_in.is_out(who)
        if who.by not in {"password", "token", "certificate"}:
            return True
        user = self._users.by_name(who.name) if self._users is not None else None
        if user is None or _proof(user) != who.proof:
            return False
        return user.expires is None or SYSTEM_CLOCK.now_s() < user.expires

    def by_certificate(self, subject: str, address: str) -> Who | Refused | None:
        """Return whose certificate it is; None when it is nobody's, and they may log in otherwise."""
        user = self._users.by_certificate(subject) if self._users is not None else None
        return None if user is None else self._known(user, address, "certificate")


def _proof(user: User) -> str:
    """A value that changes with the user's line of the users file, and from which the line cannot be computed."""
    return hashlib.sha256(user.line().encode()).hexdigest()[:32]
