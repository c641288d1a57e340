"""The hook `consul`: one key of Consul's KV store; read back afterwards, consistently.

Written after Consul's documented HTTP API: PUT and GET /v1/kv/<key>, `true` as the answer of a good write, values in
base64, an ACL token in X-Consul-Token.
"""

from __future__ import annotations

import base64
import json
import urllib.parse

from twinlog.config.switch_settings import Redirect
from twinlog.errors import RedirectFailed
from twinlog.model.switch.redirects import Direction
from twinlog.recovery.redirect.http import exchange


def call(hook: Redirect, direction: Direction) -> str:
    """Put the value, then see that it is there. Blocking."""
    value = direction.value(hook.value, hook.values)
    key = direction.fill(hook.key or "").lstrip("/")
    headers = {"X-Consul-Token": hook.token.reveal()} if hook.token is not None else {}
    url = f"{(hook.url.reveal() if hook.url else '').rstrip('/')}/v1/kv/{urllib.parse.quote(key)}"
    said = exchange(hook, "PUT", url, value.encode(), headers=headers)
    if said.strip() != b"true":
        raise RedirectFailed(hook.name, f"{key}: the write was not taken")
    document = json.loads(exchange(hook, "GET", f"{url}?consistent", None, headers=headers))
    there = base64.b64decode(document[0]["Value"] or "").decode(errors="replace") if document else None
    if there != value:
        raise RedirectFailed(hook.name, f"{key} does not hold what was written to it")
    return f"{key} holds the new value"
