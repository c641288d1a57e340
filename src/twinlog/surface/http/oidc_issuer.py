"""The issuer whose tokens are believed, and that people sign in with on the page. Runs in threads of the service."""

from __future__ import annotations

import base64
import hmac
import json
import logging
import time
import urllib.error
import urllib.request
from typing import Any, Final
from urllib.parse import quote, urlencode

import jwt

from twinlog.config.security.secrets import Secret
from twinlog.config.service_settings import OidcSettings
from twinlog.control.audit import Who
from twinlog.surface.http.roles import Roles
from twinlog.wire.web import opened

log = logging.getLogger("twinlog.rest")

_ALGORITHMS: Final = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
_WITHIN_S: Final = 5
_KEYS_LAST_S: Final = 300
"""A key that the issuer took back is believed no longer than this."""
_ASK_AGAIN_S: Final = 5.0
"""A token with a new key makes us ask for keys, but whoever sends nonsense must not make us ask all the time."""
_LONGEST: Final = 1 << 20
_LEEWAY_S: Final = 30
_BROKEN: Final = 500


class IssuerAwayError(Exception):
    """The issuer of tokens cannot be asked: whether a token is good is not known."""


class OidcIssuer:
    """One issuer: its description and its keys, which are fetched when they are needed and kept. All of it blocks."""

    def __init__(self, settings: OidcSettings, roles: Roles) -> None:
        self._settings = settings
        self._roles = roles
        self._keys: jwt.PyJWKClient | None = None
        self._description: dict[str, Any] | None = None
        self._described_at = 0.0

    @property
    def url(self) -> str:
        return self._settings.issuer

    def read(self, token: str) -> Who | None:
        """Return whose token it is, if it is good and made out for us. Raises IssuerAwayError."""
        claims = self._claims(token, self._settings.audience)
        return None if claims is None else self._who(claims)

    def read_id_token(self, token: str, client: str, nonce: str) -> tuple[Who, list[str]] | None:
        """Return who signed in, and with which roles; `nonce` ties the token to the browser that began."""
        claims = self._claims(token, client)
        if claims is None or not hmac.compare_digest(str(claims.get("nonce", "")), nonce):
            return None
        many = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
        if claims.get("azp", None if many else client) != client:
            return None
        who = self._who(claims)
        return None if who is None else (who, _words(claims, self._settings.roles_claim))

    def _claims(self, token: str, audience: str) -> dict[str, Any] | None:
        settings = self._settings
        try:
            key = self._client().get_signing_key_from_jwt(token)
            claims: dict[str, Any] = jwt.decode(
                token,
                key.key,
                algorithms=_ALGORITHMS,
                audience=audience,
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
        return claims

    def _who(self, claims: dict[str, Any]) -> Who | None:
        role, grants = self._roles.of(_words(claims, self._settings.roles_claim))
        if role is None:
            return None
        name = str(claims.get("preferred_username") or claims["sub"])
        until = float(claims["exp"]) + _LEEWAY_S
        return Who(name, role, by="oidc", subject=str(claims["sub"]), issuer=self.url, grants=grants, until=until)

    def _client(self) -> jwt.PyJWKClient:
        if self._keys is None:
            url = self._settings.jwks_url or self._endpoint("jwks_uri")
            # Single keys are not kept: they would be believed for ever.
            self._keys = jwt.PyJWKClient(
                url, cache_keys=False, lifespan=_KEYS_LAST_S, timeout=_WITHIN_S, cooldown_duration=_ASK_AGAIN_S
            )
        return self._keys

    def authorization_endpoint(self) -> str:
        """Where a browser is sent to. Raises IssuerAwayError."""
        try:
            return self._endpoint("authorization_endpoint")
        except (OSError, ValueError) as error:
            log.warning("%s: its description cannot be had: %s", self.url, error)
            raise IssuerAwayError(self.url) from error

    def exchange(self, form: dict[str, str], client: str, secret: Secret | None) -> str | None:
        """Turn a code into an ID token; None when the issuer refuses it. Raises IssuerAwayError."""
        try:
            # As OAuth has it, both are encoded before they become a login.
            request = urllib.request.Request(  # noqa: S310  the issuer of the settings file names it
                self._endpoint("token_endpoint"), data=urlencode(form).encode(), headers={"Accept": "application/json"}
            )
            if secret is not None:
                login = f"{quote(client, safe='')}:{quote(secret.reveal(), safe='')}"
                request.add_header("Authorization", f"Basic {base64.b64encode(login.encode()).decode()}")
            with opened(request, timeout_s=_WITHIN_S) as answer:
                document = json.loads(answer.read(_LONGEST))
        except urllib.error.HTTPError as error:
            with error:
                log.warning("%s refused a sign-in: %s", self.url, error.code)
            if error.code >= _BROKEN:
                raise IssuerAwayError(self.url) from error
            return None
        except (OSError, ValueError) as error:
            log.warning("%s: a sign-in could not be finished: %s", self.url, error)
            raise IssuerAwayError(self.url) from error
        token = document.get("id_token") if isinstance(document, dict) else None
        return token if isinstance(token, str) else None

    def _endpoint(self, name: str) -> str:
        """An address of the description. Raises OSError, ValueError."""
        if self._description is None or time.monotonic() - self._described_at > _KEYS_LAST_S:
            self._description = self._described()
            self._described_at = time.monotonic()
        address = str(self._description.get(name))
        if self.url.startswith("https:") and not address.startswith("https:"):
            raise OSError(f"{name} of {self.url} is no https address")
        return address

    def _described(self) -> dict[str, Any]:
        address = self.url.rstrip("/") + "/.well-known/openid-configuration"
        request = urllib.request.Request(address)  # noqa: S310  the operator's own setting
        with opened(request, timeout_s=_WITHIN_S) as answer:
            document = json.loads(answer.read(_LONGEST))
        described = document if isinstance(document, dict) else {}
        if described.get("issuer") != self.url:
            # What it signs would be refused anyway, token by token and without this reason.
            raise OSError(f"{address} describes {described.get('issuer')}, not {self.url}")
        return described


def _words(claims: dict[str, Any], claim: str) -> list[str]:
    """The roles that a token names."""
    value: Any = claims
    for part in claim.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    words = value.split() if isinstance(value, str) else value if isinstance(value, list) else []
    return [word for word in words if isinstance(word, str)]
