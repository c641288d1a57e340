"""Certificates that are renewed while the service runs. Called by the server every two seconds, in its loop.

New connections get the new certificate; those that are open keep theirs. A file that is wrong, or does not fit its key
yet, changes nothing and is told in the log. Authorities of clients are added, not taken away: that needs a restart.
"""

from __future__ import annotations

import logging
import ssl
from pathlib import Path
from typing import TypeAlias

from twinlog.config.service_settings import HttpSettings

log = logging.getLogger("twinlog.rest")

_Stamp: TypeAlias = tuple[int, int, int] | None


class CertificateWatch:
    """The files of one server."""

    def __init__(self, settings: HttpSettings) -> None:
        self._certificate, self._key, self._authority = settings.certificate, settings.key, settings.client_ca
        self._seen = self._stamps()

    def look(self, context: ssl.SSLContext) -> None:
        """Load certificates that changed."""
        now = self._stamps()
        if now == self._seen or self._certificate is None:
            return
        self._seen = now
        try:
            # Tried on a context of its own first: a certificate without its key would break the one in use.
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(self._certificate, self._key)
            context.load_cert_chain(self._certificate, self._key)
            if self._authority is not None:
                context.load_verify_locations(self._authority)
        except (OSError, ssl.SSLError) as error:
            log.error("%s: the changed certificate is not taken: %s", self._certificate, error)  # noqa: TRY400
        else:
            log.warning("%s: the changed certificate is in use", self._certificate)

    def _stamps(self) -> tuple[_Stamp, ...]:
        return tuple(map(_stamp, (self._certificate, self._key, self._authority)))


def _stamp(file: Path | None) -> _Stamp:
    try:
        status = None if file is None else file.stat()
    except OSError:
        return None
    return None if status is None else (status.st_mtime_ns, status.st_size, status.st_ino)
