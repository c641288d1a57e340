"""The hook `etcd`: one key, through the JSON gateway of etcd's version 3 API; read back afterwards."""

from __future__ import annotations

import base64
import json
from typing import Any

from twinlog.config.switch_settings import Redirect
from twinlog.errors import RedirectFailed
from twinlog.model.switch.redirects import Direction
from twinlog.recovery.redirect.http import exchange


def call(hook: Redirect, direction: Direction) -> str:
    """Put the value, then see that it is there. Blocking."""
    value = direction.value(hook.value, hook.values)
    key = direction.fill(hook.key or "")
    headers = {"Content-Type": "application/json"}
    if hook.user is not None and hook.password is not None:
        login = _ask(hook, "auth/authenticate", {"name": hook.user, "password": hook.password.reveal()}, headers)
        headers["Authorization"] = str(login["token"])
    _ask(hook, "kv/put", {"key": _encode(key), "value": _encode(value)}, headers)
    # The gateway reads linearizably unless told otherwise: what it returns is what every client gets from now on.
    entries = _ask(hook, "kv/range", {"key": _encode(key)}, headers).get("kvs", [])
    there = base64.b64decode(entries[0].get("value", "")).decode(errors="replace") if entries else None
    if there != value:
        raise RedirectFailed(hook.name, f"{key} does not hold what was written to it")
    return f"{key} holds the new value"


def _ask(hook: Redirect, what: str, body: dict[str, str], headers: dict[str, str]) -> dict[str, Any]:
    url = f"{(hook.url.reveal() if hook.url else '').rstrip('/')}/v3/{what}"
    answer = exchange(hook, "POST", url, json.dumps(body).encode(), headers=headers)
    document: dict[str, Any] = json.loads(answer or b"{}")
    return document


def _encode(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
