"""/ui/schemas: the schema registry beside the links, and those of both datacenters. It changes nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any, Final
from urllib.parse import parse_qs

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse

from twinlog.errors import UsageError
from twinlog.registry.pair.site import Site
from twinlog.registry.refusals import Refusal
from twinlog.registry.subject_names import normalized
from twinlog.surface.answers.tables import TheWish, Wish, part_of
from twinlog.surface.page.schema_rows import compared, subject_rows
from twinlog.surface.page.visit import PageRoute, TheVisit, Visit
from twinlog.surface.registry.answering import answered
from twinlog.surface.registry.exchange import Request as RegistryRequest
from twinlog.surface.registry.reading import compatibility_with_all
from twinlog.surface.registry.registry import Registry

router = APIRouter(prefix="/ui/schemas", route_class=PageRoute, include_in_schema=False)
_SORTABLE: Final = ("subject", "kind", "versions", "latest", "id", "level", "mode", "elsewhere")
_LONGEST: Final = 4 << 20
Name = Annotated[str, Query(max_length=2000)]


@router.get("")
async def schemas_page(visit: TheVisit, wish: TheWish) -> HTMLResponse:
    """Who leads where, and all subjects."""
    return visit.page("schemas.html", **await _all(visit, wish), here="schemas")


@router.get("/part")
async def schemas_part(visit: TheVisit, wish: TheWish) -> HTMLResponse:
    """The same, again."""
    return visit.page("schemas_part.html", **await _all(visit, wish))


async def _all(visit: Visit, wish: Wish) -> dict[str, Any]:
    registry, sites = await _seen(visit)
    rows = [] if registry is None else subject_rows(registry.state, registry.rules.default_level, sites)
    part = part_of(rows, wish, lambda row: row.subject, lambda row: row.mode, _SORTABLE)
    beside = visit.app_state.registry
    return {"part": part, "wish": wish, "sites": sites, "facts": None if beside is None else beside.status.facts()}


async def _seen(visit: Visit) -> tuple[Registry | None, Sequence[Site]]:
    """The registry beside the links, if there is one, and the clusters of all links. Raises UsageError."""
    if visit.app_state.who is not None:
        raise UsageError(f"{visit.who.name}: schemas belong to no link; the role viewer for all links shows them")
    beside = visit.app_state.registry
    return None if beside is None else beside.registry, await visit.app_state.backend.registries()


@router.get("/subject")
async def subject_page(visit: TheVisit, name: Name, left: int | None = None, right: int | None = None) -> HTMLResponse:
    """Two versions of one subject side by side."""
    registry, sites = await _seen(visit)
    subject = normalized(name)
    comparison = None if registry is None else compared(registry.state, subject, left, right)
    if registry is None or comparison is None:
        return visit.page("gone.html", 404, here="schemas")
    rows = [row for row in subject_rows(registry.state, registry.rules.default_level, sites) if row.subject == subject]
    versions = registry.state.versions(subject, deleted=True)
    values: dict[str, Any] = {"subject": subject, "versions": versions, "compared": comparison}
    return visit.page("subject.html", **values, row=rows[0] if rows else None, here="schemas")


@router.post("/check")
async def check_part(visit: TheVisit, request: Request) -> HTMLResponse:
    """Whether a pasted schema could be registered: the answer that the registry gives to any client."""
    registry, _ = await _seen(visit)
    body = await request.body()
    form = {key: values[0] for key, values in parse_qs(body[:_LONGEST].decode("utf-8", "replace")).items()}
    subject, text = normalized(form.get("subject", "")), form.get("schema", "")
    if registry is None or not subject:
        return visit.page("gone.html", 404, here="schemas")
    asked = {"schema": text, "schemaType": form.get("type", "AVRO")}
    segments = ["compatibility", "subjects", subject, "versions"]
    question = RegistryRequest("POST", segments, {"verbose": ["true"]}, {}, json.dumps(asked).encode())
    try:
        verdict = json.loads((await answered(registry, compatibility_with_all, question)).body)
    except Refusal as refusal:
        verdict = {"is_compatible": False, "messages": [refusal.message]}
    return visit.page("check_part.html", verdict=verdict, subject=subject)
