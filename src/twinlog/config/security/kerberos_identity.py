"""As whom a process logs in with Kerberos. Runs wherever a client is made.

    wire/   (aiokafka)    names its credentials with every connection: any number of identities in one process
    kafka/  (librdkafka)  takes the default credentials of the process: one identity, and a second one is refused

The default credentials are those of the key tab (KRB5_CLIENT_KTNAME). A key tab may hold several principals, and the
Kerberos library takes the first. So where the settings name a principal, a ticket cache of our own is begun for it.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import tempfile
import threading
from pathlib import Path
from typing import Any, Final

from twinlog.config.settings import Kerberos
from twinlog.errors import KerberosTaken

_KEYTAB: Final = "KRB5_CLIENT_KTNAME"
_CACHE: Final = "KRB5CCNAME"
_claiming: Final = threading.Lock()
_claimed: dict[str, Kerberos] = {}


def credentials(kerberos: Kerberos, cache: str | None = None) -> Any:
    """The credentials of an identity (gssapi.Credentials); None for the default ones of the process.

    Tickets are kept in the memory of the process, apart for each identity, unless `cache` names a place.
    """
    if kerberos.keytab is None and kerberos.principal is None:
        return None
    gssapi = importlib.import_module("gssapi")
    name = None
    if kerberos.principal is not None:
        name = gssapi.Name(kerberos.principal, gssapi.NameType.kerberos_principal)
    if kerberos.keytab is None:
        return gssapi.Credentials(name=name, usage="initiate")
    mark = hashlib.sha256(f"{kerberos.keytab}\n{kerberos.principal}".encode()).hexdigest()[:16]
    store = {"client_keytab": kerberos.keytab, "ccache": cache or f"MEMORY:twinlog-{mark}"}
    return gssapi.Credentials(name=name, usage="initiate", store=store)


def claim_identity(cluster: str, kerberos: Kerberos) -> None:
    """Let this process log in so by default from now on. Raises KerberosTaken when it logs in otherwise already."""
    with _claiming:
        first = _claimed.setdefault("", kerberos)
        if (first.keytab, first.principal) != (kerberos.keytab, kerberos.principal):
            problem = (
                f"Kerberos {identity_name(kerberos)} cannot be used: this process logs in as {identity_name(first)}"
            )
            raise KerberosTaken(cluster, problem)
        if kerberos.keytab is None or os.environ.get(_KEYTAB) == kerberos.keytab:
            return
        os.environ[_KEYTAB] = kerberos.keytab
        if kerberos.principal is not None and importlib.util.find_spec("gssapi") is not None:
            cache = f"FILE:{Path(tempfile.mkdtemp(prefix='twinlog-tickets-')) / 'cache'}"
            credentials(kerberos, cache)
            os.environ[_CACHE] = cache


def identity_name(kerberos: Kerberos) -> str:
    """As whom one logs in: the principal, and where its key is."""
    if kerberos.keytab is None:
        return kerberos.principal or "the owner of the ticket cache"
    return f"{kerberos.principal} of {kerberos.keytab}"
