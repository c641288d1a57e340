"""The clients of a link: addresses, login and certificates, complete. Runs once, while a file is resolved."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, assert_never, cast

from twinlog.config.security.addresses import is_clear_text
from twinlog.config.security.jaas import read_login, read_options
from twinlog.config.security.secrets import Secret
from twinlog.config.security.stores import (
    Identity,
    identity_from_file,
    identity_from_pem,
    trust_from_file,
    trust_from_pem,
)
from twinlog.config.settings import ClientCredentials, ClientSettings, Kerberos, Mechanism, Protocol, Security
from twinlog.config.text import catalogue as keys
from twinlog.config.text.keys import Key
from twinlog.config.text.lookup import LinkLookup
from twinlog.config.text.precedence import Role
from twinlog.config.text.service_keys import TOKEN_URLS
from twinlog.config.text.values import ValueRefusedError

T = TypeVar("T")
_EXTENSION = "extension_"
# Libraries hand these on to programs; what a shell would read as an order is not part of any name.
_SERVICE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_PRINCIPAL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(?:/[A-Za-z0-9._-]+)?(?:@[A-Za-z0-9._-]+)?")
_KEY_TAB = re.compile(r"(?:FILE:)?/[A-Za-z0-9._/@+-]+")
_MEANT = {
    "sasl.kerberos.service.name": "allowed are letters, digits, `.`, `_` and `-`",
    "principal": "allowed is name, name/host or name/host@REALM of letters, digits, `.`, `_` and `-`",
    "keyTab": "allowed is an absolute path of letters, digits and `._/@+-`",
}


def resolve_client(lookup: LinkLookup, role: Role) -> ClientSettings:
    """Build the settings of one client; what is wrong is noted in the lookup."""
    cluster = role.cluster(lookup.link)
    servers = lookup.optional(keys.BOOTSTRAP_SERVERS, role)
    if lookup.entry(keys.BOOTSTRAP_SERVERS, role) is None:
        missing = f"{cluster}.{keys.BOOTSTRAP_SERVERS.name}"
        lookup.lookup.note("error", None, f"missing; {lookup.link} needs it", missing)
    return ClientSettings(
        cluster=cluster,
        bootstrap_servers=servers or (),
        security=_Credentials(lookup, role).security(),
        client_id=lookup.optional(keys.CLIENT_ID, role),
        request_timeout_ms=lookup.value(keys.REQUEST_TIMEOUT_MS, role),
    )


class _Credentials:
    """The security settings of one client."""

    def __init__(self, lookup: LinkLookup, role: Role) -> None:
        self.lookup = lookup
        self.role = role

    def security(self) -> Security:
        protocol = cast("Protocol", self.lookup.value(keys.SECURITY_PROTOCOL, self.role))
        security = Security(protocol=protocol)
        if security.authenticated:
            security = security.model_copy(update=self._login(protocol))
        # Java does not open stores that the protocol does not need, so a stale path in the file must not hurt.
        if security.encrypted:
            security = security.model_copy(update=self._tls())
        self._warn(security)
        return security

    def _warn(self, security: Security) -> None:
        """Say what others on the network could read or pretend; it is the operator's choice."""
        if security.authenticated and not security.encrypted:
            what = "the password" if security.sasl_mechanism == "PLAIN" else "every record, and what is logged in with,"
            entry = self.lookup.entry(keys.SECURITY_PROTOCOL, self.role)
            self.lookup.lookup.note("warning", entry, f"{what} travels in clear text; SASL_SSL encrypts it")
        if security.encrypted and not security.verify_hostname:
            entry = self.lookup.entry(keys.SSL_ENDPOINT, self.role)
            self.lookup.lookup.note(
                "warning", entry, "any certificate of the authority passes for every broker; use https"
            )
        if security.tokens is not None and is_clear_text(security.tokens.token_url):
            self._note_open_secret(security.tokens.token_url)

    def _note_open_secret(self, url: str) -> None:
        """The client's secret is in every request for a token: that needs TLS, or the word of the service's file."""
        lookup, entry = self.lookup.lookup, self.lookup.entry(keys.SASL_TOKEN_URL, self.role)
        listed = lookup.token_urls
        if listed is None:
            listed = lookup.read(TOKEN_URLS, lookup.find((TOKEN_URLS.name,))) or ()
        if url in listed:
            lookup.note("warning", entry, "the client's secret travels in clear text; use https")
        else:
            told = "the client's secret would travel in clear text; use https, or list this address in "
            lookup.note("error", entry, f"{told}{TOKEN_URLS.name}")

    def _login(self, protocol: Protocol) -> dict[str, Any]:
        mechanism = cast("Mechanism | None", self._get(keys.SASL_MECHANISM))
        text = self._get(keys.SASL_JAAS_CONFIG)
        if mechanism is None:
            self._missing(keys.SASL_MECHANISM, f"security.protocol = {protocol}")
            return {}
        match mechanism:
            case "OAUTHBEARER":
                login: dict[str, Any] = {"tokens": self._tokens(self._options(text, mechanism))}
            case "GSSAPI":
                login = {"kerberos": self._kerberos(self._options(text, mechanism))}
            case "PLAIN" | "SCRAM-SHA-256" | "SCRAM-SHA-512":
                login = self._password(text, mechanism)
            case _ as never:
                assert_never(never)
        return {"sasl_mechanism": mechanism, **login}

    def _password(self, text: str | None, mechanism: str) -> dict[str, Any]:
        if text is None:
            self._missing(keys.SASL_JAAS_CONFIG, f"sasl.mechanism = {mechanism}")
            return {}
        login = self._try(keys.SASL_JAAS_CONFIG, lambda: read_login(text, mechanism))
        return {} if login is None else {"username": login.username, "password": login.password}

    def _options(self, text: str | None, mechanism: str) -> dict[str, str]:
        """Return the options of the login module; what it holds may stand in keys of their own, so it may be absent."""
        if text is None:
            return {}
        return self._try(keys.SASL_JAAS_CONFIG, lambda: read_options(text, mechanism)) or {}

    def _tokens(self, options: dict[str, str]) -> ClientCredentials | None:
        url = self._get(keys.SASL_TOKEN_URL)
        client_id = self._get(keys.SASL_TOKEN_CLIENT_ID) or options.get("clientId")
        secret = self._get(keys.SASL_TOKEN_CLIENT_SECRET) or options.get("clientSecret")
        wanted = {keys.SASL_TOKEN_URL: url, keys.SASL_TOKEN_CLIENT_ID: client_id, keys.SASL_TOKEN_CLIENT_SECRET: secret}
        for key, value in wanted.items():
            if value is None and self.lookup.entry(key, self.role) is None:
                self._missing(key, "sasl.mechanism = OAUTHBEARER")
        if url is None or client_id is None or secret is None:
            return None
        extensions = {
            name.removeprefix(_EXTENSION): value for name, value in options.items() if name.startswith(_EXTENSION)
        }
        return ClientCredentials(
            token_url=url,
            client_id=client_id,
            client_secret=Secret(secret),
            scope=self._get(keys.SASL_TOKEN_SCOPE) or options.get("scope"),
            extensions=tuple(extensions.items()),
        )

    def _kerberos(self, options: dict[str, str]) -> Kerberos | None:
        service = self._get(keys.SASL_KERBEROS_SERVICE) or options.get("serviceName")
        if service is None:
            self._missing(keys.SASL_KERBEROS_SERVICE, "sasl.mechanism = GSSAPI")
            return None
        keytab = options.get("keyTab") if options.get("useKeyTab", "false").lower() == "true" else None
        for name, text, allowed in (
            ("sasl.kerberos.service.name", service, _SERVICE),
            ("principal", options.get("principal"), _PRINCIPAL),
            ("keyTab", keytab, _KEY_TAB),
        ):
            if text is not None and not allowed.fullmatch(text):
                entry = self.lookup.entry(keys.SASL_JAAS_CONFIG, self.role)
                self.lookup.lookup.note("error", entry, f"{name} is not valid: {_MEANT[name]}")
                return None
        return Kerberos(service=service, principal=options.get("principal"), keytab=keytab)

    def _missing(self, key: Key[str], because: str) -> None:
        name = f"{self.role.cluster(self.lookup.link)}.{key.name}"
        if self.lookup.entry(key, self.role) is None:
            self.lookup.lookup.note("error", None, f"missing; {because} needs it", name)

    def _tls(self) -> dict[str, Any]:
        update: dict[str, Any] = {
            "verify_hostname": self.lookup.value(keys.SSL_ENDPOINT, self.role) == "https",
            "ca_pem": self._trust(),
        }
        identity = self._identity()
        if identity is not None:
            update["client_chain_pem"] = identity.chain_pem
            update["client_key_pem"] = identity.key_pem
            update["client_key_password"] = identity.key_password
        return update

    def _trust(self) -> str | None:
        kind = self.lookup.value(keys.SSL_TRUSTSTORE_TYPE, self.role)
        password = self._get(keys.SSL_TRUSTSTORE_PASSWORD)
        inline = self._get(keys.SSL_TRUSTSTORE_CERTIFICATES)
        location = self._get(keys.SSL_TRUSTSTORE_LOCATION)
        if inline is not None:
            self._must_be_pem(keys.SSL_TRUSTSTORE_CERTIFICATES, keys.SSL_TRUSTSTORE_TYPE, kind)
            return self._try(keys.SSL_TRUSTSTORE_CERTIFICATES, lambda: trust_from_pem(inline))
        if location and self.lookup.lookup.opens_files:
            path = self._file(location)
            return self._try(keys.SSL_TRUSTSTORE_LOCATION, lambda: trust_from_file(path, kind, password))
        return None

    def _identity(self) -> Identity | None:
        kind = self.lookup.value(keys.SSL_KEYSTORE_TYPE, self.role)
        password = self._get(keys.SSL_KEYSTORE_PASSWORD)
        key_password = self._get(keys.SSL_KEY_PASSWORD)
        inline_key = self._get(keys.SSL_KEYSTORE_KEY)
        inline_chain = self._get(keys.SSL_KEYSTORE_CHAIN)
        location = self._get(keys.SSL_KEYSTORE_LOCATION)
        if inline_key is not None:
            self._must_be_pem(keys.SSL_KEYSTORE_KEY, keys.SSL_KEYSTORE_TYPE, kind)
            chain = inline_chain or ""
            return self._try(keys.SSL_KEYSTORE_KEY, lambda: identity_from_pem(chain, inline_key, key_password))
        if location and self.lookup.lookup.opens_files:
            path = self._file(location)
            return self._try(keys.SSL_KEYSTORE_LOCATION, lambda: identity_from_file(path, kind, password, key_password))
        return None

    def _file(self, location: str) -> Path:
        path = Path(location)
        self.lookup.lookup.files.add(path)
        return path

    def _must_be_pem(self, key: Key[str], type_key: Key[str], kind: str) -> None:
        if kind != "PEM":
            entry = self.lookup.entry(key, self.role)
            self.lookup.lookup.note("error", entry, f"PEM text needs {type_key.name} = PEM (it is {kind})")

    def _get(self, key: Key[T]) -> T | None:
        return self.lookup.optional(key, self.role)

    def _try(self, key: Key[str], read: Callable[[], T]) -> T | None:
        """Read what the key names or holds; the refusals of jaas and stores are free of secrets."""
        try:
            return read()
        except ValueRefusedError as refusal:
            entry = self.lookup.entry(key, self.role)
            if entry is None or key.secret or entry.provided or key.name.endswith((".certificates", ".chain")):
                self.lookup.lookup.note("error", entry, str(refusal), key.name)
            else:
                self.lookup.lookup.note("error", entry, f"{entry.value}: {refusal}")
            return None
