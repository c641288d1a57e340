"""HTTP to Elasticsearch: one connection kept open, the next address when one fails. Runs in Python workers."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
from collections.abc import Mapping
from typing import Any, Final

from twinlog.config.security.places import leads_to_urls, split_url
from twinlog.pipelines.api import Finding, Retriable, SettingsRefused
from twinlog.pipelines.sinks.elasticsearch.settings import ElasticsearchSettings

_PASSING: Final = frozenset({408, 429, 500, 502, 503, 504})


class Refused(Exception):
    """The cluster refuses a request as a whole; waiting does not help."""


class Requests:
    """Asks one of the addresses."""

    def __init__(self, s: ElasticsearchSettings) -> None:
        self._s = s
        try:
            leads_to_urls(",".join(s.urls))
            self._addresses = [split_url(url) for url in s.urls]
        except ValueError as error:
            raise SettingsRefused([Finding("connection.url", str(error))]) from None
        self._connection: http.client.HTTPConnection | None = None
        self._turn = 0
        self._headers = {"Connection": "keep-alive"}
        if s.user:
            login = base64.b64encode(f"{s.user}:{s.password.reveal()}".encode()).decode()
            self._headers["Authorization"] = f"Basic {login}"

    @property
    def where(self) -> str:
        address = self._addresses[self._turn % len(self._addresses)]
        return f"{address.scheme}://{address.hostname}:{address.port or 9200}"

    def ask(self, method: str, path: str, body: bytes | None = None, kind: str = "application/json") -> tuple[int, Any]:
        """Status and parsed answer. Raises Retriable for passing faults."""
        try:
            connection = self._connected()
            headers = {**self._headers, **({"Content-Type": kind} if body is not None else {})}
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            data = answer.read()
        except (OSError, http.client.HTTPException) as error:
            where = self.where
            self.close()
            self._turn += 1
            raise Retriable(f"{where}: {error or type(error).__name__}", self._s.backoff_ms) from error
        if answer.status in _PASSING:
            raise Retriable(f"{self.where}: {answer.status} {data[:200].decode(errors='replace')}", self._s.backoff_ms)
        if answer.status in {401, 403}:
            raise Refused(f"{self.where}: {answer.status}: the user may not do this")
        return answer.status, _parsed(data)

    def _connected(self) -> http.client.HTTPConnection:
        if self._connection is None:
            address = self._addresses[self._turn % len(self._addresses)]
            timeout = (self._s.connect_timeout_ms + self._s.read_timeout_ms) / 1000 + 27
            port = address.port or 9200
            if address.scheme == "https":
                context = ssl.create_default_context()
                self._connection = http.client.HTTPSConnection(
                    address.hostname or "", port, timeout=timeout, context=context
                )
            else:
                self._connection = http.client.HTTPConnection(address.hostname or "", port, timeout=timeout)
        return self._connection

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data) if data else {}
    except ValueError:
        return {"text": data.decode(errors="replace")}


def problem_of(item: Mapping[str, Any]) -> tuple[int, str]:
    """Status and reason of one entry of a bulk answer."""
    entry: dict[str, Any] = next(iter(item.values()), {})
    error = entry.get("error") or {}
    if isinstance(error, str):
        return int(entry.get("status", 0)), error
    reason = f"{error.get('type', '')}: {error.get('reason', '')}"
    cause = (error.get("caused_by") or {}).get("reason")
    return int(entry.get("status", 0)), f"{reason}: {cause}" if cause else reason
