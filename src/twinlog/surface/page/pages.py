"""/ui: the pages and the parts of pages that are fetched again while one is looked at. They change nothing.

What a page does (begin a switch, a verification) it does through /v1, as any other client: same rights, same rules.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Any, Final

from fastapi import APIRouter, FastAPI, Query
from fastapi.responses import HTMLResponse, RedirectResponse
from fastapi.staticfiles import StaticFiles

from twinlog.doctor.answers import WORST_FIRST
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.groups.summary import summaries
from twinlog.recovery.switching import reports
from twinlog.surface.answers.control import control_answer
from twinlog.surface.answers.groups import reading_groups
from twinlog.surface.answers.links import LinkSummary, detail_of, summary_of, without_copy
from twinlog.surface.answers.lists import EventWish, events_of, group_part, partition_part, topic_part
from twinlog.surface.answers.operations import operation_of
from twinlog.surface.answers.proofs import Proofs, proofs_of
from twinlog.surface.answers.rows import topics_of
from twinlog.surface.answers.switches import SwitchCommand, plan_answer
from twinlog.surface.answers.tables import TheWish, Wish
from twinlog.surface.answers.topology import judgements, survey_of, topology_json
from twinlog.surface.http.app_state import AppState
from twinlog.surface.http.operations import MOVES
from twinlog.surface.http.response_cache import FOR_VISITOR
from twinlog.surface.page import schemas
from twinlog.surface.page.needs import FULL_DISK, needs_of, unanswering
from twinlog.surface.page.picture import picture_of
from twinlog.surface.page.topology_svg import svg_of
from twinlog.surface.page.visit import PageRoute, TheVisit, Visit
from twinlog.surface.page.words import Html

_FOLDER: Final = Path(__file__).parent
_SHOWN: Final = 100
"""Lists without pages of their own are cut here: a page stays small whatever went wrong."""
_REPORTS_SHOWN: Final = 20

router = APIRouter(prefix="/ui", route_class=PageRoute, include_in_schema=False)


def add_pages(app: FastAPI) -> None:
    """Add pages and the files they need."""
    app.include_router(router)
    app.include_router(schemas.router)
    app.mount("/ui/static", StaticFiles(directory=_FOLDER / "static"), name="static")


@router.get("")
def home() -> RedirectResponse:
    """The overview has a slash at its end."""
    return RedirectResponse("/ui/")


@router.get("/", dependencies=[FOR_VISITOR])
def overview(visit: TheVisit) -> HTMLResponse:
    """All clusters and links."""
    app_state = visit.app_state
    more: dict[str, Any] = {"clusters": app_state.clusters(), "full_disk": FULL_DISK, "grafana": app_state.grafana}
    return visit.page("overview.html", **_overview(app_state), **more, here="overview")


@router.get("/parts/clusters")
def clusters_part(visit: TheVisit) -> HTMLResponse:
    """The cards of clusters, again."""
    clusters = visit.app_state.clusters()
    down = unanswering(visit.app_state.snapshots(), clusters)
    return visit.page("clusters_part.html", clusters=clusters, down=down, full_disk=FULL_DISK)


@router.get("/topology")
def topology_page(visit: TheVisit) -> HTMLResponse:
    """What the links of this service make together, as a picture, and what each loss costs."""
    links = visit.app_state.links()
    survey = survey_of(links)
    values: dict[str, Any] = {"shapes": survey.shapes, "svg": Html(svg_of(survey)), "lines": [*judgements(survey)]}
    return visit.page("topology.html", **values, losses=topology_json(survey, links)["losses"], here="topology")


@router.get("/parts/overview", dependencies=[FOR_VISITOR])
def overview_part(visit: TheVisit) -> HTMLResponse:
    """The picture and the list, again."""
    return visit.page("overview_part.html", **_overview(visit.app_state))


def _overview(app_state: AppState) -> dict[str, Any]:
    snapshots, clusters = app_state.snapshots(), list(app_state.clusters())
    links = [summary_of(snapshot) for snapshot in snapshots]
    # A link that was switched away copies nothing on purpose; it has no data to lose.
    copying = [link for link in links if link.state != "SWITCHED"]
    known = [link.rpo.age_seconds for link in copying if link.rpo is not None and link.rpo.age_seconds is not None]
    lags = [link.lag_records for link in copying if link.lag_records is not None]
    unprotected = sorted(set(without_copy(snapshots).values()))
    healthy = [
        link
        for link in links
        if link.state in {"RUNNING", "CATCHING_UP"} or (link.state == "SWITCHED" and link.target not in unprotected)
    ]
    return {
        "links": links,
        "needs": needs_of(snapshots, clusters),
        "picture": picture_of((link.link, link.source, link.target) for link in links),
        "by_name": {link.link: link for link in links},
        "active": {link.active for link in links if link.active},
        "down": unanswering(snapshots, clusters),
        "unprotected": unprotected,
        "healthy": len(healthy),
        "copying": len(copying),
        "worst_rpo": max(known) if len(known) == len(copying) and known else None,
        "kept": list({link.rpo.kept for link in copying if link.rpo is not None}),
        "lag": sum(lags) if len(lags) == len(copying) and lags else None,
        "records_per_second": _sum([link.records_per_second for link in links]),
        "bytes_per_second": _sum([link.bytes_per_second for link in links]),
        "latency": max((link.copied_p99_ms for link in links if link.copied_p99_ms is not None), default=None),
        "faults": sum(link.faults for link in links),
        "proofs": {link.link: _proofs(app_state, link.link) for link in links},
        **_events(app_state, EventWish(limit=8)),
    }


def _proofs(app_state: AppState, link: str) -> Proofs:
    return proofs_of(app_state.operations_of(link=link), app_state.backend.drills(app_state.link(link)))


def _sum(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _link(app_state: AppState, name: str, tab: str) -> dict[str, Any]:
    snapshot = app_state.snapshot(name)
    return {
        "link": detail_of(snapshot),
        "tab": tab,
        "here": "link",
        "known_ms": snapshot.samples[-1].at_ms if snapshot.samples else None,
        "grafana": app_state.grafana,
    }


@router.get("/links/{link}")
def link_page(link: str, visit: TheVisit, wish: TheWish) -> HTMLResponse:
    """One link and its topics."""
    return visit.page("link.html", **_link(visit.app_state, link, "topics"), **_topics(visit.app_state, link, wish))


@router.get("/links/{link}/parts/topics")
def topics_part(link: str, visit: TheVisit, wish: TheWish) -> HTMLResponse:
    """The table of topics, again."""
    return visit.page("topics_part.html", link=_summary(visit, link), **_topics(visit.app_state, link, wish))


def _summary(visit: Visit, link: str) -> LinkSummary:
    return summary_of(visit.app_state.snapshot(link))


def _topics(app_state: AppState, link: str, wish: Wish) -> dict[str, Any]:
    return {"part": topic_part(app_state, link, wish), "wish": wish}


@router.get("/links/{link}/topics/{topic}")
def topic_page(link: str, topic: str, visit: TheVisit, wish: TheWish) -> HTMLResponse:
    """The partitions of one topic, on both sides."""
    app_state = visit.app_state
    values = _link(app_state, link, "topics") | _partitions(app_state, link, topic, wish)
    return visit.page("topic.html", **values, **_topic(app_state, link, topic))


def _topic(app_state: AppState, link: str, topic: str) -> dict[str, Any]:
    snapshot = app_state.snapshot(link)
    parts = [part for part in (snapshot.status.partitions if snapshot.status else ()) if part.partition.topic == topic]
    rates = [snapshot.rate(part.partition) for part in parts]
    mirrored = [
        standing
        for standing in (snapshot.groups.standings if snapshot.groups else ())
        if standing.source.topic == topic
    ]
    ends = {part.partition: part.source_end for part in parts}
    return {
        "row": next((row for row in topics_of(snapshot) if row.topic == topic), None),
        "rate": {"records": sum(rate[0] for rate in rates), "bytes": sum(rate[1] for rate in rates)},
        "newest_ms": max((part.newest_ms for part in parts), default=-1) if parts else None,
        "first": max((part.source_next - 1 for part in parts if part.partition.partition == 0), default=0),
        "paused": snapshot.status is not None and topic in snapshot.status.control.topics,
        "groups": reading_groups(mirrored, ends),
    }


@router.get("/links/{link}/parts/configs")
async def configs_part(link: str, topic: str, visit: TheVisit) -> HTMLResponse:
    """The configs of one topic on both sides: asked of both clusters."""
    explanation = await visit.app_state.backend.explain(visit.app_state.link(link), topic)
    return visit.page("configs_part.html", link=_summary(visit, link), explanation=explanation)


@router.get("/links/{link}/parts/partitions")
def partitions_part(link: str, topic: str, visit: TheVisit, wish: TheWish) -> HTMLResponse:
    """The table of partitions, again."""
    values = _partitions(visit.app_state, link, topic, wish)
    return visit.page("partitions_part.html", link=_summary(visit, link), **values)


def _partitions(app_state: AppState, link: str, topic: str, wish: Wish) -> dict[str, Any]:
    return {"part": partition_part(app_state, link, wish, topic), "wish": wish, "topic": topic}


@router.get("/links/{link}/groups")
def groups_page(link: str, visit: TheVisit, wish: TheWish) -> HTMLResponse:
    """Groups on both sides."""
    return visit.page("groups.html", **_link(visit.app_state, link, "groups"), **_groups(visit.app_state, link, wish))


@router.get("/links/{link}/parts/groups")
def groups_part(link: str, visit: TheVisit, wish: TheWish) -> HTMLResponse:
    """The table of groups, again."""
    return visit.page("groups_part.html", link=_summary(visit, link), **_groups(visit.app_state, link, wish))


def _groups(app_state: AppState, link: str, wish: Wish) -> dict[str, Any]:
    snapshot = app_state.snapshot(link)
    mirrored = [
        standing for standing in (snapshot.groups.standings if snapshot.groups else ()) if standing.remote is not None
    ]
    return {
        "part": group_part(app_state, link, wish),
        "wish": wish,
        "snapshot": snapshot,
        "groups": len({standing.group for standing in mirrored}),
        "by_group": summaries(mirrored),
        "nowhere": sum(standing.position is None for standing in mirrored),
        "re_read": sum(standing.re_read or 0 for standing in mirrored),
    }


@router.get("/links/{link}/faults")
def faults_page(link: str, visit: TheVisit) -> HTMLResponse:
    """What cannot be copied, what cannot be kept in sync, and what to do about it."""
    return visit.page("faults.html", **_link(visit.app_state, link, "faults"), most=_SHOWN)


@router.get("/links/{link}/parts/faults")
def faults_part(link: str, visit: TheVisit) -> HTMLResponse:
    """Faults and sync jobs, again."""
    return visit.page("faults_part.html", **_link(visit.app_state, link, "faults"), most=_SHOWN)


@router.get("/links/{link}/switch")
def switch_page(link: str, visit: TheVisit) -> HTMLResponse:
    """The wizard. It asks no cluster, so that it opens at once on the day when one does not answer."""
    here = [
        operation
        for operation in visit.app_state.operations_of(link=link)
        if operation.kind in MOVES and operation.status == "running"
    ]
    return visit.page("switch.html", **_link(visit.app_state, link, "switch"), running=here[0] if here else None)


@router.get("/links/{link}/parts/standing")
async def standing_part(link: str, visit: TheVisit) -> HTMLResponse:
    """Which side is active, what is open, and every switch there was: asked of both clusters."""
    standing = await visit.app_state.backend.standing(visit.app_state.link(link))
    all_reports = reports(standing)[::-1]
    here, state = visit.app_state.link(link), standing.state
    back = f"{here.target}->{here.source}"
    values: dict[str, Any] = {
        "runs": standing.open is not None and standing.open.runner_lives(SYSTEM_CLOCK.now_ms()),
        # Nothing is green that has no copy: after a failover only a way back that copies protects the active side.
        "protected": state is None or state.active != here.target or state.links.get(back) == "copying",
    }
    values |= {"standing": standing, "reports": all_reports[:_REPORTS_SHOWN], "more": all_reports[_REPORTS_SHOWN:]}
    return visit.page("standing_part.html", link=_summary(visit, link), **values)


@router.get("/links/{link}/parts/plan")
async def plan_part(link: str, visit: TheVisit, command: Annotated[SwitchCommand, Query()]) -> HTMLResponse:
    """The dry run of one switch."""
    plan = plan_answer(*await visit.app_state.backend.plan(visit.app_state.link(link), command))
    return visit.page("plan_part.html", plan=plan, link=_summary(visit, link), most=_SHOWN)


@router.get("/links/{link}/checks")
async def checks_page(link: str, visit: TheVisit) -> HTMLResponse:
    """Verification and doctor, with what they found before."""
    app_state = visit.app_state
    drills = await asyncio.to_thread(app_state.backend.drills, app_state.link(link))
    return visit.page(
        "checks.html", **_link(app_state, link, "checks"), **_checks(app_state, link), drills=drills[::-1][:50]
    )


@router.get("/links/{link}/parts/checks")
def checks_part(link: str, visit: TheVisit) -> HTMLResponse:
    """The lists of what was checked, again."""
    return visit.page("checks_part.html", link=_summary(visit, link), **_checks(visit.app_state, link))


def _checks(app_state: AppState, link: str) -> dict[str, Any]:
    operations = [operation for operation in app_state.operations_of(link=link) if operation.kind not in MOVES]
    told = events_of(app_state, EventWish(link=link, limit=1000))
    checks = [event for event in told if event.kind == "operation" and event.ended and event.thing not in MOVES]
    return {"operations": [operation_of(operation) for operation in operations], "events": checks[:_SHOWN]}


@router.get("/operations/{operation_id}")
def operation_page(operation_id: str, visit: TheVisit) -> HTMLResponse:
    """One long action, live, and its report."""
    return _operation(visit, operation_id, "operation.html")


@router.get("/parts/operations/{operation_id}")
def operation_part(operation_id: str, visit: TheVisit) -> HTMLResponse:
    """How far it is, again."""
    return _operation(visit, operation_id, "operation_part.html")


def _operation(visit: Visit, operation_id: str, template: str) -> HTMLResponse:
    operation = visit.app_state.operation(operation_id)
    if operation is None:
        return visit.page("gone.html", 404, here="operation")
    values: dict[str, Any] = {
        "operation": operation_of(operation),
        "moves": operation.kind in MOVES,
        "switch": operation.switch,
        "order": {verdict: place for place, verdict in enumerate(WORST_FIRST)},
        "here": "operation",
        "most": _SHOWN,
    }
    return visit.page(template, **values)


@router.get("/links/{link}/control")
def control_page(link: str, visit: TheVisit) -> HTMLResponse:
    """Limits, topics that come first, pauses, and what they cost."""
    return visit.page("control.html", **_link(visit.app_state, link, "control"), **_control(visit.app_state, link))


@router.get("/links/{link}/parts/control")
def control_part(link: str, visit: TheVisit) -> HTMLResponse:
    """What is in force, again."""
    return visit.page("control_part.html", link=_summary(visit, link), **_control(visit.app_state, link))


def _control(app_state: AppState, link: str) -> dict[str, Any]:
    settings, status = app_state.link(link), app_state.snapshot(link).status
    return {
        "order": None if status is None else control_answer(settings, status.control, status),
        "of_file": settings.reading.limits,
        "topics": sorted({part.partition.topic for part in status.partitions}) if status else [],
    }


@router.get("/links/{link}/settings")
async def settings_page(link: str, visit: TheVisit) -> HTMLResponse:
    """Every setting and the line that decided it."""
    origins = await asyncio.to_thread(visit.app_state.backend.settings, visit.app_state.link(link))
    # What somebody wrote is what somebody looks for; defaults follow.
    ordered = sorted(origins.items(), key=lambda item: (item[1].key is None, item[0]))
    return visit.page("settings.html", **_link(visit.app_state, link, "settings"), origins=ordered)


@router.get("/events")
def events_page(visit: TheVisit, wish: Annotated[EventWish, Query()]) -> HTMLResponse:
    """What happened."""
    return visit.page("events.html", **_events(visit.app_state, wish), here="events")


@router.get("/parts/leader")
def leader_part(visit: TheVisit) -> HTMLResponse:
    """Who runs the links, when it is another service; again."""
    return visit.page("leader_part.html")


@router.get("/parts/events")
def events_part(visit: TheVisit, wish: Annotated[EventWish, Query()]) -> HTMLResponse:
    """The list of events, again."""
    return visit.page("events_part.html", **_events(visit.app_state, wish))


def _events(app_state: AppState, wish: EventWish) -> dict[str, Any]:
    names = [snapshot.link.name for snapshot in app_state.snapshots()]
    return {"events": events_of(app_state, wish), "wish": wish, "names": names}
