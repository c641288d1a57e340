"""Kerberos tickets for GSSAPI. Runs wherever a connection is made; needs the package `gssapi`, which may be missing."""

from __future__ import annotations

import importlib.util
import os

from twinlog.config.settings import Kerberos
from twinlog.errors import LoginUnavailable


def kerberos_options(cluster: str, kerberos: Kerberos) -> dict[str, str]:
    """Return aiokafka's options. Raises LoginUnavailable where the library is missing."""
    if importlib.util.find_spec("gssapi") is None:
        raise LoginUnavailable(cluster, "GSSAPI needs the Python package gssapi, which is not installed")
    if kerberos.keytab is not None:
        # The Kerberos library takes the client's key tab from here and from nowhere else.
        os.environ.setdefault("KRB5_CLIENT_KTNAME", kerberos.keytab)
    return {"sasl_kerberos_service_name": kerberos.service}
