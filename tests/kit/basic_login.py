"""Headers of a login with name and password."""

from __future__ import annotations

import base64


def basic(name: str) -> dict[str, str]:
    return {"authorization": "Basic " + base64.b64encode(f"{name}:{name}-password".encode()).decode()}
