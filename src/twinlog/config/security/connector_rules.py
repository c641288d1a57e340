"""What a connector made over HTTP may say: the service's own file sets the limits. Symbolic links are followed.

Whoever may make connectors has no shell on the service's machine, and gets none through a connector: no files, no
variables, no commands, no addresses beyond what the operator of the service allows. Records of the links topic that
somebody planted are held to the same rules, because they are read the same way.
"""

from __future__ import annotations

import ipaddress
import os.path
import re
import socket
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final, Literal, TypeAlias, cast

from pydantic import BaseModel, ConfigDict

from twinlog.config.security.jaas import module_of
from twinlog.config.security.places import Leads, leads_to_hosts, leads_to_path
from twinlog.config.text import service_keys as keys
from twinlog.config.text.catalogue import CATALOGUE
from twinlog.config.text.keys import Key, Scope
from twinlog.config.text.lookup import Lookup
from twinlog.config.text.properties import Entry
from twinlog.config.text.providers import NAMES, ProviderRule, provider_rules
from twinlog.config.text.values import FilePath, Servers, T_co, ValueRefusedError
from twinlog.errors import Finding

OverridePolicy: TypeAlias = Literal["None", "Principal", "All", "Allowlist"]
_OF_THE_FILE: Final = (
    "clusters", "redirects", "redirects.", "switch.", "config.providers", "config.providers.", "http.", "store.",
    "otel.", "group.id", "role.", "connector.client.config.", "connector.allowed.", "connector.kerberos.",
    "sasl.oauthbearer.allowed.",
)  # fmt: skip
_CLIENTS: Final = re.compile(
    r"(?:source\.cluster|target\.cluster|(?:source\.|target\.)?(?:consumer|producer|admin)(?:\.override)?|"
    r"src\.kafka|dest\.kafka|src\.consumer)\."
)
_PRINCIPAL: Final = frozenset({"security.protocol", "sasl.mechanism", "sasl.jaas.config"})
_OF_CONNECTORS: Final = frozenset({"store.url", "http.api.url", "http.url", "http.read.timeout.ms"})
"""Connectors' keys that only begin like the service's own."""
_ADDRESS: Final = "bootstrap.servers"
_OF_CLIENTS: Final[Mapping[str, Leads]] = MappingProxyType({
    key.name: leads_to_path if isinstance(key.kind, FilePath) else leads_to_hosts
    for key in CATALOGUE
    if isinstance(key.kind, (FilePath, Servers)) and Scope.SHARED in key.scopes
})  # fmt: skip
"""Keys of Kafka's clients, whatever they begin with."""
_TOKEN_URL: Final = "sasl.oauthbearer.token.endpoint.url"  # noqa: S105  a key's name


class ConnectorRules(BaseModel):
    """The limits that the service's file sets."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)

    providers: tuple[ProviderRule, ...] = ()
    override_policy: OverridePolicy = "All"
    override_allowlist: tuple[str, ...] = ()
    allowed_hosts: tuple[str, ...] = ()
    token_urls: tuple[str, ...] = ()
    kerberos: bool = False
    # None: any. Folders in which connectors of files may read and write.
    allowed_paths: tuple[str, ...] | None = ()


def resolve_rules(lookup: Lookup) -> ConnectorRules:
    """Read the limits; what is wrong is noted in the lookup."""

    def value(key: Key[T_co]) -> T_co:
        value = lookup.read(key, lookup.find((key.name,)))
        if value is None:
            msg = f"{key.name} has no default in the catalogue"
            raise LookupError(msg)
        return value

    rules = provider_rules(lookup.entries)
    for rule in rules:
        if rule.allowed_names is not None:
            _check_pattern(rule, lookup)
    return ConnectorRules(
        providers=tuple(rule for rule in rules if rule.allowed_names is None or _compiles(rule.allowed_names)),
        override_policy=cast("OverridePolicy", value(keys.OVERRIDE_POLICY)),
        override_allowlist=value(keys.OVERRIDE_ALLOWLIST),
        allowed_hosts=tuple(host.lower() for host in value(keys.CONNECTOR_HOSTS)),
        token_urls=value(keys.TOKEN_URLS),
        kerberos=value(keys.CONNECTOR_KERBEROS),
        allowed_paths=value(keys.CONNECTOR_PATHS),
    )


def _compiles(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except re.error:
        return False
    return True


def _check_pattern(rule: ProviderRule, lookup: Lookup) -> None:
    entry = lookup.find((f"config.providers.{rule.name}.param.allowlist.pattern",))
    if not _compiles(rule.allowed_names or ""):
        lookup.note("error", entry, "is not valid: allowed is a regular expression")


def broken_rules(
    entries: Mapping[str, Entry], file: str, rules: ConnectorRules, leads: Mapping[str, Leads] = MappingProxyType({})
) -> list[Finding]:
    """Find what a connector says that it may not; values are filled in already, so that no reference hides one.

    `leads` has the keys of the connector's class that lead to hosts or files; those of Kafka's clients are known here.
    """
    return [
        Finding("error", file, entry.line, entry.key, sentence)
        for entry in entries.values()
        for sentence in _complaints(entry, rules, leads.get(entry.key) or _of_client(entry.key))
    ]


def _of_client(key: str) -> Leads | None:
    return next((leads for name, leads in _OF_CLIENTS.items() if key == name or key.endswith(f".{name}")), None)


def _complaints(entry: Entry, rules: ConnectorRules, leads: Leads | None) -> Iterator[str]:
    key = entry.key
    if key not in _OF_CONNECTORS and any(key == w or (w.endswith(".") and key.startswith(w)) for w in _OF_THE_FILE):
        yield "not in a connector: only the service's settings file says this"
        return
    matched = None if key in NAMES else _CLIENTS.match(key)
    name = key[matched.end() :] if matched else key
    if matched and not _may_override(name, rules):
        yield f"not allowed by {keys.OVERRIDE_POLICY.name} = {rules.override_policy} of the service's settings file"
    if leads is not None and entry.value.strip():
        yield from _of_places(entry.value, leads, rules)
    if name == _TOKEN_URL and entry.value.strip() not in rules.token_urls:
        yield f"not listed in {keys.TOKEN_URLS.name} of the service's settings file"
    elif name == "sasl.jaas.config" and not rules.kerberos and _asks_for_kerberos(entry.value):
        yield f"Krb5LoginModule needs {keys.CONNECTOR_KERBEROS.name} = true in the service's settings file"


def _of_places(value: str, leads: Leads, rules: ConnectorRules) -> Iterator[str]:
    try:
        places = leads(value)
    except ValueError as error:
        yield str(error)
        return
    yield from dict.fromkeys(_of_hosts(places.hosts, rules))
    if not all(_is_allowed(path, rules) for path in places.paths):
        yield f"not in a folder that {keys.CONNECTOR_PATHS.name} of the service's settings file lists"


def _is_allowed(file: str, rules: ConnectorRules) -> bool:
    if rules.allowed_paths is None:
        return True
    # Links are followed first: one inside of an allowed folder may lead out of it.
    path, folders = os.path.realpath(file), map(os.path.realpath, rules.allowed_paths)
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)


def _may_override(name: str, rules: ConnectorRules) -> bool:
    match rules.override_policy:
        case "All":
            return True
        case "Principal":
            return name == _ADDRESS or name in _PRINCIPAL
        case "Allowlist":
            return name == _ADDRESS or name in rules.override_allowlist
        case "None":
            return name == _ADDRESS


def _asks_for_kerberos(jaas: str) -> bool:
    try:
        return module_of(jaas) == "Krb5LoginModule"
    except ValueRefusedError:
        return "Krb5LoginModule" in jaas


def _of_hosts(hosts: Iterable[str], rules: ConnectorRules) -> Iterator[str]:
    for host in hosts:
        if is_link_local(host):
            yield "link-local addresses are not allowed: they lead to the metadata of the machine"
        elif rules.allowed_hosts and not any(_fits(host, allowed) for allowed in rules.allowed_hosts):
            yield f"not listed in {keys.CONNECTOR_HOSTS.name} of the service's settings file"


def _fits(host: str, allowed: str) -> bool:
    return host.endswith(allowed[1:]) if allowed.startswith("*.") else host == allowed


def is_link_local(host: str) -> bool:
    """Tell whether an address is one that only the machine's own link knows, such as a cloud's metadata service."""
    plain = host.partition("%")[0].rstrip(".")
    try:
        address = ipaddress.ip_address(plain)
    except ValueError:
        try:  # the machine also takes 2852039166, 0xa9fea9fe and 169.254.43518
            address = ipaddress.IPv4Address(socket.inet_aton(plain))
        except (OSError, ValueError):
            return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_link_local
