"""Signatures of the switch log, made with `switch.secret`. Pure.

    entry ─▶ {..., "signature": HMAC-SHA256 over all the rest, the pair of clusters included}

With the secret only signed entries count: whoever else may write to the topic on either cluster can neither hold a link
nor have a side shut. Old entries cannot be brought back: a decision of a lower generation counts for nothing.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import Any, Final

from twinlog.config.security.secrets import Secret

_PURPOSE: Final = b"twinlog switch log"


def signed(value: bytes, secret: Secret | None) -> bytes:
    """An entry as it is written."""
    if secret is None:
        return value
    entry = json.loads(value)
    return json.dumps({**entry, "signature": _signature(entry, secret)}, separators=(",", ":")).encode()


def is_signed(value: bytes | None) -> bool:
    """Whether somebody signed an entry, with whatever secret."""
    return bool(_parsed(value).get("signature"))


def is_signed_with(value: bytes | None, secret: Secret) -> bool:
    """Whether an entry was signed with this secret."""
    entry = _parsed(value)
    shown = str(entry.pop("signature", ""))
    return hmac.compare_digest(shown.encode(errors="replace"), _signature(entry, secret).encode())


def _signature(entry: dict[str, Any], secret: Secret) -> str:
    key = hmac.digest(secret.reveal().encode(), _PURPOSE, "sha256")
    return hmac.new(key, json.dumps(entry, sort_keys=True).encode(), hashlib.sha256).hexdigest()


def _parsed(value: bytes | None) -> dict[str, Any]:
    try:
        document = json.loads(value or b"")
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}
