"""`/connector-plugins`: which connectors can be made, what may be set, and whether settings are in order."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Annotated, Any, Final

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import JSONResponse

from twinlog.config.security.masking import is_secret, masked
from twinlog.config.text.catalogue import CATALOGUE
from twinlog.config.text.keys import Key, Scope, Supported
from twinlog.config.text.values import Flag, Regexes, Whole, Words
from twinlog.control.connector_set import check_connector
from twinlog.control.refusals import unknown_class
from twinlog.errors import ConnectorRefused, ConnectorUnknown
from twinlog.model.connectors import CLASSES, Connector, kind_of
from twinlog.surface.rest.connect.exchange import (
    CONFIG_SCHEMA,
    PROBLEMS,
    ConnectRoute,
    json_body,
    read_config,
    steward_of,
    who_asks,
)

router = APIRouter(prefix="/connector-plugins", tags=["plugins"], route_class=ConnectRoute, responses=PROBLEMS)

Plugin = Annotated[str, Path(description="A class, with or without its package and the word Connector.")]
_TYPES: Final[tuple[tuple[type, str], ...]] = ((Flag, "BOOLEAN"), (Whole, "INT"), (Words, "LIST"), (Regexes, "LIST"))
_REQUIRED: Final = ("name", "connector.class", "source.cluster.alias", "target.cluster.alias")


@router.get("", summary="Connectors that can be made")
async def list_plugins(
    request: Request, connectors_only: Annotated[str, Query(alias="connectorsOnly")] = "true"
) -> Response:
    """There are no other plugins: records are copied as they are."""
    del connectors_only
    return JSONResponse(
        [{"class": name, "type": "source", "version": request.app.version} for name in CLASSES.values()]
    )


@router.get("/{plugin}/config", summary="What may be set")
async def get_definitions(plugin: Plugin) -> Response:
    """One entry per key."""
    if kind_of(plugin) is None:
        raise ConnectorUnknown(plugin, f"Unknown plugin {plugin}.")
    return JSONResponse([*map(_unlisted, _REQUIRED), *(_definition(key) for key in _keys())])


@router.put("/{plugin}/config/validate", summary="Check settings", openapi_extra=json_body(CONFIG_SCHEMA))
async def validate(request: Request, plugin: Plugin) -> Response:
    """Everything that is wrong with them, key by key; nothing is made."""
    config = {key: value for key, value in (await read_config(request)).items() if value is not None}
    chosen = config.get("connector.class", "")
    kind = kind_of(plugin)
    if not chosen.strip():
        raise ConnectorRefused(plugin, unknown_class(chosen))
    if kind_of(chosen) != kind or (kind is None and chosen.rpartition(".")[2] != plugin.rpartition(".")[2]):
        raise ConnectorRefused(plugin, f"Included connector type {chosen} does not match request type {plugin}")
    if kind is None:
        raise ConnectorRefused(plugin, unknown_class(chosen))
    one = Connector(config.get("name", ""), config)
    # Where references and key stores lead is for those alone who may make connectors.
    grounds = replace(steward_of(request).grounds, looks_inside=who_asks(request).may("admin"))
    findings = await asyncio.to_thread(check_connector, one, grounds)
    errors: dict[str, list[str]] = {}
    for finding in findings:
        if finding.level == "error":
            errors.setdefault(finding.key or "connector.class", []).append(finding.sentence)
    if not config.get("name", "").strip():
        errors.setdefault("name", []).append('Missing required configuration "name" which has no default value.')
    known = {key.name for key in _keys()}
    others = [*_REQUIRED, *sorted(name for name in {*config, *errors} if name not in {*known, *_REQUIRED})]
    shown = masked(config)
    # Nothing is changed, but files that settings name are looked at. What is only tried may hold secrets in any place.
    steward_of(request).audit.note(who_asks(request), "validate", one.name, after=sorted(config))
    return JSONResponse(
        {
            "name": CLASSES[kind],
            "error_count": sum(map(len, errors.values())),
            "groups": ["Common"],
            "configs": [
                *(
                    {"definition": _unlisted(name), "value": _value(name, shown.get(name), errors.get(name))}
                    for name in others
                ),
                *(
                    {
                        "definition": _definition(key),
                        "value": _value(key.name, shown.get(key.name, key.default), errors.get(key.name)),
                    }
                    for key in _keys()
                ),
            ],
        }
    )


def _keys() -> list[Key[Any]]:
    return [
        key
        for key in CATALOGUE
        if Scope.LINK in key.scopes and isinstance(key.support, Supported) and not key.name.endswith("*")
    ]


def _definition(key: Key[Any]) -> dict[str, Any]:
    kind = next((name for one, name in _TYPES if isinstance(key.kind, one)), "STRING")
    return _shape(key.name, "PASSWORD" if key.secret else kind, key.default, key.meaning)


def _unlisted(name: str) -> dict[str, Any]:
    """A key of one of the clients, or one that only the pair of clusters has."""
    return _shape(name, "PASSWORD" if is_secret(name) else "STRING", None, "", required=name in _REQUIRED)


def _shape(name: str, kind: str, default: str | None, meaning: str, *, required: bool = False) -> dict[str, Any]:
    return {
        "name": name,
        "type": kind,
        "required": required,
        "default_value": default,
        "importance": "MEDIUM",
        "documentation": meaning,
        "group": "Common",
        "order_in_group": 0,
        "width": "MEDIUM",
        "display_name": name,
        "dependents": [],
    }


def _value(name: str, value: str | None, errors: list[str] | None) -> dict[str, Any]:
    return {"name": name, "value": value, "recommended_values": [], "errors": errors or [], "visible": True}
