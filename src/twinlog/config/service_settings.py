"""What a file says about the service itself. Runs while the file is resolved; the settings are complete and frozen."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict

from twinlog.config.clients import resolve_client
from twinlog.config.notifications import NotificationHook, resolve_notifications
from twinlog.config.security.addresses import is_clear_text
from twinlog.config.security.connector_rules import ConnectorRules, resolve_rules
from twinlog.config.security.roles import RoleSettings, resolve_roles
from twinlog.config.security.secrets import Secret
from twinlog.config.settings import ClientSettings
from twinlog.config.text import service_keys as keys
from twinlog.config.text.keys import Key
from twinlog.config.text.lookup import LinkLookup, Lookup
from twinlog.config.text.precedence import TARGET_ADMIN
from twinlog.model.names import LinkName

T = TypeVar("T")


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)


class OidcSettings(_Frozen):
    """Whose tokens are believed, and for what."""

    issuer: str
    jwks_url: str | None
    audience: str
    roles_claim: str
    # Without a client nobody signs in on the page.
    client_id: str | None = None
    client_secret: Secret | None = None
    redirect_url: str | None = None
    scopes: str = "openid profile"
    session_minutes: int = 60


class HttpSettings(_Frozen):
    """How the service answers over HTTP."""

    advertised_url: str | None = None
    users_file: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    client_ca: Path | None = None
    group_ca: Path | None = None
    oidc: OidcSettings | None = None
    audit_file: Path | None = None
    audit_required: bool = False
    trusted_proxies: tuple[str, ...] = ()
    roles: tuple[RoleSettings, ...] = ()
    health_listen: str | None = None
    grafana_url: str | None = None
    connections_per_address: int = 200
    streams_per_user: int = 50
    max_request_bytes: int = 1_048_576
    request_timeout_seconds: int = 90
    allowed_hosts: tuple[str, ...] = ()
    group_secret: Secret | None = None
    group_urls: tuple[str, ...] = ()
    tls_insecure: bool = False

    @property
    def asks_who(self) -> bool:
        """Whether anybody has to log in."""
        return self.users_file is not None or self.oidc is not None


class OtelSettings(_Frozen):
    """Where metrics are told to, and how often."""

    endpoint: str
    interval_seconds: int


class ServiceSettings(_Frozen):
    """The service beside its links."""

    group_id: str = "twinlog"
    # None: the target of the first link.
    store: ClientSettings | None = None
    store_replication_factor: int = -1
    http: HttpSettings = HttpSettings()
    otel: OtelSettings | None = None
    # What connectors made over HTTP may say.
    connectors: ConnectorRules = ConnectorRules()
    notifications: tuple[NotificationHook, ...] = ()


def has_store(lookup: Lookup) -> bool:
    """Tell whether the file names a store, and so may do without links."""
    return f"{keys.STORE}.bootstrap.servers" in lookup.entries


def resolve_service(lookup: Lookup) -> ServiceSettings:
    """Read the service's own keys; what is wrong is noted in the lookup."""
    issuer = _optional(lookup, keys.HTTP_ISSUER)
    oidc = None
    if issuer is not None:
        oidc = OidcSettings(
            issuer=issuer,
            jwks_url=_optional(lookup, keys.HTTP_JWKS),
            audience=_value(lookup, keys.HTTP_AUDIENCE),
            roles_claim=_value(lookup, keys.HTTP_ROLES_CLAIM),
            client_id=_optional(lookup, keys.HTTP_CLIENT_ID),
            client_secret=None if (own := _optional(lookup, keys.HTTP_CLIENT_SECRET)) is None else Secret(own),
            redirect_url=_optional(lookup, keys.HTTP_REDIRECT),
            scopes=_value(lookup, keys.HTTP_SCOPES),
            session_minutes=_value(lookup, keys.HTTP_SESSION),
        )
    http = HttpSettings(
        advertised_url=_optional(lookup, keys.HTTP_ADVERTISED),
        users_file=_path(lookup, keys.HTTP_USERS),
        certificate=_path(lookup, keys.HTTP_CERTIFICATE),
        key=_path(lookup, keys.HTTP_KEY),
        client_ca=_path(lookup, keys.HTTP_CLIENT_CA),
        group_ca=_path(lookup, keys.HTTP_GROUP_CA),
        oidc=oidc,
        audit_file=_path(lookup, keys.HTTP_AUDIT),
        audit_required=_value(lookup, keys.HTTP_AUDIT_REQUIRED),
        trusted_proxies=_value(lookup, keys.HTTP_PROXIES),
        roles=resolve_roles(lookup),
        health_listen=_optional(lookup, keys.HTTP_HEALTH),
        grafana_url=_optional(lookup, keys.GRAFANA_URL),
        connections_per_address=_value(lookup, keys.HTTP_CONNECTIONS),
        streams_per_user=_value(lookup, keys.HTTP_STREAMS),
        max_request_bytes=_value(lookup, keys.HTTP_MAX_BYTES),
        request_timeout_seconds=_value(lookup, keys.HTTP_TIMEOUT),
        allowed_hosts=_value(lookup, keys.HTTP_HOSTS),
        group_secret=None if (shared := _optional(lookup, keys.HTTP_GROUP_SECRET)) is None else Secret(shared),
        group_urls=tuple(url.rstrip("/") for url in _value(lookup, keys.HTTP_GROUP_URLS)),
        tls_insecure=_value(lookup, keys.HTTP_INSECURE),
    )
    for key in (keys.HTTP_USERS, keys.HTTP_CERTIFICATE, keys.HTTP_KEY, keys.HTTP_CLIENT_CA, keys.HTTP_GROUP_CA):
        needed = _path(lookup, key)
        if needed is not None and not needed.is_file():
            lookup.note("error", lookup.find((key.name,)), f"{needed}: there is no such file")
    for key in (keys.HTTP_ISSUER, keys.HTTP_JWKS):
        address = _optional(lookup, key)
        if address is not None and not http.tls_insecure and is_clear_text(address):
            told = f"needs https: whoever is on the way could make tokens; or set {keys.HTTP_INSECURE.name} = true"
            lookup.note("error", lookup.find((key.name,)), told)
    if http.client_ca is not None and http.certificate is None:
        entry = lookup.find((keys.HTTP_CLIENT_CA.name,))
        lookup.note("error", entry, f"needs {keys.HTTP_CERTIFICATE.name}: certificates are shown over TLS only")
    return ServiceSettings(
        group_id=_value(lookup, keys.GROUP_ID),
        store=_store(lookup),
        store_replication_factor=_value(lookup, keys.STORE_REPLICAS),
        http=http,
        otel=_otel(lookup),
        connectors=resolve_rules(lookup),
        notifications=resolve_notifications(lookup),
    )


def _otel(lookup: Lookup) -> OtelSettings | None:
    endpoint = _optional(lookup, keys.OTEL_ENDPOINT)
    if endpoint is None:
        return None
    return OtelSettings(endpoint=endpoint.rstrip("/"), interval_seconds=_value(lookup, keys.OTEL_INTERVAL))


def _store(lookup: Lookup) -> ClientSettings | None:
    if not has_store(lookup):
        return None
    # As the target of a link that does not exist: the store's keys are those of any cluster.
    return resolve_client(LinkLookup(lookup, LinkName("", keys.STORE), runs=False), TARGET_ADMIN)


def _optional(lookup: Lookup, key: Key[T]) -> T | None:
    return lookup.read(key, lookup.find((key.name,)))


def _value(lookup: Lookup, key: Key[T]) -> T:
    value = _optional(lookup, key)
    if value is None:
        msg = f"{key.name} has no default in the catalogue"
        raise LookupError(msg)
    return value


def _path(lookup: Lookup, key: Key[str]) -> Path | None:
    text = _optional(lookup, key)
    return Path(text.strip()) if text and text.strip() else None
