"""Another registry asked over HTTP, Confluent's or ours: what it holds, and putting schemas with their ids into it.

Blocking; used by the commands. Nothing but the public interface is used, so it works with any compatible registry.
"""

import base64
import http.client
import json
import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote, urlsplit

from twinlog.errors import RegistryRefused, RegistryUnreachable
from twinlog.registry.inventory import Inventory, Version, in_import_order

_PAGE: Final = 500
_TYPE: Final = "application/vnd.schemaregistry.v1+json"


@dataclass
class RemoteRegistry:
    """`url` may hold a path (a context as base URL) and a login."""

    url: str
    timeout_s: float = 60.0
    _connection: http.client.HTTPConnection | None = None

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Status and JSON. Raises RegistryUnreachable."""
        parts = urlsplit(self.url)
        headers = {"Content-Type": _TYPE, "Accept": f"{_TYPE}, application/json;q=0.5"}
        if parts.username:
            login = f"{parts.username}:{parts.password or ''}".encode()
            headers["Authorization"] = f"Basic {base64.b64encode(login).decode()}"
        data = None if body is None else json.dumps(body).encode()
        for attempt in (0, 1):
            try:
                connection = self._connection or self._connect()
                connection.request(method, parts.path.rstrip("/") + path, data, headers)
                answer = connection.getresponse()
                text = answer.read()
                self._connection = connection
                return answer.status, json.loads(text) if text else None
            except (OSError, http.client.HTTPException, ValueError) as error:
                self._connection = None
                if attempt:
                    raise RegistryUnreachable(_without_login(self.url), str(error) or type(error).__name__) from None
        raise AssertionError

    def want(self, method: str, path: str, body: Any = None) -> Any:
        """JSON of an answer that is none of an error. Raises RegistryRefused."""
        status, answer = self.ask(method, path, body)
        if status >= 400:
            said = answer.get("message") if isinstance(answer, dict) else answer
            raise RegistryRefused(_without_login(self.url), f"{method} {path}", f"{status} {said}")
        return answer

    def _connect(self) -> http.client.HTTPConnection:
        parts = urlsplit(self.url)
        if parts.scheme == "https":
            context = ssl.create_default_context()
            return http.client.HTTPSConnection(
                parts.hostname or "", parts.port, timeout=self.timeout_s, context=context
            )
        return http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=self.timeout_s)

    # --- reading ---

    def inventory(self) -> Inventory:
        """Everything, soft-deleted versions too."""
        live = {(schema["subject"], schema["version"]) for schema in self._schemas(deleted=False)}
        versions = []
        for schema in self._schemas(deleted=True):
            schema["deleted"] = (schema["subject"], schema["version"]) not in live
            versions.append(schema)
        names = sorted({version["subject"] for version in versions})
        inventory = Inventory(versions)
        for name in ["", *names]:
            path = f"/{quote(name, safe='')}" if name else ""
            status, config = self.ask("GET", f"/config{path}")
            if status == 200:
                inventory.configs[name] = config
            status, mode = self.ask("GET", f"/mode{path}")
            if status == 200:
                inventory.modes[name] = mode["mode"]
        return inventory

    def _schemas(self, *, deleted: bool) -> Iterator[Version]:
        offset = 0
        while True:
            query = f"subjectPrefix={quote(':*:')}&deleted={str(deleted).lower()}&offset={offset}&limit={_PAGE}"
            page = self.want("GET", f"/schemas?{query}")
            for schema in page:
                yield {**schema, "schemaType": schema.get("schemaType") or "AVRO"}
            if len(page) < _PAGE:
                return
            offset += len(page)


@dataclass
class Imported:
    """What became of an import."""

    written: int = 0
    known: int = 0
    deleted: int = 0
    conflicts: list[str] = field(default_factory=list)


def put_inventory(
    target: RemoteRegistry, wanted: Inventory, *, force: bool, told: Callable[[int, int], None] = lambda _n, _m: None
) -> Imported:
    """Put every version under its own id; can be repeated after it was cut off. Raises RegistryRefused."""
    outcome = Imported()
    before = target.want("GET", "/mode")["mode"]
    if before != "IMPORT":
        target.want("PUT", f"/mode?force={str(force).lower()}", {"mode": "IMPORT"})
    try:
        ordered = in_import_order(wanted.versions)
        for number, version in enumerate(ordered, 1):
            _put(target, version, outcome)
            told(number, len(ordered))
        for version in ordered:
            if version.get("deleted"):
                path = f"/subjects/{quote(version['subject'], safe='')}/versions/{version['version']}"
                status, _ = target.ask("DELETE", path)
                outcome.deleted += status == 200
        for name, config in wanted.configs.items():
            sent = {("compatibility" if key == "compatibilityLevel" else key): value for key, value in config.items()}
            target.want("PUT", f"/config/{quote(name, safe='')}" if name else "/config", sent)
    finally:
        target.want(
            "PUT", "/mode?force=true", {"mode": wanted.modes.get("", before if before != "IMPORT" else "READWRITE")}
        )
    for name, mode in wanted.modes.items():
        if name:
            target.want("PUT", f"/mode/{quote(name, safe='')}?force=true", {"mode": mode})
    return outcome


def _put(target: RemoteRegistry, version: Version, outcome: Imported) -> None:
    path = f"/subjects/{quote(version['subject'], safe='')}/versions"
    status, there = target.ask("GET", f"{path}/{version['version']}?deleted=true")
    if status == 200 and there["id"] == version["id"] and there["schema"] == version["schema"]:
        outcome.known += 1
        return
    sent = {
        key: version[key] for key in ("schemaType", "references", "metadata", "ruleSet", "schema") if version.get(key)
    }
    status, said = target.ask("POST", path, {**sent, "id": version["id"], "version": version["version"]})
    where = f"{version['subject']} version {version['version']} with id {version['id']}"
    if status != 200:
        outcome.conflicts.append(f"{where}: {said.get('message') if isinstance(said, dict) else said}")
    elif said["id"] != version["id"]:
        outcome.conflicts.append(f"{where}: the registry gave it id {said['id']}; it does not keep ids")
    else:
        outcome.written += 1


def _without_login(url: str) -> str:
    parts = urlsplit(url)
    return url if parts.username is None else url.replace(f"{parts.username}:{parts.password}@", "***@")
