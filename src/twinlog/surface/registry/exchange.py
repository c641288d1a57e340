"""One request and one answer of the registry, with Confluent's rules for types, numbers and truth values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from twinlog.registry.json_out import encode
from twinlog.registry.refusals import Refusal


class NoSuchPath(Exception):
    """Nothing is under this path."""


class BadRequest(Exception):
    """A request that Confluent's web server refuses before the registry sees it; the text is the reason."""


@dataclass(slots=True)
class Request:
    """What a client sent. `segments` are the decoded parts of the path, contexts and aliases replaced."""

    method: str
    segments: list[str]
    query: dict[str, list[str]]
    headers: Mapping[bytes, bytes]
    body: bytes = b""

    def text(self, name: str, default: str = "") -> str:
        values = self.query.get(name)
        return values[0] if values else default

    def texts(self, name: str) -> list[str]:
        return self.query.get(name, [])

    def flag(self, name: str) -> bool:
        return self.text(name).lower() == "true"

    def number(self, name: str, default: int) -> int:
        """A text that is no number is, as in Confluent's server, a path that does not exist."""
        text = self.text(name)
        if not text.strip():
            return default
        try:
            value = int(text)
        except ValueError:
            raise NoSuchPath from None
        if not -(2**31) <= value < 2**31:
            raise NoSuchPath
        return value

    def page(self, most: int | None = None) -> tuple[int, int | None]:
        """Offset and end of the part that is asked for; `most` is the default and the limit."""
        offset, limit = self.number("offset", 0), self.number("limit", -1)
        size = limit if limit > 0 and (most is None or limit <= most) else most
        return max(offset, 0), None if size is None else max(offset, 0) + size


@dataclass(slots=True)
class Answer:
    """`body` is sent as it is. A `volatile` answer may change while the state does not, so it is never kept."""

    status: int = 200
    body: bytes = b""
    typed: bool = True
    type: bytes | None = None  # another type than the one that the client prefers
    volatile: bool = False
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)


def json_answer(value: Any, status: int = 200) -> Answer:
    """A JSON value as an answer."""
    return Answer(status, encode(value))


def refused(refusal: Refusal) -> Answer:
    """A refusal as an answer."""
    answer = json_answer(refusal.body(), refusal.status)
    if refusal.retry_after_s is not None:
        answer.headers.append((b"retry-after", str(refusal.retry_after_s).encode()))
    return answer


def plain_error(status: int, reason: str, *, typed: bool = False) -> Answer:
    """An error of HTTP itself; Confluent's server sends most of them without a type."""
    return Answer(status, encode({"error_code": status, "message": f"HTTP {status} {reason}"}), typed)


def bad_request(reason: str, method: str) -> Answer:
    """Status 400 for a header or a path that cannot be read. Only some methods are told the reason."""
    if method not in {"GET", "HEAD", "POST"}:
        return Answer(400, typed=False)
    body = encode({"error_code": 400, "message": reason})
    return Answer(400, body, type=b"application/json")


def read_query(query: bytes) -> dict[str, list[str]]:
    """The parameters of a query, each with all its values."""
    parameters: dict[str, list[str]] = {}
    for name, value in parse_qsl(query.decode("latin-1"), keep_blank_values=True, errors="replace"):
        parameters.setdefault(name, []).append(value)
    return parameters
