"""HTTP for hooks: one request, one answer, within a time. Blocking; runs in worker threads."""

from __future__ import annotations

import logging
import ssl
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from typing import Final

from twinlog.config.security.addresses import is_listed
from twinlog.config.switch_settings import Redirect
from twinlog.errors import RedirectFailed
from twinlog.wire.web import opened

log = logging.getLogger("twinlog.redirect")

_SHOWN: Final = 200
_LONGEST: Final = 1 << 20


def exchange(
    redirect: Redirect,
    method: str,
    url: str,
    body: bytes | None,
    *,
    headers: Mapping[str, str],
    timeout_s: float | None = None,
) -> bytes:
    """Return the body of a good answer. Raises RedirectFailed, which shows nothing of ours but the host (R12)."""
    hook, where = redirect.name, host_of(url)
    if not url.startswith(("http://", "https://")):
        raise RedirectFailed(hook, "only http and https are spoken")
    # Again, because names of the switch were filled in: none of them may lead to another host.
    if redirect.allowed_urls and not is_listed(url, redirect.allowed_urls):
        raise RedirectFailed(hook, f"{method} to {where}: it is not listed in switch.allowed.urls")
    request = urllib.request.Request(url, data=body, method=method, headers=dict(headers))  # noqa: S310  checked above
    try:
        context = _trust(redirect) if url.startswith("https:") else None
        with opened(request, timeout_s=timeout_s or redirect.timeout_seconds, context=context) as answer:
            answered: bytes = answer.read(_LONGEST)
            return answered
    except urllib.error.HTTPError as error:
        said = error.read(_SHOWN).decode(errors="replace").strip()
        log.warning("hook %s: %s to %s: it answered %d %s: %s", hook, method, where, error.code, error.reason, said)
        told = f"it answered {error.code} {error.reason}; the log has what it said"
        raise RedirectFailed(hook, f"{method} to {where}: {told}") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        raise RedirectFailed(hook, f"{method} to {where}: {reason}") from None


def _trust(hook: Redirect) -> ssl.SSLContext:
    """The system's authorities and the hook's own, and what we show to a server that asks who we are."""
    context = ssl.create_default_context()
    if hook.ca is not None:
        context.load_verify_locations(hook.ca)
    if hook.certificate is not None:
        context.load_cert_chain(hook.certificate, hook.private_key)
    return context


def host_of(url: str) -> str:
    """What of an address may be shown."""
    return urllib.parse.urlsplit(url).netloc.rpartition("@")[2]
