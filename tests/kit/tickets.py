"""Settings of clients that log in with Kerberos, as an operator writes them for MirrorMaker 2."""

from __future__ import annotations

from pathlib import Path

from twinlog.config.resolve import resolve
from twinlog.config.settings import ClientSettings

REALM = "TWINLOG.TEST"


def login(realm: str | Path, principal: str) -> list[str]:
    """The lines of a settings file."""
    module = "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true"
    return [
        "security.protocol = SASL_PLAINTEXT",
        "sasl.mechanism = GSSAPI",
        "sasl.kerberos.service.name = kafka",
        f'sasl.jaas.config = {module} keyTab="{realm}/people.keytab" principal="{principal}@{REALM}";',
    ]


def settings_of(servers: str, realm: str | Path, principal: str) -> ClientSettings:
    """What they mean for one client."""
    text = ["clusters = A, B", "A->B.enabled = true", f"bootstrap.servers = {servers}", *login(realm, principal)]
    (link,) = resolve("\n".join(text).encode(), "links.properties", (), {}).links
    return link.clients.source_consumer
