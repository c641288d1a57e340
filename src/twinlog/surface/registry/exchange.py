"""One request and one answer of the registry, with Confluent's rules for types, numbers and truth values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qsl

from twinlog.registry.json_out import encode
from twinlog.registry.refusals import Refusal

V1: Final = b"application/vnd.schemaregistry.v1+json"
TYPES: Final = (V1, b"application/vnd.schemaregistry+json", b"application/json")
_BODY_TYPES: Final = frozenset({*TYPES, b"application/octet-stream"})
_WORTH: Final = {V1: 1.0, TYPES[1]: 0.9, TYPES[2]: 0.5}


class NoSuchPath(Exception):
    """Nothing is under this path."""


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
        if not text:
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


def read_query(query: bytes) -> dict[str, list[str]]:
    """The parameters of a query, each with all its values."""
    parameters: dict[str, list[str]] = {}
    for name, value in parse_qsl(query.decode("latin-1"), keep_blank_values=True, errors="replace"):
        parameters.setdefault(name, []).append(value)
    return parameters


def answer_type(accept: bytes | None) -> bytes | None:
    """The media type that the client prefers; None when it accepts none that the registry has."""
    if not accept or accept in {b"*/*", V1}:
        return V1
    worth: dict[bytes, float] = {}
    for part in accept.split(b","):
        kind, *parameters = (piece.strip() for piece in part.split(b";"))
        quality = 1.0
        for parameter in parameters:
            name, _, value = parameter.partition(b"=")
            if name.strip().lower() == b"q":
                try:
                    quality = float(value)
                except ValueError:
                    quality = 0.0
        for offered in TYPES:
            if _fits(kind.lower(), offered):
                worth[offered] = max(worth.get(offered, 0.0), quality)
    best = max(worth, key=lambda offered: (worth[offered], _WORTH[offered]), default=None)
    return best if best is not None and worth[best] > 0 else None


def _fits(kind: bytes, offered: bytes) -> bool:
    return kind in {offered, b"*/*", b"application/*"}


def is_body_type(content_type: bytes | None) -> bool:
    """Whether a body of this type is read. None is taken as JSON."""
    if not content_type:
        return True
    kind = content_type.partition(b";")[0].strip().lower()
    return kind in _BODY_TYPES
