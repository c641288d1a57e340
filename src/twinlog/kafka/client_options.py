"""What the user wrote about a cluster, in librdkafka's words. Runs wherever an ordinary client is built.

Pure, but for a Kerberos key tab: the Kerberos library finds it by a variable of the process and in no other way.
"""

from __future__ import annotations

from typing import TypeAlias

from twinlog.config.security.kerberos_identity import claim_identity
from twinlog.config.settings import ClientCredentials, ClientSettings, Kerberos, Security

OptionValue: TypeAlias = str | int | bool

NO_KINIT: dict[str, OptionValue] = {
    # librdkafka would run kinit through a shell, with the principal as part of the command line. It is never run: the
    # Kerberos library takes a key tab by itself, and tickets of the user's own cache need nothing to be run. An empty
    # command would be the default one: no time between two runs is what switches it off.
    "sasl.kerberos.min.time.before.relogin": 0,
    "sasl.kerberos.kinit.cmd": "true",
}
# librdkafka takes socket.timeout.ms from 10 ms to 5 minutes and refuses to start outside of that.
_SOCKET_TIMEOUT_MS = (10, 300_000)
# A broker that drops packets silently must not eat the whole request timeout with one connection attempt.
_CONNECT_TIMEOUT_MS = 10_000


def client_options(settings: ClientSettings) -> dict[str, OptionValue]:
    """Build what every librdkafka client of ours starts from. It holds revealed secrets: never print it."""
    low, high = _SOCKET_TIMEOUT_MS
    timeout_ms = min(max(settings.request_timeout_ms, low), high)
    options: dict[str, OptionValue] = {
        "bootstrap.servers": ",".join(settings.bootstrap_servers),
        "client.id": settings.client_id or "twinlog",
        "socket.timeout.ms": timeout_ms,
        # librdkafka's floor for this one is a second.
        "socket.connection.setup.timeout.ms": max(min(timeout_ms, _CONNECT_TIMEOUT_MS), 1_000),
        "socket.keepalive.enable": True,
        # The default goes up to ten seconds, which a cluster that came back should not have to wait for (R9).
        "reconnect.backoff.ms": 250,
        "reconnect.backoff.max.ms": 2_000,
        # librdkafka prints to stderr otherwise; what went wrong reaches us through the error callback.
        "log_level": 0,
    }
    options.update(_security_options(settings.cluster, settings.security))
    return options


def _security_options(cluster: str, security: Security) -> dict[str, OptionValue]:
    options: dict[str, OptionValue] = {"security.protocol": security.protocol}
    if security.authenticated:
        if security.sasl_mechanism is not None:
            options["sasl.mechanism"] = security.sasl_mechanism
        if security.username is not None:
            options["sasl.username"] = security.username
        if security.password is not None:
            options["sasl.password"] = security.password.reveal()
        if security.tokens is not None:
            options.update(_token_options(security.tokens, security.ca_pem))
        if security.kerberos is not None:
            options.update(_kerberos_options(cluster, security.kerberos))
    if security.encrypted:
        options["ssl.endpoint.identification.algorithm"] = "https" if security.verify_hostname else "none"
        if security.ca_pem is not None:
            options["ssl.ca.pem"] = security.ca_pem
        if security.client_chain_pem is not None:
            options["ssl.certificate.pem"] = security.client_chain_pem
        if security.client_key_pem is not None:
            options["ssl.key.pem"] = security.client_key_pem.reveal()
        if security.client_key_password is not None:
            options["ssl.key.password"] = security.client_key_password.reveal()
    return options


def _token_options(tokens: ClientCredentials, ca_pem: str | None) -> dict[str, OptionValue]:
    """Let librdkafka get and renew its tokens itself."""
    options: dict[str, OptionValue] = {
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.token.endpoint.url": tokens.token_url,
        "sasl.oauthbearer.client.id": tokens.client_id,
        "sasl.oauthbearer.client.secret": tokens.client_secret.reveal(),
    }
    if tokens.scope:
        options["sasl.oauthbearer.scope"] = tokens.scope
    if tokens.extensions:
        options["sasl.oauthbearer.extensions"] = ",".join(f"{name}={value}" for name, value in tokens.extensions)
    if ca_pem is not None and tokens.token_url.startswith("https:"):
        options["https.ca.pem"] = ca_pem
    return options


def _kerberos_options(cluster: str, kerberos: Kerberos) -> dict[str, OptionValue]:
    options: dict[str, OptionValue] = {"sasl.kerberos.service.name": kerberos.service}
    if kerberos.principal is not None:
        options["sasl.kerberos.principal"] = kerberos.principal
    options.update(NO_KINIT)
    claim_identity(cluster, kerberos)
    return options
