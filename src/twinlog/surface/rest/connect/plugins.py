"""`/connector-plugins`: which connectors can be made, what may be set, and whether settings are in order."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import JSONResponse

from twinlog.config.security.masking import is_secret, masked
from twinlog.control.kind import Definition
from twinlog.control.kinds import all_kinds, kind_named, other_plugins, unknown_class
from twinlog.errors import ConnectorRefused, ConnectorUnknown
from twinlog.model.connectors import Connector
from twinlog.surface.rest.connect.exchange import (
    CONFIG_SCHEMA,
    PROBLEMS,
    ConnectRoute,
    json_body,
    read_config,
    service_of,
    who_asks,
)

router = APIRouter(prefix="/connector-plugins", tags=["plugins"], route_class=ConnectRoute, responses=PROBLEMS)

Plugin = Annotated[str, Path(description="A class, with or without its package and the word Connector.")]


@router.get("", summary="Connectors that can be made")
async def list_plugins(
    request: Request, connectors_only: Annotated[str, Query(alias="connectorsOnly")] = "true"
) -> Response:
    """With `connectorsOnly=false` also converters, transforms and predicates."""
    kinds = await asyncio.to_thread(all_kinds)
    listed = [{"class": kind.class_name, "type": kind.type, "version": request.app.version} for kind in kinds]
    if connectors_only.lower() == "false":
        others = await asyncio.to_thread(other_plugins)
        listed += [{"class": plugin.class_name, "type": plugin.type, "version": plugin.version} for plugin in others]
    return JSONResponse(listed)


@router.get("/{plugin}/config", summary="What may be set")
async def get_definitions(plugin: Plugin) -> Response:
    """One entry per key."""
    kind = kind_named(plugin)
    if kind is not None:
        return JSONResponse([_shape(definition) for definition in kind.definitions()])
    other = next((known for known in other_plugins() if known.is_called(plugin)), None)
    if other is None:
        raise ConnectorUnknown(plugin, f"Unknown plugin {plugin}.")
    return JSONResponse([_shape(definition) for definition in other.definitions()])


@router.put("/{plugin}/config/validate", summary="Check settings", openapi_extra=json_body(CONFIG_SCHEMA))
async def validate(request: Request, plugin: Plugin) -> Response:
    """Everything that is wrong with them, key by key; nothing is made."""
    config = {key: value for key, value in (await read_config(request)).items() if value is not None}
    chosen = config.get("connector.class", "")
    kind = kind_named(plugin)
    if not chosen.strip():
        raise ConnectorRefused(plugin, unknown_class(chosen))
    if kind_named(chosen) != kind or (kind is None and chosen.rpartition(".")[2] != plugin.rpartition(".")[2]):
        raise ConnectorRefused(plugin, f"Included connector type {chosen} does not match request type {plugin}")
    if kind is None:
        raise ConnectorRefused(plugin, unknown_class(chosen))
    connector = Connector(config.get("name", ""), config)
    # Where references and key stores lead is for those alone who may make connectors.
    grounds = replace(service_of(request).planning.grounds, looks_inside=who_asks(request).may("admin"))
    findings = await asyncio.to_thread(lambda: (*kind.check(connector, grounds), *kind.try_out(connector, grounds)))
    errors: dict[str, list[str]] = {}
    for finding in findings:
        if finding.level == "error":
            errors.setdefault(finding.key or "connector.class", []).append(finding.sentence)
    if not config.get("name", "").strip():
        errors.setdefault("name", []).append('Missing required configuration "name" which has no default value.')
    definitions = {definition.name: definition for definition in kind.definitions()}
    required = [definition for definition in definitions.values() if definition.required]
    others = [_unlisted(name) for name in sorted({*config, *errors} - set(definitions))]
    optional = [definition for definition in definitions.values() if not definition.required]
    shown = masked(config)
    # Nothing is changed, but files that settings name are looked at. What is only tried may hold secrets in any place.
    service_of(request).audit.note(who_asks(request), "validate", connector.name, after=sorted(config))
    return JSONResponse(
        {
            "name": kind.class_name,
            "error_count": sum(map(len, errors.values())),
            "groups": ["Common"],
            "configs": [
                {
                    "definition": _shape(definition),
                    "value": _value(
                        definition.name, shown.get(definition.name, definition.default), errors.get(definition.name)
                    ),
                }
                for definition in (*required, *others, *optional)
            ],
        }
    )


def _unlisted(name: str) -> Definition:
    """A key that the kind does not list: one of the clients, or an unknown one."""
    return Definition(name, "PASSWORD" if is_secret(name) else "STRING")


def _shape(definition: Definition) -> dict[str, Any]:
    return {
        "name": definition.name,
        "type": definition.type,
        "required": definition.required,
        "default_value": definition.default,
        "importance": definition.importance,
        "documentation": definition.meaning,
        "group": "Common",
        "order_in_group": 0,
        "width": "MEDIUM",
        "display_name": definition.name,
        "dependents": [],
    }


def _value(name: str, value: str | None, errors: list[str] | None) -> dict[str, Any]:
    return {"name": name, "value": value, "recommended_values": [], "errors": errors or [], "visible": True}
