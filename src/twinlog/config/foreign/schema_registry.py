"""Confluent's `schema-registry.properties`, read as it is. Runs once, before the registry starts.

Keys that have no effect, unknown keys and wrong values are findings, as for a file of links. Keys of Twinlog's service
(`http.users.file`, `role.*` …) may stand in the file too; `role.NAME.subjects` says which subjects a role may write.
"""

from __future__ import annotations

import difflib
import os
import re
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from twinlog.config.clients import resolve_client
from twinlog.config.foreign import schema_registry_keys as keys
from twinlog.config.registry_settings import ListenerSettings, ListenerTls, RegistrySettings
from twinlog.config.resolve import read_file
from twinlog.config.security.stores import identity_from_file, trust_from_file
from twinlog.config.service_settings import HttpSettings, resolve_service
from twinlog.config.text.catalogue import CATALOGUE
from twinlog.config.text.keys import Key, Scope
from twinlog.config.text.lookup import LinkLookup, Lookup
from twinlog.config.text.precedence import TARGET_ADMIN
from twinlog.config.text.properties import Entry, parse_properties
from twinlog.config.text.provided import NOTHING_PROVIDED, Provided
from twinlog.config.text.providers import expand, references_of_file
from twinlog.config.text.values import ValueRefusedError
from twinlog.errors import Finding, SettingsInvalid
from twinlog.model.names import LinkName

_STORE: Final = "kafkastore"
_TOPIC_CONFIG: Final = "kafkastore.topic.config."
_ADMIN: Final = f"{_STORE}.{TARGET_ADMIN.client.value}."
_OF_CLIENTS: Final = frozenset(key.name for key in CATALOGUE if Scope.ADMIN in key.scopes)
_ANY_ADDRESS: Final = "0.0.0.0"  # noqa: S104  what a listener without a host means
_PROTOCOL_PREFIX: Final = re.compile(r"\b[A-Z_]+://")
_NAMED_LISTENER: Final = re.compile(r"([A-Za-z][A-Za-z0-9_-]*)://(.*)")


def load_registry_file(path: Path) -> tuple[RegistrySettings, tuple[Finding, ...]]:
    """Read a file. Raises SettingsInvalid."""
    return resolve_registry(read_file(path), str(path), os.environ)


def resolve_registry(
    data: bytes, file: str, environment: Mapping[str, str]
) -> tuple[RegistrySettings, tuple[Finding, ...]]:
    """Read the text of a file; returns the settings and the remarks. Raises SettingsInvalid."""
    entries, findings = parse_properties(data, file)
    expanded, unresolved, _, provided = expand(entries, file, references_of_file(entries, file, environment))
    return resolve_entries(expanded, file, (*findings, *unresolved), provided)


def resolve_entries(
    entries: Mapping[str, Entry],
    file: str,
    before: tuple[Finding, ...] = (),
    provided: Provided = NOTHING_PROVIDED,
) -> tuple[RegistrySettings, tuple[Finding, ...]]:
    """Read keys whose values are filled in already; returns the settings and the remarks. Raises SettingsInvalid."""
    lookup = Lookup(file, _adapted(entries))
    settings = _Reader(lookup).settings()
    told = [*before, *lookup.findings, *_review(lookup)]
    everything = tuple(sorted(provided.findings(told), key=lambda finding: finding.line or 0))
    errors = [str(finding) for finding in everything if finding.level == "error"]
    if errors:
        title = f"{file}: {len(errors)} setting{'s are' if len(errors) > 1 else ' is'} wrong"
        raise SettingsInvalid("\n  ".join([title, *errors]), everything)
    if settings is None:
        raise AssertionError("settings without errors are complete")
    return settings, everything


def _adapted(entries: Mapping[str, Entry]) -> dict[str, Entry]:
    """Confluent writes brokers with a protocol in front, and subjects of roles are links to the rest of the service."""
    adapted = dict(entries)
    servers = adapted.get(f"{_STORE}.bootstrap.servers")
    if servers is not None:
        plain = _PROTOCOL_PREFIX.sub("", servers.value)
        adapted[servers.key] = Entry(servers.key, servers.line, plain, servers.written if servers.provided else plain)
        named = {prefix[:-3] for prefix in _PROTOCOL_PREFIX.findall(servers.value)}
        if len(named) == 1 and f"{_STORE}.security.protocol" not in adapted and named != {"PLAINTEXT"}:
            key, (value,) = f"{_STORE}.security.protocol", named
            adapted[key] = Entry(key, servers.line, value, value)
    for key, entry in entries.items():
        name = key.removeprefix(f"{_STORE}.")
        if name != key and name in _OF_CLIENTS:
            adapted.setdefault(f"{_ADMIN}{name}", Entry(f"{_ADMIN}{name}", entry.line, entry.value, entry.written))
        if key.startswith("role.") and key.endswith(".subjects"):
            other = f"{key.removesuffix('.subjects')}.links"
            del adapted[key]
            adapted[other] = Entry(other, entry.line, entry.value, entry.written)
    return adapted


class _Reader:
    """Reads the keys; what is wrong is noted in the lookup."""

    def __init__(self, lookup: Lookup) -> None:
        self.lookup = lookup

    def settings(self) -> RegistrySettings | None:
        kafka = resolve_client(LinkLookup(self.lookup, LinkName("", _STORE), runs=False), TARGET_ADMIN)
        listeners = self._listeners()
        http = resolve_service(self.lookup).http
        self._check_login(http)
        tls, trust = self._tls(listeners)
        encrypts = self._encrypts()
        mine = self._mine(listeners, str(self.value(keys.PROTOCOL)))
        configs = {
            k.removeprefix(_TOPIC_CONFIG): e.value
            for k, e in self.lookup.entries.items()
            if k.startswith(_TOPIC_CONFIG)
        }
        self.lookup.asked.update(k for k in self.lookup.entries if k.startswith(_TOPIC_CONFIG))
        # Every key is read, also where a listener is wrong: a key that was not read would be reported as unknown.
        values: dict[str, Any] = {
            "kafka": kafka,
            "listeners": tuple(listeners),
            "host_name": self.value(keys.HOST_NAME) or socket.getfqdn(),
            "host_port": self.value(keys.HOST_PORT) or (mine.port if mine else None),
            "protocol": mine.scheme if mine else "",
            "topic": self.value(keys.TOPIC),
            "replication_factor": self.value(keys.REPLICAS),
            "topic_configs": tuple(sorted(configs.items())),
            "skip_topic_checks": self.value(keys.SKIP_CHECKS),
            "group_id": self.value(keys.GROUP_ID),
            "eligible": self.value(keys.ELIGIBLE),
            "session_timeout_ms": self.value(keys.SESSION),
            "timeout_ms": self.value(keys.TIMEOUT),
            "snapshot_file": Path(snapshot) if (snapshot := self.value(keys.SNAPSHOT)) else None,
            "subject_prefixes": tuple(filter(None, map(str.strip, str(self.value(keys.SUBJECT_PREFIXES)).split(",")))),
            "level": self.value(keys.LEVEL),
            "mode_mutable": self.value(keys.MODE_MUTABILITY),
            "validate_fields": self.value(keys.VALIDATE_FIELDS),
            "validate_names": self.value(keys.VALIDATE_NAMES),
            "cache_size": self.value(keys.CACHE_SIZE),
            "most_listed": self.value(keys.MOST_LISTED),
            "leader_connect_timeout_ms": self.value(keys.CONNECT_TIMEOUT),
            "leader_read_timeout_ms": self.value(keys.READ_TIMEOUT),
            "forwarded_headers": tuple(
                name.strip().lower() for name in str(self.value(keys.FORWARDED_HEADERS)).split(",") if name.strip()
            ),
            "incompatible_code": int(self.value(keys.INCOMPATIBLE_CODE)),
            "tls": tls,
            "peers_trust_pem": trust,
            "http": http,
            "encrypts": encrypts,
        }
        return None if mine is None else RegistrySettings(**values)

    def _encrypts(self) -> bool:
        """Confluent's own example sets the secret: it does not refuse the start, but what it would encrypt."""
        if self.value(keys.ENCODER_SECRET) is None:
            return False
        told = "sensitive metadata is not encrypted here: schemas that have it are refused"
        self.lookup.note("warning", self.lookup.find((keys.ENCODER_SECRET.name,)), told)
        return True

    def value(self, key: Key[Any]) -> Any:
        # The older name wins where both are set, as in Confluent's server.
        return self.lookup.read(key, self.lookup.find((*key.old_names, key.name)))

    def _listeners(self) -> list[ListenerSettings]:
        entry = self.lookup.find((keys.LISTENERS.name,))
        text = str(self.value(keys.LISTENERS))
        listeners: list[ListenerSettings] = []
        for part in filter(None, (piece.strip() for piece in text.split(","))):
            named = _NAMED_LISTENER.fullmatch(part)
            name, rest = (named[1], named[2]) if named else ("http", part)
            scheme = name.lower() if name.lower() in {"http", "https"} else self._mapped(name)
            try:
                where = urlsplit(f"//{rest}")
                host, port = where.hostname or _ANY_ADDRESS, where.port or 8081
                listeners.append(ListenerSettings(scheme=scheme, host=host, port=port, name=name))
            except ValueError as wrong:
                self.lookup.note("error", entry, f"{part} is no address ({wrong}); write http://HOST:PORT", "listeners")
        return listeners

    def _mapped(self, name: str) -> str:
        """The protocol of a listener with a name of its own (`listener.protocol.map`)."""
        entry = self.lookup.find(("listener.protocol.map",))
        pairs = dict(pair.strip().split(":", 1) for pair in (entry.value if entry else "").split(",") if ":" in pair)
        return pairs.get(name, "http").strip().lower()

    def _mine(self, listeners: list[ListenerSettings], protocol: str) -> ListenerSettings | None:
        """The listener that other instances reach."""
        wanted = self.value(keys.LISTENER_NAME)
        for listener in listeners:
            if listener.name.lower() == str(wanted).lower() if wanted else listener.scheme == protocol:
                return listener
        if listeners:
            missing = f"no listener is called {wanted}" if wanted else f"no listener speaks {protocol}"
            entry = self.lookup.find((keys.LISTENER_NAME.name if wanted else keys.PROTOCOL.name,))
            name = entry.key if entry else keys.LISTENERS.name
            self.lookup.note("error", entry, f"{missing}: instances could not reach each other", name)
        return None

    def _tls(self, listeners: list[ListenerSettings]) -> tuple[ListenerTls | None, str | None]:
        """The certificate of https listeners, and the authorities that are believed."""
        trust = self._store(
            keys.TRUST_LOCATION,
            lambda path: trust_from_file(path, self.value(keys.TRUST_TYPE), self.value(keys.TRUST_PASSWORD)),
        )
        if not any(listener.scheme == "https" for listener in listeners):
            return None, trust
        if self.value(keys.SSL_LOCATION) is None:
            self.lookup.note(
                "error", None, "missing; a listener with https needs a certificate", keys.SSL_LOCATION.name
            )
            return None, trust
        identity = self._store(
            keys.SSL_LOCATION,
            lambda path: identity_from_file(
                path, self.value(keys.SSL_TYPE), self.value(keys.SSL_PASSWORD), self.value(keys.SSL_KEY_PASSWORD)
            ),
        )
        if identity is None:
            return None, trust
        demanded = self.value(keys.CLIENT_AUTH) or ("REQUIRED" if self.value(keys.OLD_CLIENT_AUTH) else "NONE")
        tls = ListenerTls(
            chain_pem=identity.chain_pem,
            key_pem=identity.key_pem,
            key_password=identity.key_password,
            trust_pem=trust,
            client_certificates=demanded,
        )
        return tls, trust

    def _store(self, key: Key[Any], open_it: Any) -> Any:
        location = self.value(key)
        if location is None:
            return None
        try:
            return open_it(Path(location))
        except ValueRefusedError as refused:
            self.lookup.note("error", self.lookup.find((key.name,)), str(refused))
            return None

    def _check_login(self, http: HttpSettings) -> None:
        """A file that demands a login must not start a registry without one."""
        if self.value(keys.AUTHENTICATION) != "NONE" and not http.asks_who:
            entry = self.lookup.find((keys.AUTHENTICATION.name,))
            told = "users of a JAAS file cannot be read here; name those who may log in with http.users.file"
            self.lookup.note("error", entry, f"{told} (see `twinlog user add`), or with http.oidc.issuer")


def _review(lookup: Lookup) -> list[Finding]:
    """What becomes of keys that nobody asked for."""
    findings: list[Finding] = []
    known = [key.name for key in vars(keys).values() if isinstance(key, Key)]
    clients = [key.name for key in CATALOGUE if key.shared]
    for name, entry in lookup.entries.items():
        base = name.removeprefix(f"{_STORE}.")
        if name in lookup.asked or name.startswith((_ADMIN, "role.", "http.", "config.providers")):
            continue
        if base != name and f"{_ADMIN}{base}" in lookup.asked:
            continue
        if name in keys.REFUSED:
            findings.append(Finding("error", lookup.file, entry.line, name, keys.REFUSED[name]))
            continue
        reason = keys.MEANINGLESS.get(name) or next(
            (why for family, why in keys.MEANINGLESS_FAMILIES if name.startswith(family)), None
        )
        if reason is None and name.startswith(f"{_STORE}.") and name.removeprefix(f"{_STORE}.") in clients:
            reason = "the client of the registry has no use for it"
        if reason is not None:
            findings.append(Finding("info", lookup.file, entry.line, name, f"no effect: {reason}"))
            continue
        near = difflib.get_close_matches(name, [*known, *keys.MEANINGLESS], n=1, cutoff=0.75)
        hint = f"; did you mean {near[0]}?" if near else ""
        findings.append(Finding("warning", lookup.file, entry.line, name, f"unknown and ignored{hint}"))
    return findings
