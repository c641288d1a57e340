"""/v1 actions: verify, examine, plan and run a switch. Each long one is an operation that is asked about later.

Every action takes an `Idempotency-Key` header: the same key again gives the same operation, not a second switch. A
browser cannot send that header from a foreign page, which keeps such pages from pressing our buttons.
"""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from twinlog.control.audit import NOBODY, Who
from twinlog.errors import TwinlogError, UsageError
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.wanted import Wanted
from twinlog.surface.answers.errors import problem
from twinlog.surface.answers.operations import OperationAnswer, operation_of
from twinlog.surface.answers.switches import PlanAnswer, SwitchCommand, SwitchStanding, plan_answer, standing_answer
from twinlog.surface.http.app_state import AppState, TheAppState
from twinlog.surface.http.operations import Kind, Operation, Work
from twinlog.surface.rest.v1.route import PROBLEMS, V1Route
from twinlog.verify.conflicts import ConflictWish
from twinlog.verify.plan import VerifyWish

router = APIRouter(prefix="/v1", route_class=V1Route, tags=["actions"], responses=PROBLEMS)

Key = Annotated[
    str,
    Header(alias="Idempotency-Key", min_length=8, max_length=100, description="The same key gives the same operation."),
]


class _Wish(BaseModel):
    model_config = ConfigDict(extra="forbid")


class VerifyRequest(_Wish):
    """What is to be compared; without limits, everything that is copied."""

    topics: str | None = Field(None, max_length=500, description="A Java regular expression over source topics.")
    sample: float | None = Field(None, gt=0, le=1, description="A share, e.g. 0.01.")


class ConflictRequest(_Wish):
    """Which topics and which time are searched for keys that were written on both sides."""

    topics: str | None = Field(None, max_length=500, description="A Java regular expression over topics.")
    window_seconds: float = Field(10, gt=0, le=86_400, description="Two records this close are a conflict.")
    since_seconds: float = Field(3600, gt=0, le=31_536_000, description="How far back records are read.")


class PlanRequest(_Wish):
    """Which switch."""

    command: SwitchCommand


class SwitchRequest(PlanRequest):
    """A switch, confirmed by the link's name, typed."""

    confirm: str = Field(max_length=500, description="The link's name again: what makes a hand stop.")


class ConfirmRequest(_Wish):
    """Confirmed by the link's name, typed."""

    confirm: str = Field(max_length=500)


class DrillRequest(_Wish):
    """On paper, with a shadow of each group, or with a topic of the drill's own."""

    kind: Literal["paper", "shadow", "canary"]


Accepted = {202: {"model": OperationAnswer, "description": "Begun; `Location` tells where to ask"}}


@router.post("/links/{link}/verifications", status_code=202, responses=Accepted)  # type: ignore[arg-type]
async def verify(link: str, wish: VerifyRequest, app_state: TheAppState, request: Request, key: Key) -> Response:
    """Compare both logs of a link, record by record, while it runs."""
    settings = app_state.link(link)
    asked = verify_wish(wish.topics, wish.sample)

    async def work(operation: Operation) -> dict[str, Any]:
        return (await app_state.backend.verify(settings, asked, operation.progress)).as_json()

    return _begin(app_state, request, ("verification", link, wish), key, work)


@router.get("/links/{link}/verifications")
def list_verifications(link: str, app_state: TheAppState) -> list[OperationAnswer]:
    """The verifications of this link with their reports, newest first."""
    return [operation_of(operation) for operation in app_state.operations_of("verification", app_state.link(link).name)]


def verify_wish(topics: str | None, sample: float | None) -> VerifyWish:
    """What was asked for, as the auditors take it. Raises UsageError."""
    return VerifyWish(Wanted("topics", topics or None), sample=sample)


@router.post("/links/{link}/examinations", status_code=202, responses=Accepted)  # type: ignore[arg-type]
async def examine(link: str, app_state: TheAppState, request: Request, key: Key) -> Response:
    """Ask both clusters everything that a disaster would test."""
    settings = app_state.link(link)

    async def work(_: Operation) -> dict[str, Any]:
        return {"checks": [asdict(diagnosis) for diagnosis in await app_state.backend.examine(settings)]}

    return _begin(app_state, request, ("examination", link, _Wish()), key, work)


@router.get("/links/{link}/examinations")
def list_examinations(link: str, app_state: TheAppState) -> list[OperationAnswer]:
    """What the doctor found at this link, newest first."""
    return [operation_of(operation) for operation in app_state.operations_of("examination", app_state.link(link).name)]


@router.post("/links/{link}/conflicts", status_code=202, responses=Accepted)  # type: ignore[arg-type]
async def find_conflicts(
    link: str, wish: ConflictRequest, app_state: TheAppState, request: Request, key: Key
) -> Response:
    """Search both logs for keys that were written on both sides within a window. Keys are told as hashes."""
    settings = app_state.link(link)
    since_ms = SYSTEM_CLOCK.now_ms() - int(wish.since_seconds * 1000)
    asked = ConflictWish(Wanted("topics", wish.topics or None), int(wish.window_seconds * 1000), since_ms)

    async def work(_: Operation) -> dict[str, Any]:
        return (await app_state.backend.conflicts(settings, asked)).as_json()

    return _begin(app_state, request, ("conflicts", link, wish), key, work)


@router.get("/links/{link}/conflicts")
def list_conflicts(link: str, app_state: TheAppState) -> list[OperationAnswer]:
    """The searches for conflicts at this link with their reports, newest first."""
    return [operation_of(operation) for operation in app_state.operations_of("conflicts", app_state.link(link).name)]


@router.get("/links/{link}/switches")
async def show_switches(link: str, app_state: TheAppState) -> SwitchStanding:
    """Which side is active, what runs, what was done."""
    standing = await app_state.backend.standing(app_state.link(link))
    return standing_answer(standing)


@router.post("/links/{link}/switches/plan")
async def plan_switch(link: str, wish: PlanRequest, app_state: TheAppState) -> PlanAnswer:
    """The dry run: every step, and what is at risk. Changes nothing."""
    return plan_answer(*await app_state.backend.plan(app_state.link(link), wish.command))


@router.post("/links/{link}/switches", status_code=202, responses=Accepted)  # type: ignore[arg-type]
async def switch(link: str, wish: SwitchRequest, app_state: TheAppState, request: Request, key: Key) -> Response:
    """Switch. `confirm` must be the name of the link."""
    settings = app_state.link(link)
    _confirmed(link, wish.confirm)

    async def work(operation: Operation) -> dict[str, Any]:
        return (await app_state.backend.switch(settings, wish.command, operation.on_switch_event)).as_json()

    return _begin(app_state, request, ("switch", link, wish), key, work)


@router.post("/links/{link}/switches/resume", status_code=202, responses=Accepted)  # type: ignore[arg-type]
async def resume(link: str, wish: ConfirmRequest, app_state: TheAppState, request: Request, key: Key) -> Response:
    """Go on with an interrupted switch, at the step where it stopped."""
    settings = app_state.link(link)
    _confirmed(link, wish.confirm)

    async def work(operation: Operation) -> dict[str, Any]:
        return (await app_state.backend.resume(settings, operation.on_switch_event)).as_json()

    return _begin(app_state, request, ("resume", link, wish), key, work)


@router.post("/links/{link}/switches/abort", status_code=202, responses=Accepted)  # type: ignore[arg-type]
async def abort(link: str, wish: ConfirmRequest, app_state: TheAppState, request: Request, key: Key) -> Response:
    """Give an open switch up; not once a side was made active."""
    settings = app_state.link(link)
    _confirmed(link, wish.confirm)

    async def work(operation: Operation) -> dict[str, Any]:
        return (await app_state.backend.abort(settings, operation.on_switch_event)).as_json()

    return _begin(app_state, request, ("abort", link, wish), key, work)


@router.get("/links/{link}/drills")
async def list_drills(link: str, app_state: TheAppState) -> list[dict[str, Any]]:
    """The reports of every drill of this link, newest first; each holds the hash of the one before."""
    return (await asyncio.to_thread(app_state.backend.drills, app_state.link(link)))[::-1]


@router.post("/links/{link}/drills", status_code=202, responses=Accepted)  # type: ignore[arg-type]
async def drill(link: str, wish: DrillRequest, app_state: TheAppState, request: Request, key: Key) -> Response:
    """Rehearse a disaster. Production topics, groups and clients are not touched."""
    settings = app_state.link(link)

    async def work(operation: Operation) -> dict[str, Any]:
        return await app_state.backend.drill(settings, wish.kind, operation.say)

    return _begin(app_state, request, ("drill", link, wish), key, work)


@router.get("/operations")
def list_operations(app_state: TheAppState, kind: Kind | None = None, link: str | None = None) -> list[OperationAnswer]:
    """The actions of this machine's services, newest first."""
    return [operation_of(operation) for operation in app_state.operations_of(kind, link)]


@router.get("/operations/{operation_id}", response_model=OperationAnswer)
def show_operation(operation_id: str, app_state: TheAppState) -> Any:
    """How far an action is, and what came of it."""
    operation = app_state.operation(operation_id)
    if operation is None:
        way = (
            "The last hundred are kept on the machine that ran them; a switch is found under /v1/links/{link}/switches."
        )
        return problem(404, "OPERATION_UNKNOWN", f"{operation_id}: no such operation", way)
    return operation_of(operation)


def _confirmed(link: str, said: str) -> None:
    if said.strip() != link:
        raise UsageError(f"{link}: not confirmed; `confirm` must be the name of the link. Nothing was changed")


def _begin(app_state: AppState, request: Request, asked: tuple[Kind, str, BaseModel], key: str, work: Work) -> Response:
    kind, link, wish = asked
    who: Who = request.scope.get("twinlog.who") or NOBODY
    wanted = Operation(kind, link, wish.model_dump(), who.name, key)
    operation = app_state.operations.start(wanted, _audited(app_state, who, work))
    if app_state.audit is not None and operation is wanted:
        app_state.audit.note(who, f"begin {kind}", link, after=operation.asked, outcome=f"operation {operation.id}")
    answer = operation_of(operation).model_dump()
    return JSONResponse(answer, 202, headers={"Location": f"/v1/operations/{operation.id}"})


def _audited(app_state: AppState, who: Who, work: Work) -> Work:
    """The same work, with its end written down."""

    async def watched(operation: Operation) -> dict[str, Any]:
        outcome = "failed"
        try:
            result = await work(operation)
            outcome = "done"
        except TwinlogError as error:
            outcome = f"failed: {error.code}"
            raise
        except asyncio.CancelledError:
            outcome = "interrupted"
            raise
        finally:
            if app_state.audit is not None:
                app_state.audit.note(
                    who, f"end {operation.kind}", operation.link, after=operation.asked, outcome=outcome
                )
        return result

    return watched
