"""`/connectors/{name}/offsets`: how far a connector is, in Connect's form, and changes of that."""

from __future__ import annotations

from typing import Any, Final

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from twinlog.control.kind import Offset
from twinlog.errors import ConnectorRefused
from twinlog.surface.rest.connect.connectors import Name
from twinlog.surface.rest.connect.exchange import (
    PROBLEMS,
    ConnectRoute,
    connectors_of,
    json_body,
    orders_of,
    read_object,
    who_asks,
)

router = APIRouter(prefix="/connectors", tags=["offsets"], route_class=ConnectRoute, responses=PROBLEMS)

_OFFSETS: Final = {
    "type": "object",
    "required": ["offsets"],
    "properties": {
        "offsets": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"partition": {"type": "object"}, "offset": {"type": ["object", "null"]}},
            },
        }
    },
}


@router.get("/{name}/offsets", summary="How far it is")
async def get_offsets(request: Request, name: Name) -> Response:
    """Of a link: the offset of the last copied record of each source partition."""
    offsets = await connectors_of(request).offsets(name)
    return JSONResponse(
        {"offsets": [{"partition": dict(offset.partition), "offset": offset.offset} for offset in offsets]}
    )


@router.patch("/{name}/offsets", summary="Change positions", openapi_extra=json_body(_OFFSETS))
async def patch_offsets(request: Request, name: Name) -> Response:
    """Of a stopped connector. Null forgets a partition; a link is then copied again from its start."""
    connectors_of(request).connector(name)
    wanted = _wishes((await read_object(request)).get("offsets"))
    await orders_of(request).change_offsets(who_asks(request), name, wanted)
    return JSONResponse({"message": "The offsets for this connector have been altered successfully"})


@router.delete("/{name}/offsets", summary="Forget all positions")
async def delete_offsets(request: Request, name: Name) -> Response:
    """Of a stopped connector whose copies are gone: everything is copied again from the start."""
    await orders_of(request).change_offsets(who_asks(request), name, None)
    return JSONResponse({"message": "The offsets for this connector have been reset successfully"})


def _wishes(documents: Any) -> list[Offset]:
    if not isinstance(documents, list) or not documents:
        raise ConnectorRefused("offsets", "Partitions / offsets need to be provided for an alter offsets request")
    wishes: list[Offset] = []
    for item in documents:
        partition = item.get("partition") if isinstance(item, dict) else None
        if not isinstance(partition, dict) or not partition:
            raise ConnectorRefused("offsets", "The partition for a connector offset cannot be null or empty")
        offset = item.get("offset")
        if offset is not None and not isinstance(offset, dict):
            raise ConnectorRefused("offsets", 'Expected {"partition": {…}, "offset": {…}}; null forgets the partition')
        wishes.append(Offset(partition, offset))
    return wishes
