"""One Kerberos identity per process. Runs wherever a client is made.

Both client libraries take the key tab from the environment of the process. A second link with another key tab, or
another principal of the same one, would log in as the first without saying so: it is refused instead.
"""

from __future__ import annotations

import os
import threading
from typing import Final

from twinlog.config.settings import Kerberos
from twinlog.errors import KerberosTaken

_KEYTAB: Final = "KRB5_CLIENT_KTNAME"
_claiming: Final = threading.Lock()
_claimed: dict[str, str | None] = {}


def claim_identity(cluster: str, kerberos: Kerberos) -> None:
    """Let this process log in so from now on. Raises KerberosTaken when it logs in otherwise already."""
    if kerberos.keytab is None:
        return
    with _claiming:
        keytab = os.environ.setdefault(_KEYTAB, kerberos.keytab)
        principal = _claimed.setdefault(keytab, kerberos.principal)
    if keytab != kerberos.keytab or principal != kerberos.principal:
        wanted, used = f"{kerberos.principal} of {kerberos.keytab}", f"{principal} of {keytab}"
        raise KerberosTaken(cluster, f"Kerberos {wanted} cannot be used, because this process logs in as {used}")
