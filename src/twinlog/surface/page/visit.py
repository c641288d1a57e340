"""What every page shares: the templates, the policy that pages are sent with, who looks. Runs in the service's loop."""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any, Final

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, Response
from fastapi.routing import APIRoute
from jinja2 import Environment, PackageLoader, StrictUndefined

from twinlog.control.audit import NOBODY, Who
from twinlog.errors import TwinlogError
from twinlog.surface.http.app_state import AppState, app_state_of
from twinlog.surface.http.local_login import WAY_IN
from twinlog.surface.page.words import FILTERS, zone

_TEMPLATES: Final = Environment(
    loader=PackageLoader("twinlog.surface.page"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_TEMPLATES.filters.update(FILTERS)
SAFETY: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


@dataclass(frozen=True)
class Visit:
    """One request for a page. `leader` is None where the links run here."""

    app_state: AppState
    who: Who
    leader: str | None = None

    def page(self, name: str, status: int = 200, **values: Any) -> HTMLResponse:
        """Render a template for this visitor."""
        known = {
            "who": self.who,
            "leader": self.leader,
            "csrf": self.who.proof if self.who.by == "session" else "",
            "may_act": self._may_act(values.get("link")),
            "way_in": WAY_IN if self.who.name == NOBODY.name else "",
            "zone": zone(),
            "offset_minutes": time.localtime().tm_gmtoff // 60,
        }
        return HTMLResponse(_TEMPLATES.get_template(name).render(**known, **values), status, headers=SAFETY)

    def _may_act(self, link: Any) -> bool:
        """Whether buttons work: of the link that the page is about, if it is about one."""
        return self.who.may("operator", getattr(link, "link", None))


def _address(url: str | None) -> str:
    """The address of a service as a link; anything else that stands in the links topic is none."""
    return url if url is not None and re.fullmatch(r"https?://[A-Za-z0-9.:\[\]_-]+(/[^\s\"<>]*)?", url) else ""


async def visit_of(request: Request) -> Visit:
    """The visit that a request is. Not a plain function: FastAPI would call it in a thread."""
    who: Who | None = request.scope.get("twinlog.who")
    control = getattr(request.app.state, "connectors", None)
    leader = None if control is None or control.leadership.active else _address(control.leadership.leader_url)
    return Visit(app_state_of(request), who or NOBODY, leader)


TheVisit = Annotated[Visit, Depends(visit_of)]


class PageRoute(APIRoute):
    """Errors of the rooms below become a page that says the cause and the way out."""

    def get_route_handler(self) -> Callable[[Request], Awaitable[Response]]:  # type: ignore[override]
        """Handle, and render what went wrong."""
        inner = super().get_route_handler()

        async def handle(request: Request) -> Response:
            try:
                return await inner(request)
            except TwinlogError as error:
                part = "hx-request" in request.headers
                name = "error_part.html" if part else "error.html"
                # htmx leaves the old part standing when a request fails; this one is an answer.
                return (await visit_of(request)).page(name, 200 if part else 404, error=error)

        return handle
