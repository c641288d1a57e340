"""Who may do what with which subject: a role reads, writes subjects that fit its patterns, or administers.

    viewer    reads                      operator  registers and deletes versions, changes settings of subjects
    admin     changes the settings and modes of contexts and of the whole registry

`role.NAME.subjects` limits a role to subjects; reading is never limited by it. Every order is written down.
"""

from dataclasses import replace
from typing import Final

from twinlog.config.service_settings import HttpSettings
from twinlog.control.audit import NOBODY, Audit, Who
from twinlog.registry.refusals import Refusal
from twinlog.registry.subject_names import normalized, split
from twinlog.surface.http.identity import Authenticator
from twinlog.surface.http.login_limits import TooManyLoginsError
from twinlog.surface.http.oidc_issuer import IssuerAwayError
from twinlog.surface.http.thread_pool import TooBusyError
from twinlog.surface.registry.exchange import Request

CHALLENGE: Final = (b"www-authenticate", b'Basic realm="schema-registry", charset="UTF-8"')
_SETTINGS: Final = frozenset({"config", "mode"})


class NotLoggedIn(Refusal):
    """Nobody, or somebody who showed something wrong."""

    def __init__(self) -> None:
        super().__init__(401, "Unauthorized")


class Access:
    """Stands before the handlers. Without users in the file everybody may do everything, as with Confluent."""

    def __init__(self, settings: HttpSettings, audit: Audit) -> None:
        self._authenticator = Authenticator(settings) if settings.asks_who else None
        self._audit = audit

    @property
    def asks(self) -> bool:
        return self._authenticator is not None

    async def who(self, authorization: bytes, address: str, certificate: str) -> Who:
        """Who asks. Raises Refusal 401, 429 or 503."""
        if self._authenticator is None:
            return replace(NOBODY, address=address)
        try:
            who = await self._authenticator.identify(authorization.decode("latin-1"), address)
            if who is None:
                who = self._authenticator.by_certificate(certificate, address)
        except TooManyLoginsError as error:
            raise Refusal(
                429, f"Too many wrong logins; ask again in {error.seconds} s", retry_after_s=error.seconds
            ) from None
        except (IssuerAwayError, TooBusyError):
            raise Refusal(503, "Logins cannot be checked now; ask again", retry_after_s=2) from None
        if not isinstance(who, Who):
            raise NotLoggedIn
        return who

    def check(self, who: Who, request: Request, *, writes: bool) -> None:
        """Raises Refusal 403."""
        if self._authenticator is None:
            return
        if not writes:
            allowed, needed = who.may_somewhere("viewer"), "viewer"
        else:
            subject = _subject(request)
            needed = "admin" if subject is None else "operator"
            allowed = who.may("admin") if subject is None else who.may("operator", subject)
        if not allowed:
            self._audit.note(who, request.method, _path(request), outcome=f"denied: needs {needed}")
            raise Refusal(40301, f"User is denied operation: {who.name} needs the role {needed} for it")

    def note(self, who: Who, request: Request, status: int) -> None:
        """Write an order down with its outcome."""
        if self._authenticator is not None:
            outcome = "done" if status < 400 else f"refused: {status}"
            self._audit.note(who, request.method, _path(request), outcome=outcome)


def _subject(request: Request) -> str | None:
    """The subject that an order concerns; None for what concerns many."""
    segments = request.segments
    if len(segments) < 2 or (segments[0] != "subjects" and segments[0] not in _SETTINGS):
        return None
    name = normalized(segments[1])
    return name if split(name).subject else None


def _path(request: Request) -> str:
    return "/" + "/".join(request.segments)
