"""/v1/links/LINK/control: limits, topics that come first and pauses of a running link, with what they cost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fastapi import APIRouter, Request

from twinlog.control.audit import NOBODY, Who
from twinlog.errors import ClusterUnreachable
from twinlog.ledger.view import LedgerView
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.health.states import LinkStatus
from twinlog.model.ledger.control import Control
from twinlog.surface.answers.control import ControlAnswer, ControlWish, control_answer
from twinlog.surface.http.app_state import AppState, TheAppState
from twinlog.surface.rest.v1.route import PROBLEMS, V1Route

router = APIRouter(prefix="/v1", route_class=V1Route, tags=["links"], responses=PROBLEMS)


@router.get("/links/{link}/control")
def show_control(link: str, app_state: TheAppState) -> ControlAnswer:
    """What was ordered for a running link, the limits of this moment, and when it will have caught up."""
    status = _seen(app_state, link)
    return control_answer(app_state.link(link), status.control, status)


@router.patch("/links/{link}/control")
async def order_control(link: str, wish: ControlWish, app_state: TheAppState, request: Request) -> ControlAnswer:
    """Change limits, topics that come first, and pauses. Tasks follow within a second; it survives restarts."""
    settings, status = app_state.link(link), _seen(app_state, link)
    who: Who = request.scope.get("twinlog.who") or NOBODY

    def change(now: Control, view: LedgerView) -> Control:
        return replace(wish.applied(link, now, view), by=who.name, at_ms=SYSTEM_CLOCK.now_ms())

    before, after = await app_state.backend.order(settings, change, dry_run=wish.dry_run)
    if app_state.audit is not None and not wish.dry_run:
        app_state.audit.note(who, "order control", link, before=_audited(before), after=_audited(after))
    return control_answer(settings, after, status, changed=after != before and not wish.dry_run)


def _audited(control: Control) -> dict[str, Any]:
    """The order itself: who gave it and when is what the entry says anyway."""
    return {name: value for name, value in control.body().items() if name not in {"by", "at_ms"}}


def _seen(app_state: AppState, link: str) -> LinkStatus:
    snapshot = app_state.snapshot(link)
    if snapshot.status is None:
        raise ClusterUnreachable(snapshot.link.target, snapshot.trouble or "the link was not looked at yet")
    return snapshot.status
