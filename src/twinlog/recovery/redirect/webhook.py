"""The hook `webhook`: a request to a gateway or a deployment system. With `verify.url` the outcome is read back."""

from __future__ import annotations

import json
import time
from typing import Final

from twinlog.config.switch_settings import Redirect
from twinlog.errors import RedirectFailed
from twinlog.model.switch.redirects import Direction
from twinlog.recovery.redirect.http import exchange, host_of

_AGAIN_S: Final = 0.5


def call(hook: Redirect, direction: Direction) -> str:
    """Send it, and wait until the verification holds. Blocking."""
    deadline = time.monotonic() + hook.timeout_seconds
    body = direction.fill(hook.body.reveal()) if hook.body is not None else json.dumps(direction.words())
    headers = {"Content-Type": "application/json", **{name: value.reveal() for name, value in hook.headers.items()}}
    url = direction.fill(hook.url.reveal() if hook.url else "")
    payload = None if hook.method == "GET" else body.encode()
    exchange(hook, hook.method, url, payload, headers=headers)
    if hook.verify_url is None:
        return f"{hook.method} to {host_of(url)} was answered well"
    wanted = direction.fill(hook.verify_contains)
    check = direction.fill(hook.verify_url.reveal())
    while True:
        said = exchange(hook, "GET", check, None, headers=headers, timeout_s=max(1.0, deadline - time.monotonic()))
        if wanted in said.decode(errors="replace"):
            return f"{host_of(check)} says {wanted}"
        if time.monotonic() > deadline:
            raise RedirectFailed(hook.name, f"{host_of(check)} does not say {wanted} within {hook.timeout_seconds} s")
        time.sleep(_AGAIN_S)
