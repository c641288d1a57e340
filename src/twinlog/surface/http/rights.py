"""Which role a request needs, and which link it is about: decided by method and route, not by how a path ends. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from twinlog.control.audit import Role

READING: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_VIEWER: Final = ("POST /ui/schemas/check",)
"""Ask, and change nothing; their question is too long for a path."""
_OPERATOR: Final = (
    "PUT /connectors/{}/pause",
    "PUT /connectors/{}/resume",
    "PUT /connectors/{}/stop",
    "POST /connectors/{}/restart",
    "POST /connectors/{}/tasks/{}/restart",
    "PUT /connector-plugins/{}/config/validate",
    "PATCH /v1/links/{}/control",
    "POST /v1/pipelines/{}/parked/replay",
    "POST /v1/pipelines/{}/parked/drop",
    "POST /v1/pipelines/{}/preview",
    "POST /v1/links/{}/verifications",
    "POST /v1/links/{}/examinations",
    "POST /v1/links/{}/conflicts",
    "POST /v1/links/{}/drills",
    "POST /v1/links/{}/switches",
    "POST /v1/links/{}/switches/plan",
    "POST /v1/links/{}/switches/resume",
    "POST /v1/links/{}/switches/abort",
)
_SENSITIVE: Final = ("GET /v1/links/{}/records",)
"""Reads what producers wrote, not only how links stand."""
_ADMIN: Final = (
    "POST /connectors",
    "DELETE /connectors/{}",
    "PUT /connectors/{}/config",
    "PATCH /connectors/{}/config",
    "PUT /connectors/{}/topics/reset",
    "PATCH /connectors/{}/offsets",
    "DELETE /connectors/{}/offsets",
    "PUT /admin/loggers/{}",
)
_ANYWHERE: Final = frozenset({"POST /connectors", "PUT /connector-plugins/{}/config/validate"})
"""Name no link in their path. Of the first the router looks at the link that is to be made."""


def _compiled(route: str) -> re.Pattern[str]:
    return re.compile(re.escape(route).replace(r"\{\}", "[^/]+"))


_ROUTES: Final = tuple(
    (_compiled(route), role, route)
    for role, routes in (("viewer", _VIEWER), ("operator", _OPERATOR), ("admin", _ADMIN))
    for route in routes
)
_DATA: Final = tuple(map(_compiled, _SENSITIVE))
_LINK: Final = re.compile(r"/(?:v1|ui)/links/([^/]+)(?:/.*)?", re.DOTALL)
_CONNECTOR: Final = re.compile(r"/(?:connectors|(?:v1|ui)/pipelines)/([^/]+)(?:/.*)?", re.DOTALL)


@dataclass(frozen=True)
class Right:
    """What a request needs. Without link and connector it concerns the whole service, or (`anywhere`) any link."""

    role: Role
    link: str | None = None
    connector: str | None = None
    anywhere: bool = False
    listed: bool = False


def right_of(method: str, path: str) -> Right:
    """What somebody must be allowed to do; what is not listed is for admins."""
    # As Connect does, routers take `/connectors/` for `/connectors`.
    plain = path.rstrip("/") or "/"
    link, connector = _LINK.fullmatch(plain), _CONNECTOR.fullmatch(plain)
    about = link.group(1) if link else None, connector.group(1) if connector else None
    if method in READING:
        if any(pattern.fullmatch(f"GET {plain}") for pattern in _DATA):
            return Right("operator", *about, listed=True)
        return Right("viewer", *about, anywhere=True)
    for pattern, role, route in _ROUTES:
        if pattern.fullmatch(f"{method} {plain}"):
            return Right(role, *about, anywhere=route in _ANYWHERE, listed=True)  # type: ignore[arg-type]
    return Right("admin", *about)
