"""Kerberos tickets for GSSAPI. Runs wherever a connection is made; needs the package `gssapi`, which may be missing."""

from __future__ import annotations

import importlib
import importlib.util

from twinlog.config.security.kerberos_identity import claim_identity
from twinlog.config.settings import Kerberos
from twinlog.errors import LoginUnavailable


def kerberos_options(cluster: str, kerberos: Kerberos) -> dict[str, str]:
    """Return aiokafka's options. Raises LoginUnavailable where the library is missing."""
    if importlib.util.find_spec("gssapi") is None:
        raise LoginUnavailable(cluster, "GSSAPI needs the Python package gssapi, which is not installed")
    claim_identity(cluster, kerberos)
    return {"sasl_kerberos_service_name": kerberos.service}


def ticket_trouble() -> tuple[type[Exception], ...]:
    """Return what the Kerberos library raises: no ticket, no server of that name, a clock that is wrong."""
    if importlib.util.find_spec("gssapi") is None:
        return ()
    return (importlib.import_module("gssapi.exceptions").GSSError,)
