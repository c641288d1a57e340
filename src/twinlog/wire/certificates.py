"""When certificates end: those that brokers show, and our own. Runs in the doctor, and in looks at a link.

A broker's certificate is looked at without trusting it, so that one that has ended can be told from one that has not;
nothing but the handshake is sent.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import ssl
from contextlib import suppress

from cryptography import x509

from twinlog.config.settings import ClientSettings
from twinlog.model.health.inspection import CertificateFacts


async def fetch_certificates(settings: ClientSettings) -> tuple[CertificateFacts, ...]:
    """The certificates that the bootstrap servers of a TLS cluster show; raises when none of them answers."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    certificate_looks: list[CertificateFacts] = []
    trouble: OSError | None = None
    for server in settings.bootstrap_servers:
        host, _, port = server.rpartition(":")
        try:
            async with asyncio.timeout(settings.request_timeout_ms / 1000):
                _, writer = await asyncio.open_connection(host.strip("[]"), int(port), ssl=context)
        except OSError as error:
            trouble = error
            continue
        shown = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        writer.close()
        with suppress(OSError, ssl.SSLError):
            await writer.wait_closed()
        certificate_looks.append(_look(server, x509.load_der_x509_certificate(shown)))
    if not certificate_looks and trouble is not None:
        raise trouble
    return tuple(certificate_looks)


def own_certificates(settings: ClientSettings) -> tuple[CertificateFacts, ...]:
    """The certificates with which a client of ours shows who it is; none when it does not."""
    chain = settings.security.client_chain_pem
    if not settings.security.encrypted or not chain:
        return ()
    return tuple(
        _look(settings.cluster, certificate) for certificate in x509.load_pem_x509_certificates(chain.encode())
    )


def own_expired(settings: ClientSettings, now_ms: int) -> str | None:
    """What to tell of a certificate of ours that has ended; brokers only say that they do not take it."""
    ended = [look for look in own_certificates(settings) if look.ends_ms <= now_ms]
    if not ended:
        return None
    first = min(ended, key=lambda look: look.ends_ms)
    at = dt.datetime.fromtimestamp(first.ends_ms / 1000, dt.UTC).isoformat(" ", "minutes")
    return f"the certificate {first.subject} of this client expired at {at}"


def _look(where: str, certificate: x509.Certificate) -> CertificateFacts:
    ends = certificate.not_valid_after_utc.timestamp()
    return CertificateFacts(where, certificate.subject.rfc4514_string(), int(ends * 1000))
