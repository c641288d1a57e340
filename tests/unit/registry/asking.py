"""A registry in memory, asked as over HTTP, without a server."""

from __future__ import annotations

import asyncio
import json
from typing import Any, NamedTuple
from urllib.parse import quote

from twinlog.registry.memory import MemoryStore
from twinlog.surface.registry.app import RegistryApp
from twinlog.surface.registry.registry import Registry


class Answered(NamedTuple):
    status: int
    type: str | None
    body: str

    def json(self) -> Any:
        return json.loads(self.body)


class Asking:
    """Calls the application as a server would."""

    def __init__(self, **rules: Any) -> None:
        self.store = MemoryStore()
        self.registry = Registry(self.store, cluster_id="cluster", **rules)
        self.app = RegistryApp(self.registry)

    def __call__(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None, raw: bytes | None = None
    ) -> Answered:
        data = raw if raw is not None else b"" if body is None else json.dumps(body).encode()
        return asyncio.run(self._call(method, path, data, headers or {}))

    async def _call(self, method: str, path: str, data: bytes, headers: dict[str, str]) -> Answered:
        plain, _, query = path.partition("?")
        scope = {
            "type": "http",
            "method": method,
            "path": plain,
            "raw_path": quote(plain, safe="/%:*").encode(),
            "query_string": query.encode(),
            "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
        }
        sent: list[Any] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": data, "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        found = dict(sent[0]["headers"])
        kind = found.get(b"content-type")
        return Answered(sent[0]["status"], None if kind is None else kind.decode(), sent[1]["body"].decode())

    def register(self, subject: str, schema: Any, **more: Any) -> Answered:
        text = schema if isinstance(schema, str) else json.dumps(schema)
        return self("POST", f"/subjects/{subject}/versions", {"schema": text, **more})


def record(name: str, **fields: str) -> dict[str, Any]:
    """An Avro record."""
    return {"type": "record", "name": name, "fields": [{"name": key, "type": kind} for key, kind in fields.items()]}
