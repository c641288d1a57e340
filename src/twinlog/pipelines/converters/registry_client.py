"""Questions to a schema registry: schema by id, id by schema. Runs on the driver; each answer is asked for once."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import SplitResult, quote, unquote

from twinlog.config.security.places import split_url
from twinlog.errors import RegistryRefused, RegistryUnreachable
from twinlog.pipelines.converters.registry_settings import RegistrySettings

_KIND: Final = "application/vnd.schemaregistry.v1+json"
_PASSING: Final = frozenset({408, 429, 500, 502, 503, 504})


@dataclass(frozen=True)
class Registered:
    """A schema as the registry keeps it, with the texts of the schemas that it refers to, by name."""

    id: int
    kind: str  # AVRO, JSON, PROTOBUF
    text: str
    references: tuple[tuple[str, str], ...] = ()


class RegistryClient:
    """One registry. Ids are for ever, so answers are kept."""

    def __init__(self, s: RegistrySettings) -> None:
        self._s = s
        self._addresses = [split_url(url.rstrip("/")) for url in s.urls]
        self._by_id: dict[int, Registered] = {}
        self._ids: dict[tuple[str, str], Registered] = {}

    def schema(self, schema_id: int) -> Registered:
        """Raises RegistryUnreachable, RegistryRefused."""
        if schema_id not in self._by_id:
            answer = self._ask("GET", f"/schemas/ids/{schema_id}")
            self._by_id[schema_id] = self._registered(schema_id, answer)
        return self._by_id[schema_id]

    def id_of(self, subject: str, kind: str, text: str) -> Registered:
        """The id of a schema, which is registered if it is new and that is wanted."""
        known = self._ids.get((subject, text))
        if known is not None:
            return known
        place = f"/subjects/{quote(subject, safe='')}"
        if self._s.latest:
            answer = self._ask("GET", f"{place}/versions/latest")
            made = self._registered(int(answer["id"]), answer)
        else:
            body = {"schema": text} if kind == "AVRO" else {"schema": text, "schemaType": kind}
            normal = "?normalize=true" if self._s.normalize else ""
            path = f"{place}/versions" if self._s.register else place
            made = Registered(int(self._ask("POST", path + normal, body)["id"]), kind, text)
        self._ids[subject, text] = made
        return made

    def _registered(self, schema_id: int, answer: dict[str, Any]) -> Registered:
        references: dict[str, str] = {}
        self._collect(answer.get("references") or [], references)
        return Registered(schema_id, answer.get("schemaType", "AVRO"), answer["schema"], tuple(references.items()))

    def _collect(self, wanted: list[dict[str, Any]], into: dict[str, str]) -> None:
        for reference in wanted:
            if reference["name"] not in into:
                place = f"/subjects/{quote(reference['subject'], safe='')}/versions/{reference['version']}"
                answer = self._ask("GET", place)
                # What it refers to comes before it, as a parser needs it.
                self._collect(answer.get("references") or [], into)
                into[reference["name"]] = answer["schema"]

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        reasons = []
        for address in self._addresses:
            try:
                status, answer = self._asked(address, method, path, body)
            except (OSError, http.client.HTTPException) as error:
                reasons.append(str(error) or type(error).__name__)
                continue
            if status in _PASSING:
                reasons.append(f"answer {status}")
                continue
            if status >= 400:
                told = answer.get("message", "") if isinstance(answer, dict) else answer
                raise RegistryRefused(shown(address), f"{method} {path}", f"{status} {told}")
            return answer
        raise RegistryUnreachable(", ".join(shown(url) for url in self._addresses), "; ".join(reasons))

    def _asked(self, address: SplitResult, method: str, path: str, body: Any) -> tuple[int, Any]:
        wait_s = self._s.timeout_ms / 1000
        connection: http.client.HTTPConnection
        if address.scheme == "https":
            context = ssl.create_default_context(cafile=self._s.ca_file or None)
            connection = http.client.HTTPSConnection(address.hostname or "", address.port, timeout=wait_s,
                                                     context=context)  # fmt: skip
        else:
            connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=wait_s)
        try:
            data = None if body is None else json.dumps(body).encode()
            connection.request(method, address.path + path, data, self._headers(address))
            answer = connection.getresponse()
            text = answer.read().decode(errors="replace")
        finally:
            connection.close()
        try:
            return answer.status, json.loads(text)
        except ValueError:
            return answer.status, text[:200]

    def _headers(self, address: SplitResult) -> dict[str, str]:
        login = self._s.login.reveal() if self._s.credentials == "user_info" else ""
        if not login and address.username:
            login = f"{unquote(address.username)}:{unquote(address.password or '')}"
        told = {"Accept": f"{_KIND}, application/json", "Content-Type": _KIND}
        return told | ({"Authorization": f"Basic {base64.b64encode(login.encode()).decode()}"} if login else {})


def shown(address: SplitResult) -> str:
    """The address without its login."""
    port = "" if address.port is None else f":{address.port}"
    return f"{address.scheme}://{address.hostname}{port}{address.path}"
