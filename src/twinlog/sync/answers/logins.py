"""Logins that this machine cannot use, reported before anything is started. Runs in `twinlog validate`.

Kerberos needs two libraries that no wheel brings. Nothing is sent: the clients themselves are asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from twinlog.config.settings import ClientSettings, LinkSettings
from twinlog.errors import Finding, KerberosTaken, LoginUnavailable
from twinlog.kafka.logins import see_provider
from twinlog.wire.tickets import kerberos_options


def login_findings(links: Iterable[LinkSettings], file: str) -> list[Finding]:
    """One warning for each cluster that cannot be entered from here, with the way out. Elsewhere it may be possible."""
    findings: dict[str, Finding] = {}
    for link in links:
        for client in (
            link.clients.source_admin,
            link.clients.source_consumer,
            link.clients.target_admin,
            link.clients.target_producer,
        ):
            missing = _missing(client)
            if missing:
                key = f"{client.cluster}.sasl.mechanism"
                problems = "; ".join(login.problem for login in missing)
                sentence = f"a link could not be started here: {problems}. {missing[0].remedy_text()}"
                findings.setdefault(client.cluster, Finding("warning", file, None, key, sentence))
    return list(findings.values())


def _missing(client: ClientSettings) -> list[LoginUnavailable | KerberosTaken]:
    kerberos = client.security.kerberos
    if kerberos is None:
        return []
    asked: list[Callable[[], object]] = [
        lambda: see_provider(client),
        lambda: kerberos_options(client.cluster, kerberos),
    ]
    missing: list[LoginUnavailable | KerberosTaken] = []
    for ask in asked:
        try:
            ask()
        except (LoginUnavailable, KerberosTaken) as lacking:
            missing.append(lacking)
    return missing
