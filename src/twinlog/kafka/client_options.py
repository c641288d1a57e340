"""What the user wrote about a cluster, in librdkafka's words. Pure; runs wherever an ordinary client is built."""

from __future__ import annotations

from typing import TypeAlias

from twinlog.config.settings import ClientSettings, Security

OptionValue: TypeAlias = str | int | bool

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
    options.update(_security_options(settings.security))
    return options


def _security_options(security: Security) -> dict[str, OptionValue]:
    options: dict[str, OptionValue] = {"security.protocol": security.protocol}
    if security.authenticated:
        if security.sasl_mechanism is not None:
            options["sasl.mechanism"] = security.sasl_mechanism
        if security.username is not None:
            options["sasl.username"] = security.username
        if security.password is not None:
            options["sasl.password"] = security.password.reveal()
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
