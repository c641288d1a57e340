"""HTTP for hooks: one request, one answer, within a time. Blocking; runs in worker threads."""

from __future__ import annotations

import logging
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from typing import Final

from twinlog.errors import RedirectFailed
from twinlog.wire.web import opened

log = logging.getLogger("twinlog.redirect")

_SHOWN: Final = 200
_LONGEST: Final = 1 << 20


def exchange(
    hook: str, method: str, url: str, body: bytes | None, *, headers: Mapping[str, str], timeout_s: float
) -> bytes:
    """Return the body of a good answer. Raises RedirectFailed, which shows nothing of ours but the host (R12)."""
    if not url.startswith(("http://", "https://")):
        raise RedirectFailed(hook, "only http and https are spoken")
    where = host_of(url)
    request = urllib.request.Request(url, data=body, method=method, headers=dict(headers))  # noqa: S310  checked above
    try:
        with opened(request, timeout_s=timeout_s) as answer:
            found: bytes = answer.read(_LONGEST)
            return found
    except urllib.error.HTTPError as error:
        said = error.read(_SHOWN).decode(errors="replace").strip()
        log.warning("hook %s: %s to %s: it answered %d %s: %s", hook, method, where, error.code, error.reason, said)
        told = f"it answered {error.code} {error.reason}; the log has what it said"
        raise RedirectFailed(hook, f"{method} to {where}: {told}") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        raise RedirectFailed(hook, f"{method} to {where}: {reason}") from None


def host_of(url: str) -> str:
    """What of an address may be shown."""
    return urllib.parse.urlsplit(url).netloc.rpartition("@")[2]
