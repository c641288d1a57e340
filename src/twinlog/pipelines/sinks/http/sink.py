"""The HTTP sink: one request per record, or per some records. At least once. Runs in Python workers.

A server answers before the position is stored, so a crash in between repeats requests. The header `Idempotency-Key`
names topic, partition and offset of the first record: a server that keeps it can leave repeats out.
"""

from __future__ import annotations

import base64
import http.client
import ssl
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar
from urllib.parse import quote

from twinlog.config.security.places import split_url
from twinlog.model.names import TopicPartition
from twinlog.pipelines.api import Delivery, Finding, Owner, Rejected, Retriable, SettingsRefused, SinkBatch, Takes
from twinlog.pipelines.sinks.http.settings import HttpSettings


class HttpSink:
    """Records as HTTP requests."""

    also: ClassVar = (
        "io.confluent.connect.http.HttpSinkConnector",
        "io.aiven.kafka.connect.http.HttpSinkConnector",
    )
    settings: ClassVar = HttpSettings
    takes: ClassVar[Takes] = "documents"
    delivery: ClassVar[Delivery] = "at-least-once"

    def __init__(self, s: HttpSettings) -> None:
        self.s = s
        try:
            self._address = split_url(s.url)
        except ValueError as error:
            raise SettingsRefused([Finding("http.api.url", str(error))]) from None
        if "://" not in s.url or self._address.scheme not in {"http", "https"} or not self._address.hostname:
            raise SettingsRefused([Finding("http.api.url", "must begin with http:// or https:// and name a host")])
        self._retried = status_codes(s.retried)
        self._headers = {"Content-Type": s.kind, **_headers(s)}
        self._connection: http.client.HTTPConnection | None = None

    def check(self) -> Iterable[Finding]:
        try:
            self._connected().connect()
        except OSError as error:
            yield Finding("http.api.url", f"{self._where}: {error}")
        finally:
            self.close()

    def positions(self, connector: str) -> Mapping[TopicPartition, int] | None:  # noqa: ARG002
        return None

    def open(self, owner: Owner, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:  # noqa: ARG002
        return {}

    def put(self, batch: SinkBatch) -> Sequence[Rejected]:
        rejected: list[Rejected] = []
        waiting: list[int] = []
        values, keys = batch.values.to_pylist(), batch.keys.to_pylist()
        alone = "${key}" in self.s.url
        for row, value in enumerate(values):
            if value is None:
                rejected += self._absent(batch, row, keys[row])
                continue
            waiting.append(row)
            if alone or len(waiting) >= self.s.batch:
                rejected += self._sent(batch, waiting, values, keys)
                waiting = []
        return [*rejected, *(self._sent(batch, waiting, values, keys) if waiting else [])]

    def _absent(self, batch: SinkBatch, row: int, key: str | None) -> list[Rejected]:
        if self.s.nulls == "ignore":
            return []
        if self.s.nulls == "fail":
            return [Rejected(row, "the record has no value")]
        refusal = self._request("DELETE", batch, row, key, None)
        return [] if refusal is None else [Rejected(row, refusal)]

    def _sent(self, batch: SinkBatch, rows: list[int], values: list[Any], keys: list[Any]) -> list[Rejected]:
        """Send some records; when they are refused together, one by one, so that good ones are not lost."""
        body = self.s.separator.join(values[row] for row in rows)
        if self.s.batch > 1 or self.s.prefix or self.s.suffix:
            body = f"{self.s.prefix}{body}{self.s.suffix}"
        refusal = self._request(self.s.method.upper(), batch, rows[0], keys[rows[0]], body.encode())
        if refusal is None:
            return []
        if len(rows) == 1:
            return [Rejected(rows[0], refusal)]
        return [rejected for row in rows for rejected in self._sent(batch, [row], values, keys)]

    def _request(self, method: str, batch: SinkBatch, row: int, key: str | None, body: bytes | None) -> str | None:
        """None when the server took it, or why not. Raises Retriable."""
        partition, offset = batch.rows.column("partition")[row].as_py(), batch.rows.column("offset")[row].as_py()
        came_from = batch.rows.column("topic")[row].as_py()
        path = self._address.path + (f"?{self._address.query}" if self._address.query else "")
        path = path.replace("${topic}", quote(batch.topic, safe="")).replace("${key}", quote(key or "", safe=""))
        headers = {**self._headers, "Idempotency-Key": f"{came_from}+{partition}+{offset}"}
        try:
            connection = self._connected()
            connection.request(method, path or "/", body, headers)
            answer = connection.getresponse()
            text = answer.read(500).decode(errors="replace")
            answer.read()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise Retriable(f"{self._where}: {error or type(error).__name__}", self.s.backoff_ms) from error
        if answer.status < 300:
            return None
        if answer.status in self._retried:
            raise Retriable(f"{self._where}: {answer.status} {text[:200]}", self.s.backoff_ms)
        return f"{self._where}: {answer.status} {text[:200]}"

    @property
    def _where(self) -> str:
        return f"{self._address.scheme}://{self._address.hostname}:{self._address.port or ''}"

    def _connected(self) -> http.client.HTTPConnection:
        if self._connection is None:
            host, port, wait = self._address.hostname or "", self._address.port, self.s.timeout_ms / 1000
            if self._address.scheme == "https":
                context = ssl.create_default_context(cafile=self.s.ca_file or None)
                self._connection = http.client.HTTPSConnection(host, port, timeout=wait, context=context)
            else:
                self._connection = http.client.HTTPConnection(host, port, timeout=wait)
        return self._connection

    def flush(self, positions: Mapping[TopicPartition, int]) -> None:
        """Nothing waits: the server has taken every record."""

    def preview(self, batch: SinkBatch) -> Sequence[str]:
        """The requests that would be sent."""
        return [f"{self.s.method.upper()} {self.s.url} {value}" for value in batch.values.to_pylist()]

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None


def status_codes(text: str) -> range | frozenset[int]:
    """`408,429,500-` as a set of numbers. Raises SettingsRefused."""
    codes: set[int] = set()
    for part in (piece.strip() for piece in text.split(",") if piece.strip()):
        first, dash, last = part.partition("-")
        try:
            codes |= set(range(int(first), (int(last) if last else 599) + 1)) if dash else {int(first)}
        except ValueError:
            raise SettingsRefused([Finding("retry.on.status.codes", f"{part!r} is no status or range")]) from None
    return frozenset(codes)


def _headers(s: HttpSettings) -> dict[str, str]:
    headers = {}
    for header in (part for part in s.headers.split(s.header_separator) if part.strip()):
        name, _, value = header.partition(":")
        headers[name.strip()] = value.strip()
    if s.auth == "basic":
        login = base64.b64encode(f"{s.user}:{s.password.reveal()}".encode()).decode()
        headers["Authorization"] = f"Basic {login}"
    elif s.auth == "bearer":
        headers["Authorization"] = f"Bearer {s.password.reveal()}"
    return headers
