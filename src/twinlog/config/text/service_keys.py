"""The keys of the service itself: its group, where it keeps links that are made over HTTP, and who may ask it."""

from __future__ import annotations

from typing import Any, Final

from twinlog.config.text.keys import Key, Scope
from twinlog.config.text.values import (
    Flag,
    HostPort,
    Kind,
    Networks,
    OneOf,
    T_co,
    Text,
    TopicCharacters,
    Url,
    Whole,
    Words,
)

STORE = "store"
"""What the store's cluster is called where a cluster needs an alias."""


def _file(name: str, kind: Kind[T_co], default: str | None, meaning: str) -> Key[T_co]:
    return Key(name, (Scope.FILE,), kind, default, meaning, own=True)


GROUP_ID = _file(
    "group.id", TopicCharacters(), "twinlog",
    "Services with `--listen` and the same group on the same store are standbys of each other: one runs the links.",
)  # fmt: skip
STORE_KEYS = Key(
    "store.*", (Scope.FILE,), Text(), None,
    "The cluster that keeps links made over HTTP: store.bootstrap.servers, store.security.protocol and so on, as for "
    "any cluster. Absent: the target of the first link.",
    secret=True, own=True,
)  # fmt: skip
STORE_REPLICAS = _file(
    "store.replication.factor", Whole(1, 32767, also=-1), "-1", "Replicas of the store's topics; -1: its default."
)
HTTP_ADVERTISED = _file(
    "http.advertised.url", Url(), None, "Where a standby sends writes to. Absent: the address of --listen."
)
HTTP_USERS = _file(
    "http.users.file", Text(), None, "Who may ask, with hashed passwords and tokens; see `twinlog user add`."
)
HTTP_CERTIFICATE = _file("http.tls.certificate", Text(), None, "PEM file with the certificate: HTTPS is spoken.")
HTTP_KEY = _file("http.tls.key", Text(), None, "PEM file with its key. Absent: it is in the certificate's file.")
HTTP_CLIENT_CA = _file(
    "http.tls.client.ca", Text(), None,
    "PEM file: clients must show a certificate of this authority. It opens the door; who one is says the login.",
)  # fmt: skip
HTTP_ISSUER = _file("http.oidc.issuer", Url(), None, "Tokens of this issuer are accepted.")
HTTP_JWKS = _file("http.oidc.jwks.url", Url(), None, "Its keys. Absent: the issuer's own description names them.")
HTTP_AUDIENCE = _file("http.oidc.audience", Text(), "twinlog", "What a token must be made out for.")
HTTP_ROLES_CLAIM = _file(
    "http.oidc.roles.claim", Text(), "roles", "The claim that holds viewer, operator or admin; dots lead inside."
)
HTTP_CLIENT_ID = _file(
    "http.oidc.client.id", Text(), None,
    "The client that the page is at the issuer: people sign in on the page (authorization code with PKCE). Absent: "
    "tokens of the issuer are accepted, and the page has no sign-in.",
)  # fmt: skip
HTTP_CLIENT_SECRET = Key(
    "http.oidc.client.secret", (Scope.FILE,), Text(), None, "Its secret, best as a reference. Absent: a public client.",
    secret=True, own=True,
)  # fmt: skip
HTTP_REDIRECT = _file(
    "http.oidc.redirect.url", Url(), None,
    "Where the issuer sends browsers back to. Absent: /ui/sign-in/callback at the address that the browser uses.",
)  # fmt: skip
HTTP_SCOPES = _file("http.oidc.scopes", Text(), "openid profile", "What is asked of the issuer at a sign-in.")
HTTP_SESSION = _file("http.session.minutes", Whole(1, 1440), "60", "How long a sign-in on the page lasts.")
HTTP_AUDIT = _file("http.audit.file", Text(), None, "Every change that was asked for is also written to this file.")
HTTP_AUDIT_REQUIRED = _file(
    "http.audit.required", Flag(), "false",
    "true: an order is carried out only after it was written to the audit file, or to the audit topic without a file.",
)  # fmt: skip
HTTP_PROXIES = _file(
    "http.trusted.proxies", Networks(), "",
    "Addresses or networks of proxies whose X-Forwarded-For and X-Forwarded-Proto headers are trusted; empty: none.",
)  # fmt: skip
HTTP_HEALTH = _file(
    "http.health.listen", HostPort(), None,
    "HOST:PORT at which /livez and /readyz are answered too, without TLS and login: probes keep working when all "
    "connections of the service are taken.",
)  # fmt: skip
GRAFANA_URL = _file("grafana.url", Url(), None, "Address of a dashboard; the page links to it.")
HTTP_CONNECTIONS = _file(
    "http.max.connections.per.address", Whole(1, 100_000), "200",
    "Connections from one IPv4 address or one IPv6 /64 at a time; more are closed. Trusted proxies have no limit.",
)  # fmt: skip
HTTP_STREAMS = _file(
    "http.max.streams.per.user",
    Whole(1, 10_000),
    "50",
    "Live streams (open pages) of one user at a time.",
)
HTTP_MAX_BYTES = _file("http.max.request.bytes", Whole(1024, 2**30), "1048576", "A longer request is refused.")
HTTP_TIMEOUT = _file("http.request.timeout.seconds", Whole(1, 3600), "90", "A request that takes longer is given up.")
HTTP_HOSTS = _file(
    "http.allowed.hosts", Words(), "", "Names by which browsers and clients may call the service; empty: any."
)
OTEL_ENDPOINT = _file(
    "otel.endpoint", Url(), None,
    "Where metrics and steps of switches are reported to over OTLP/HTTP, e.g. http://collector:4318, while the service "
    "listens. Needs the extra `otel`; logins and certificates are OpenTelemetry's own OTEL_EXPORTER_OTLP_* variables.",
)  # fmt: skip
OTEL_INTERVAL = _file("otel.interval.seconds", Whole(1, 3600), "15", "How often they are reported.")

HTTP_GROUP_SECRET = Key(
    "http.group.secret", (Scope.FILE,), Text(), None,
    "The same text for all services of a group, best as a reference: it signs all records of the links topic, seals "
    "the passwords in it, and signs what a standby passes on to the leader. Absent: records are taken as they are, and "
    "a standby passes nothing on, unless http.group.urls names the leader.",
    secret=True, own=True,
)  # fmt: skip
HTTP_GROUP_URLS = _file(
    "http.group.urls", Words(), "",
    "Addresses of the services of the group. Without http.group.secret a standby passes requests with their logins on "
    "to these alone, over https.",
)  # fmt: skip
HTTP_GROUP_CA = _file(
    "http.group.ca", Text(), None,
    "PEM file with the authorities of the other services of the group, for a standby that passes requests on over "
    "https. Absent: the system's, and the service's own certificate.",
)  # fmt: skip
HTTP_INSECURE = _file(
    "http.tls.insecure", Flag(), "false",
    "Accept logins beyond this machine without TLS, and an issuer with an http address: for networks that encrypt by "
    "themselves.",
)  # fmt: skip
OVERRIDE_POLICY = _file(
    "connector.client.config.override.policy", OneOf(("All", "Principal", "Allowlist", "None")), "All",
    "Which client settings a connector made over HTTP may have beside addresses: all, the login (security.protocol, "
    "sasl.mechanism, sasl.jaas.config), those listed, or none.",
)  # fmt: skip
OVERRIDE_ALLOWLIST = _file(
    "connector.client.config.override.allowlist", Words(), "", "The client settings that the policy Allowlist allows."
)
CONNECTOR_HOSTS = _file(
    "connector.allowed.hosts", Words(), "",
    "Hosts that connectors made over HTTP may name: brokers, databases, any address; `*.example.com` stands for every "
    "host below. Empty: any, except link-local addresses.",
)  # fmt: skip
CONNECTOR_PATHS = _file(
    "connector.allowed.paths", Words(), "",
    "Folders of all files that connectors made over HTTP may name, key stores included. Empty: none. `twinlog connect` "
    "allows any, as Kafka Connect does, unless its file sets this.",
)  # fmt: skip
CONNECTOR_KERBEROS = _file(
    "connector.kerberos.enabled", Flag(), "false", "Connectors made over HTTP may log in with Krb5LoginModule."
)
TOKEN_URLS = _file(
    "sasl.oauthbearer.allowed.urls", Words(), "",
    "Token endpoints that connectors made over HTTP may name, each in full. Empty: none. An address without TLS beyond "
    "this machine must be listed here for links of the file, too.",
)  # fmt: skip

NOTIFICATIONS: Final[Key[tuple[str, ...]]] = Key(
    "notifications", (Scope.FILE,), Words(), "", "Names of the hooks that are called about events of links.", own=True
)
NOTIFICATION_KEYS: Final[Key[str]] = Key(
    "notifications.*", (Scope.FILE,), Text(), None,
    "Of each hook: notifications.NAME.type (webhook, slack, pagerduty), .url, .routing.key (PagerDuty), .kinds (state, "
    "fault, engine, source, switch, operation; absent: all), .level (warning or bad), .group.seconds (default 10): "
    "events within this time are one message.",
    secret=True, own=True,
)  # fmt: skip
RESIDENCY: Final[Key[tuple[str, ...]]] = Key(
    "residency", (Scope.FILE,), Words(), "", "Names of rules for topics that must not leave some clusters.", own=True
)
RESIDENCY_KEYS: Final[Key[str]] = Key(
    "residency.*", (Scope.FILE,), Text(), None,
    "Of each rule: residency.NAME.topics (regular expressions) and residency.NAME.clusters (where these topics may "
    "exist). Links into other clusters leave them out; a link that asks for one by its name is refused. With "
    "residency.NAME.masked (fields of JSON values) they copy the topics and mask these fields.",
    own=True,
)  # fmt: skip
ROLE_KEYS: Final[Key[str]] = Key(
    "role.*", (Scope.FILE,), Text(), None,
    "Roles of people and programs. role.NAME.may: viewer, operator or admin; the roles of these three names may what "
    "they say. role.NAME.links: Java regular expressions for the links (`east->.*`) that the role sees and operates; "
    "absent: all of them.",
    own=True,
)  # fmt: skip

SERVICE_KEYS: tuple[Key[Any], ...] = (
    GROUP_ID, STORE_REPLICAS, STORE_KEYS, HTTP_ADVERTISED, HTTP_USERS, HTTP_CERTIFICATE, HTTP_KEY, HTTP_CLIENT_CA,
    HTTP_ISSUER, HTTP_JWKS, HTTP_AUDIENCE, HTTP_ROLES_CLAIM, HTTP_CLIENT_ID, HTTP_CLIENT_SECRET,
    HTTP_REDIRECT, HTTP_SCOPES, HTTP_SESSION, HTTP_AUDIT, HTTP_AUDIT_REQUIRED,
    HTTP_PROXIES, ROLE_KEYS, HTTP_HEALTH, GRAFANA_URL, HTTP_CONNECTIONS, HTTP_STREAMS,
    HTTP_MAX_BYTES, HTTP_TIMEOUT, HTTP_HOSTS,
    OTEL_ENDPOINT, OTEL_INTERVAL, HTTP_GROUP_SECRET, HTTP_GROUP_URLS, HTTP_GROUP_CA,
    HTTP_INSECURE,
    OVERRIDE_POLICY, OVERRIDE_ALLOWLIST, CONNECTOR_HOSTS, CONNECTOR_PATHS, CONNECTOR_KERBEROS, TOKEN_URLS,
    NOTIFICATIONS, NOTIFICATION_KEYS, RESIDENCY, RESIDENCY_KEYS,
)  # fmt: skip
