"""/ui: the pages and the parts of pages that are fetched again while one is looked at. They change nothing.

What a page does (begin a switch, a verification) it does through /v1, as any other client: same rights, same rules.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any, Final

from fastapi import APIRouter, FastAPI, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from fastapi.routing import APIRoute
from fastapi.staticfiles import StaticFiles
from jinja2 import Environment, PackageLoader, StrictUndefined

from twinlog.doctor.answers import WORST_FIRST
from twinlog.errors import TwinlogError
from twinlog.recovery.switching import reports
from twinlog.surface.page.picture import picture_of
from twinlog.surface.page.words import FILTERS
from twinlog.surface.rest.desk import Desk, TheDesk
from twinlog.surface.rest.v1 import answers
from twinlog.surface.rest.v1.actions import SwitchCommand, plan_answer
from twinlog.surface.rest.v1.links import EventWish, group_part, list_events, partition_part, topic_part
from twinlog.surface.rest.v1.tables import TheWish, Wish

_FOLDER: Final = Path(__file__).parent
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


class _PageRoute(APIRoute):
    """Errors of the rooms below become a page that says the cause and the way out."""

    def get_route_handler(self) -> Callable[[Request], Awaitable[Response]]:  # type: ignore[override]
        inner = super().get_route_handler()

        async def handle(request: Request) -> Response:
            try:
                return await inner(request)
            except TwinlogError as error:
                part = "hx-request" in request.headers
                name = "error_part.html" if part else "error.html"
                # htmx leaves the old part standing when a request fails; this one is an answer.
                return _page(name, 200 if part else 404, error=error)

        return handle


router = APIRouter(prefix="/ui", route_class=_PageRoute, include_in_schema=False)


def add_pages(app: FastAPI) -> None:
    """Add pages and the files they need."""
    app.include_router(router)
    app.mount("/ui/static", StaticFiles(directory=_FOLDER / "static"), name="static")


def _page(name: str, status: int = 200, **values: Any) -> HTMLResponse:
    return HTMLResponse(_TEMPLATES.get_template(name).render(**values), status, headers=SAFETY)


@router.get("")
def home() -> RedirectResponse:
    """The overview has a slash at its end."""
    return RedirectResponse("/ui/")


@router.get("/")
def overview(desk: TheDesk) -> HTMLResponse:
    """All clusters and links."""
    return _page("overview.html", **_overview(desk), here="overview")


@router.get("/parts/overview")
def overview_part(desk: TheDesk) -> HTMLResponse:
    """The picture and the list, again."""
    return _page("overview_part.html", **_overview(desk))


def _overview(desk: Desk) -> dict[str, Any]:
    links = [answers.summary_of(sight) for sight in desk.sights()]
    known = [link.rpo.seconds for link in links if link.rpo is not None and link.rpo.seconds is not None]
    lags = [link.lag_records for link in links if link.lag_records is not None]
    states = Counter("good" if link.state in {"RUNNING", "CATCHING_UP", "SWITCHED"} else "bad" for link in links)
    return {
        "links": links,
        "picture": picture_of((link.link, link.source, link.target) for link in links),
        "by_name": {link.link: link for link in links},
        "active": {link.active for link in links if link.active and link.switch_open is not None},
        "healthy": states["good"],
        "worst_rpo": max(known) if len(known) == len(links) and known else None,
        "lag": sum(lags) if len(lags) == len(links) else None,
        "records_per_second": _sum([link.records_per_second for link in links]),
        "bytes_per_second": _sum([link.bytes_per_second for link in links]),
        "latency": max((link.latency_ms for link in links if link.latency_ms is not None), default=None),
        "faults": sum(link.faults for link in links),
        "events": list_events(desk, EventWish(limit=8)),
    }


def _sum(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _link(desk: Desk, name: str, tab: str) -> dict[str, Any]:
    sight = desk.sight(name)
    return {"link": answers.detail_of(sight), "tab": tab, "here": "link", "groups_known": sight.groups is not None}


@router.get("/links/{link}")
def link_page(link: str, desk: TheDesk, wish: TheWish) -> HTMLResponse:
    """One link and its topics."""
    return _page("link.html", **_link(desk, link, "topics"), **_topics(desk, link, wish))


@router.get("/links/{link}/parts/topics")
def topics_part(link: str, desk: TheDesk, wish: TheWish) -> HTMLResponse:
    """The table of topics, again."""
    return _page("topics_part.html", link=answers.summary_of(desk.sight(link)), **_topics(desk, link, wish))


def _topics(desk: Desk, link: str, wish: Wish) -> dict[str, Any]:
    return {"part": topic_part(desk, link, wish), "wish": wish}


@router.get("/links/{link}/topics/{topic}")
def topic_page(link: str, topic: str, desk: TheDesk, wish: TheWish) -> HTMLResponse:
    """The partitions of one topic, on both sides."""
    return _page("topic.html", **_link(desk, link, "topics"), **_partitions(desk, link, topic, wish))


@router.get("/links/{link}/parts/partitions")
def partitions_part(link: str, topic: str, desk: TheDesk, wish: TheWish) -> HTMLResponse:
    """The table of partitions, again."""
    return _page(
        "partitions_part.html", link=answers.summary_of(desk.sight(link)), **_partitions(desk, link, topic, wish)
    )


def _partitions(desk: Desk, link: str, topic: str, wish: Wish) -> dict[str, Any]:
    return {"part": partition_part(desk, link, wish, topic), "wish": wish, "topic": topic}


@router.get("/links/{link}/groups")
def groups_page(link: str, desk: TheDesk, wish: TheWish) -> HTMLResponse:
    """Groups on both sides."""
    return _page("groups.html", **_link(desk, link, "groups"), **_groups(desk, link, wish))


@router.get("/links/{link}/parts/groups")
def groups_part(link: str, desk: TheDesk, wish: TheWish) -> HTMLResponse:
    """The table of groups, again."""
    return _page("groups_part.html", link=answers.summary_of(desk.sight(link)), **_groups(desk, link, wish))


def _groups(desk: Desk, link: str, wish: Wish) -> dict[str, Any]:
    return {"part": group_part(desk, link, wish), "wish": wish, "sight": desk.sight(link)}


@router.get("/links/{link}/faults")
def faults_page(link: str, desk: TheDesk) -> HTMLResponse:
    """What cannot be copied, what cannot be kept in step, and what to do about it."""
    return _page("faults.html", **_link(desk, link, "faults"))


@router.get("/links/{link}/switch")
async def switch_page(link: str, desk: TheDesk) -> HTMLResponse:
    """The wizard."""
    standing = await desk.rooms.standing(desk.link(link))
    running = next((one for one in desk.operations.all("switch", link) if one.status == "running"), None)
    values: dict[str, Any] = {"standing": standing, "reports": reports(standing)[::-1], "running": running}
    return _page("switch.html", **_link(desk, link, "switch"), **values)


@router.get("/links/{link}/parts/plan")
async def plan_part(link: str, desk: TheDesk, command: Annotated[SwitchCommand, Query()]) -> HTMLResponse:
    """The dry run of one switch."""
    plan = plan_answer(*await desk.rooms.plan(desk.link(link), command))
    return _page("plan_part.html", plan=plan, link=answers.summary_of(desk.sight(link)))


@router.get("/links/{link}/checks")
async def checks_page(link: str, desk: TheDesk) -> HTMLResponse:
    """Verification and doctor, with what they found before."""
    drills = await asyncio.to_thread(desk.rooms.drills, desk.link(link))
    return _page("checks.html", **_link(desk, link, "checks"), **_checks(desk, link), drills=drills[::-1][:50])


@router.get("/links/{link}/parts/checks")
def checks_part(link: str, desk: TheDesk) -> HTMLResponse:
    """The lists of what was checked, again."""
    return _page("checks_part.html", link=answers.summary_of(desk.sight(link)), **_checks(desk, link))


def _checks(desk: Desk, link: str) -> dict[str, Any]:
    found = [one for one in desk.operations.all(link=link) if one.kind in {"verification", "examination", "drill"}]
    return {"operations": [answers.operation_of(one) for one in found]}


@router.get("/operations/{operation_id}")
def operation_page(operation_id: str, desk: TheDesk) -> HTMLResponse:
    """One long action, live, and its report."""
    return _operation(desk, operation_id, "operation.html")


@router.get("/parts/operations/{operation_id}")
def operation_part(operation_id: str, desk: TheDesk) -> HTMLResponse:
    """How far it is, again."""
    return _operation(desk, operation_id, "operation_part.html")


def _operation(desk: Desk, operation_id: str, template: str) -> HTMLResponse:
    found = desk.operations.find(operation_id)
    if found is None:
        return _page("gone.html", 404, here="operation")
    order = {verdict: place for place, verdict in enumerate(WORST_FIRST)}
    return _page(template, operation=answers.operation_of(found), here="operation", order=order)


@router.get("/links/{link}/settings")
async def settings_page(link: str, desk: TheDesk) -> HTMLResponse:
    """Every setting and the line that decided it."""
    origins = await asyncio.to_thread(desk.rooms.settings, desk.link(link))
    return _page("settings.html", **_link(desk, link, "settings"), origins=sorted(origins.items()))


@router.get("/events")
def events_page(desk: TheDesk, wish: Annotated[EventWish, Query()]) -> HTMLResponse:
    """What happened."""
    return _page("events.html", **_events(desk, wish), here="events")


@router.get("/parts/events")
def events_part(desk: TheDesk, wish: Annotated[EventWish, Query()]) -> HTMLResponse:
    """The list of events, again."""
    return _page("events_part.html", **_events(desk, wish))


def _events(desk: Desk, wish: EventWish) -> dict[str, Any]:
    names = [sight.link.name for sight in desk.sights()]
    return {"events": list_events(desk, wish), "wish": wish, "names": names}
