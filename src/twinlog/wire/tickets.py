"""Kerberos tickets for GSSAPI. Runs wherever a connection is made; needs the package `gssapi`, which may be missing."""

from __future__ import annotations

import importlib
import importlib.util
import struct
from collections.abc import Generator
from typing import Any, Final

from aiokafka.conn import SaslGSSAPIAuthenticator

from twinlog.config.security.kerberos_identity import credentials
from twinlog.config.settings import Kerberos
from twinlog.errors import LoginUnavailable

_NO_LAYER: Final = 1
"""The handshake alone is protected; what follows is TLS' business."""


def kerberos_options(cluster: str, kerberos: Kerberos) -> dict[str, str]:
    """Return aiokafka's options. Raises LoginUnavailable where the library is missing."""
    if importlib.util.find_spec("gssapi") is None:
        raise LoginUnavailable(cluster, "GSSAPI needs the Python package gssapi, which is not installed")
    return {"sasl_kerberos_service_name": kerberos.service}


class TicketAuthenticator(SaslGSSAPIAuthenticator):  # type: ignore[misc]
    """aiokafka's handshake, as the principal that the settings name and not as the first one of the key tab."""

    def __init__(self, *, loop: Any, principal: str, kerberos: Kerberos) -> None:
        self._kerberos = kerberos
        super().__init__(loop=loop, principal=principal)

    def authenticator_gssapi(self) -> Generator[tuple[bytes, bool], bytes, None]:
        """The steps of the handshake: what to send, and whether an answer is awaited. Runs in a worker thread."""
        gssapi = importlib.import_module("gssapi")
        service = gssapi.Name(self._principal, name_type=gssapi.NameType.hostbased_service)
        context = gssapi.SecurityContext(
            name=service.canonicalize(gssapi.MechType.kerberos), usage="initiate", creds=credentials(self._kerberos)
        )
        answer = None
        while not context.complete:
            answer = yield context.step(answer) or b"", True
        offered = context.unwrap(answer).message
        chosen = struct.pack("b", _NO_LAYER & offered[0]) + offered[1:]
        yield context.wrap(chosen + self._principal.encode(), False).message, False


def ticket_trouble() -> tuple[type[Exception], ...]:
    """Return what the Kerberos library raises: no ticket, no server of that name, a clock that is wrong."""
    if importlib.util.find_spec("gssapi") is None:
        return ()
    return (importlib.import_module("gssapi.exceptions").GSSError,)
