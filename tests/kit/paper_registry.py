"""A registry on paper beside a paper service: schemas in memory, two clusters, one of them a copy that is behind."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.kit.paper_backend import PaperBackend

from twinlog.registry.memory import MemoryStore
from twinlog.registry.pair.index import TopicIndex
from twinlog.registry.pair.site import Instance, Site
from twinlog.surface.http.app_state import AppState
from twinlog.surface.registry.app import RegistryApp
from twinlog.surface.registry.exchange import Request
from twinlog.surface.registry.registry import Registry
from twinlog.surface.registry.writing import register

URL = "http://reg-1.east:8081"


class PaperStatus:
    def __init__(self) -> None:
        self.loading: dict[str, Any] | None = None

    def facts(self) -> dict[str, Any]:
        return {
            "url": URL,
            "role": "leader",
            "leader": URL,
            "loaded": self.loading is None,
            "loading": self.loading,
            "errors": [],
            "fault_count": 0,
        }


class PaperRegistry:
    """What an `AppState` shows of a registry."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.registry = Registry(self.store)
        self.app = RegistryApp(self.registry)
        self.status: Any = PaperStatus()

    def register(self, subject: str, schema: Any, kind: str = "AVRO") -> None:
        text = schema if isinstance(schema, str) else json.dumps(schema)
        body = json.dumps({"schema": text, "schemaType": kind}).encode()
        order = register(self.registry, Request("POST", ["subjects", subject, "versions"], {}, {}, body))
        with ThreadPoolExecutor(1) as apart:  # a browser's driver has a loop in the test's own thread
            apart.submit(asyncio.run, order).result()

    def index(self, records: int | None = None) -> TopicIndex:
        found = TopicIndex()
        for offset, record in enumerate(self.store.log[:records]):
            found.apply(record.key, record.value, offset)
        return found


def record_of(name: str, *fields: tuple[str, Any]) -> dict[str, Any]:
    made = [{"name": field, "type": kind, **({"default": None} if kind[0] == "null" else {})} for field, kind in fields]
    return {"type": "record", "name": name, "namespace": "shop", "fields": made}


def add_registry(backend: PaperBackend, app_state: AppState) -> PaperRegistry:
    """Orders with three versions, a JSON and a Protobuf subject; the copy in the west lacks the last record."""
    registry = PaperRegistry()
    known: list[tuple[str, Any]] = [("id", "string"), ("customer", "string"), ("amount", "double")]
    registry.register("orders-value", record_of("Order", *known))
    registry.register("orders-value", record_of("Order", *known, ("note", ["null", "string"])))
    registry.register("clicks-value", {"type": "object", "properties": {"page": {"type": "string"}}}, "JSON")
    registry.register(
        "payments-value", 'syntax = "proto3"; message Payment { string id = 1; int64 cents = 2; }', "PROTOBUF"
    )
    more = [("note", ["null", "string"]), ("coupon", ["null", "string"])]
    registry.register("orders-value", record_of("Order", *known, *more))
    east = (Instance(URL, True, True), Instance("http://reg-2.east:8081", True, False))
    west = (Instance("http://reg-1.west:8081", True, True),)
    backend.sites = [
        Site("east", "_schemas", registry.index(), east, "east-id", "east"),
        Site("west", "_schemas", registry.index(len(registry.store.log) - 1), west, "west-id", "east"),
    ]
    app_state.registry = registry
    return registry
