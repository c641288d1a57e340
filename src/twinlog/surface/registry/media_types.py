"""Media types of requests and answers: what is read, what is sent, and which of them a client prefers. Pure."""

import re
from functools import lru_cache
from typing import Final, NamedTuple

V1: Final = b"application/vnd.schemaregistry.v1+json"
TYPES: Final = (V1, b"application/vnd.schemaregistry+json", b"application/json")
_BODY_TYPES: Final = frozenset({*TYPES, b"application/octet-stream"})
_WORTH: Final = {V1: 1.0, TYPES[1]: 0.9, TYPES[2]: 0.5}
_TOKEN: Final = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_RANGE: Final = re.compile(rb"(%s)(?:/(%s))?" % (_TOKEN, _TOKEN))
_TYPE: Final = re.compile(rb"(%s)/(%s)" % (_TOKEN, _TOKEN))
_PARAMETER: Final = re.compile(rb"(%s)\s*=\s*(%s|\"[^\"]*\")" % (_TOKEN, _TOKEN))
_QUALITY: Final = re.compile(rb"(?:0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)")
_PLAIN: Final = b"text/plain"
_KEPT_CHARSET: Final = frozenset({b"utf-8", b"utf8"})


class MalformedType(Exception):
    """A header with media types that cannot be read."""


class _Range(NamedTuple):
    """One part of an Accept header."""

    type: bytes
    subtype: bytes
    parameters: bytes  # without the quality
    quality: float

    def takes(self, offered: bytes) -> bool:
        kind, _, subtype = offered.partition(b"/")
        return self.type in {b"*", kind} and self.subtype in {b"*", subtype}


@lru_cache(maxsize=1024)
def answer_type(accept: bytes | None) -> bytes | None:
    """The type that the client prefers; None when it accepts none that there is. Raises MalformedType."""
    if not accept or accept in {b"*/*", V1}:
        return V1
    best: tuple[float, float] = (0.0, 0.0)
    chosen: bytes | None = None
    for part in _ranges(accept):
        for offered in TYPES:
            if part.quality > 0 and part.takes(offered) and (part.quality, _WORTH[offered]) > best:
                best, chosen = (part.quality, _WORTH[offered]), offered + part.parameters
    return chosen


def options_type(accept: bytes | None) -> bytes:
    """The type of the answer to OPTIONS: plain text, or what the client prefers. May raise as above."""
    if not accept:
        return _PLAIN
    ranges = sorted(_ranges(accept), key=lambda part: (-part.quality, part.type == b"*", part.subtype == b"*"))
    first = ranges[0]
    return _PLAIN if first.takes(_PLAIN) else b"%s/%s%s" % (first.type, first.subtype, first.parameters)


def is_plain_text(kind: bytes) -> bool:
    """Whether the answer to OPTIONS lists the methods in its text, too."""
    return kind == _PLAIN


@lru_cache(maxsize=1024)
def is_body_type(content_type: bytes | None, *, has_body: bool = True) -> bool:
    """Whether a body of this type is read. None is taken as JSON. Raises MalformedType."""
    if not content_type or not content_type.strip():
        return True
    pieces = [piece.strip() for piece in content_type.split(b";")]
    matched = _TYPE.fullmatch(pieces[0])
    if matched is None or any(piece and _PARAMETER.fullmatch(piece) is None for piece in pieces[1:]):
        raise MalformedType
    kind = pieces[0].lower()
    return kind in _BODY_TYPES or (not has_body and kind in {b"*/*", b"application/*"})


def _ranges(accept: bytes) -> list[_Range]:
    ranges: list[_Range] = []
    for part in accept.split(b","):
        pieces = [piece.strip() for piece in part.split(b";")]
        matched = _RANGE.fullmatch(pieces[0])
        if matched is None:
            raise MalformedType
        quality, kept = 1.0, b""
        for piece in filter(None, pieces[1:]):
            parameter = _PARAMETER.fullmatch(piece)
            if parameter is None:
                raise MalformedType
            name, value = parameter[1].lower(), parameter[2]
            if name == b"q":
                if _QUALITY.fullmatch(value) is None:
                    raise MalformedType
                quality = float(value)
            elif name != b"qs" and (name != b"charset" or value.lower() in _KEPT_CHARSET):
                kept += b";%s=%s" % (name, value)
        ranges.append(_Range(matched[1].lower(), (matched[2] or b"*").lower(), kept, quality))
    return ranges
