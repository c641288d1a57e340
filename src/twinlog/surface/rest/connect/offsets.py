"""`/connectors/{name}/offsets`: how far a link is, in MirrorMaker 2's form, and letting topics begin anew.

A position cannot be set to a number: the ledger holds what is on the target, and a number would make it lie. A topic
whose copy is gone can be forgotten, with `"offset": null` for all its partitions.
"""

from __future__ import annotations

from typing import Any, Final

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from twinlog.control.steward import Steward
from twinlog.errors import ConnectorRefused
from twinlog.model.connectors import COPYING
from twinlog.surface.rest.connect.connectors import Name
from twinlog.surface.rest.connect.exchange import (
    PROBLEMS,
    ConnectRoute,
    json_body,
    read_object,
    steward_of,
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
    """The offset of the last copied record of each source partition."""
    steward = steward_of(request)
    one = steward.connector(name)
    if one.kind not in COPYING:
        return JSONResponse({"offsets": []})
    link = steward.settings(name)
    found = await steward.positions(name)
    return JSONResponse(
        {
            "offsets": [
                {"partition": _partition(one.kind, link.source, topic, number), "offset": {"offset": reached - 1}}
                for topic, number, reached in found
                if reached > 0
            ]
        }
    )


@router.patch("/{name}/offsets", summary="Change positions", openapi_extra=json_body(_OFFSETS))
async def patch_offsets(request: Request, name: Name) -> Response:
    """Of a stopped connector. Null lets a topic begin anew; the same position again is no change."""
    steward = steward_of(request)
    steward.connector(name)
    wanted = _wishes((await read_object(request)).get("offsets"))
    _stopped(steward, name)
    reached = {(topic, number): offset for topic, number, offset in await steward.positions(name)}
    forgotten: dict[str, set[int]] = {}
    for topic, number, offset in wanted:
        if (topic, number) not in reached:
            raise ConnectorRefused(name, f"{topic}-{number}: this connector has no such partition")
        if offset is None:
            forgotten.setdefault(topic, set()).add(number)
        elif offset != reached[topic, number] - 1:
            raise ConnectorRefused(
                name,
                f"{topic}-{number}: a position cannot be set to {offset}: the ledger holds what is on the target. With "
                "a null offset for every partition, and the copy deleted, the topic is copied again from its start.",
            )
    for topic, numbers in forgotten.items():
        if left := {number for known, number in reached if known == topic} - numbers:
            raise ConnectorRefused(
                name, f"{topic}: a topic begins anew as a whole; {topic}-{min(left)} is missing here"
            )
    if forgotten:
        await steward.forget(who_asks(request), name, sorted(forgotten))
    return JSONResponse({"message": "The offsets for this connector have been altered successfully"})


@router.delete("/{name}/offsets", summary="Forget all positions")
async def delete_offsets(request: Request, name: Name) -> Response:
    """Of a stopped connector whose copies are gone: everything is copied again from the start."""
    steward = steward_of(request)
    one = steward.connector(name)
    _stopped(steward, name)
    if one.kind in COPYING:
        await steward.forget(who_asks(request), name, None)
    return JSONResponse({"message": "The offsets for this connector have been reset successfully"})


def _stopped(steward: Steward, name: str) -> None:
    if steward.connector(name).state != "STOPPED":
        raise ConnectorRefused(
            name,
            "Connectors must be in the STOPPED state before their offsets can be modified. This can be done for the "
            f"specified connector by issuing a 'PUT' request to the '/connectors/{name}/stop' endpoint",
        )


def _partition(kind: str, cluster: str, topic: str, number: int) -> dict[str, Any]:
    place = {"topic": topic, "partition": number}
    return place if kind == "replicator" else {"cluster": cluster, **place}


def _wishes(found: Any) -> list[tuple[str, int, int | None]]:
    if not isinstance(found, list) or not found:
        raise ConnectorRefused("offsets", "Partitions / offsets need to be provided for an alter offsets request")
    wishes: list[tuple[str, int, int | None]] = []
    for item in found:
        partition = item.get("partition") if isinstance(item, dict) else None
        if not isinstance(partition, dict) or not partition:
            raise ConnectorRefused("offsets", "The partition for a connector offset cannot be null or empty")
        topic, number = partition.get("topic"), partition.get("partition")
        offset = item.get("offset")
        inner = offset.get("offset") if isinstance(offset, dict) else None
        reached = inner if isinstance(inner, int) else None
        if not isinstance(topic, str) or not isinstance(number, int) or (offset is not None and reached is None):
            raise ConnectorRefused("offsets", 'Expected {"partition": {"topic", "partition"}, "offset": {"offset"}}')
        wishes.append((topic, number, reached))
    return wishes
