"""The settings of one cluster as an application has them: a plain mapping in Java's or in librdkafka's words.

Java's words are read as in a file (see clients.py). Those of librdkafka that say the same in another way are put into
Java's first. What a mirror client has no use for (group.id, auto.offset.reset) is passed over. Runs in applications.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from twinlog.config.clients import resolve_client
from twinlog.config.settings import ClientSettings
from twinlog.config.text import catalogue as keys
from twinlog.config.text.lookup import LinkLookup, Lookup
from twinlog.config.text.precedence import Client, Role
from twinlog.config.text.properties import Entry
from twinlog.errors import Finding, SettingsInvalid
from twinlog.model.names import LinkName
from twinlog.model.naming import ReplicationNaming

_FILE = "properties"
_LOGIN_MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}


class ClusterProperties:
    """One cluster's properties, read as a link into it would read them. Raises SettingsInvalid."""

    def __init__(self, properties: Mapping[str, object], alias: str) -> None:
        """Nothing is connected; `alias` names the cluster in messages."""
        self.alias = alias
        words = _as_java({name: _text(value) for name, value in properties.items()}, alias)
        entries = {}
        for name, value in words.items():
            client, _, rest = name.partition(".")
            spellings = (
                [f"{alias}.{name}"]
                if rest and client in {kind.value for kind in Client}
                else [name, *(f"{alias}.{kind.value}.{name}" for kind in Client)]
            )
            # A name without a client is the weaker one.
            for spelling in spellings:
                if spelling not in entries or len(spellings) == 1:
                    entries[spelling] = Entry(spelling, 0, value, value)
        self._lookup = Lookup(_FILE, entries)
        self._at = LinkLookup(self._lookup, LinkName("client", alias), runs=False)

    def client(self, kind: Client) -> ClientSettings:
        """How one kind of client reaches the cluster."""
        settings = resolve_client(self._at, Role(f"target {kind.value}", kind, at_source=False))
        self._complain()
        return settings

    def naming(self) -> ReplicationNaming:
        """The replication policy that the links into this cluster use."""
        renames = self._at.entry(keys.RENAME_FORMAT) is not None
        naming = ReplicationNaming(
            policy="identity" if renames or self._at.value(keys.POLICY_CLASS) == "identity" else "default",
            separator=self._at.value(keys.SEPARATOR),
            source_alias=self.text("source.cluster.alias"),
            separator_in_internal_topics=self._at.value(keys.SEPARATOR_INTERNAL),
            rename_format=self._at.value(keys.RENAME_FORMAT),
        )
        self._complain()
        return naming

    def text(self, name: str) -> str | None:
        """The text of a property that no client knows."""
        entry = self._lookup.find((name,))
        return None if entry is None else entry.value

    def _complain(self) -> None:
        errors = [finding for finding in self._lookup.findings if finding.level == "error"]
        if errors:
            listed = "\n  ".join(f"{error.key}: {error.sentence}" for error in errors)
            raise SettingsInvalid(f"{self.alias}: the properties are wrong:\n  {listed}", tuple(errors))


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _as_java(words: dict[str, str], alias: str) -> dict[str, str]:
    """Put librdkafka's words into Java's, where the two differ."""
    java = dict(words)
    if (mechanism := java.pop("sasl.mechanisms", None)) is not None:
        java.setdefault("sasl.mechanism", mechanism)
    username, password = java.pop("sasl.username", None), java.pop("sasl.password", None)
    module = _LOGIN_MODULES.get(java.get("sasl.mechanism", ""))
    if username is not None and password is not None and module is not None:
        login = f"{module} required username={_quoted(username)} password={_quoted(password)};"
        java.setdefault("sasl.jaas.config", login)
    if "security.protocol" in java:
        java["security.protocol"] = java["security.protocol"].upper()
    if java.get("ssl.endpoint.identification.algorithm") == "none":
        java["ssl.endpoint.identification.algorithm"] = ""
    _put_pem(java, "ssl.ca", "ssl.truststore.certificates", "ssl.truststore.type", alias)
    _put_pem(java, "ssl.certificate", "ssl.keystore.certificate.chain", "ssl.keystore.type", alias)
    _put_pem(java, "ssl.key", "ssl.keystore.key", "ssl.keystore.type", alias)
    return java


def _put_pem(java: dict[str, str], name: str, becomes: str, kind: str, alias: str) -> None:
    location, text = java.pop(f"{name}.location", None), java.pop(f"{name}.pem", None)
    if text is None and location is not None:
        try:
            text = Path(location).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            finding = Finding("error", _FILE, None, f"{name}.location", f"{location} cannot be read ({error})")
            raise SettingsInvalid(f"{alias}: {finding.key}: {finding.sentence}", (finding,)) from None
    if text is not None:
        java[becomes], java[kind] = text, "PEM"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
