"""The path of a request: below a context, and with aliases of subjects replaced, before it is matched. Pure."""

import re
from typing import Final
from urllib.parse import unquote

from twinlog.registry.state import State
from twinlog.registry.subject_names import WILDCARD, beside, context_scope
from twinlog.surface.registry.exchange import BadRequest

_SUSPICIOUS: Final = re.compile(r"[\x00-\x1f\x7f\\]")
_SETTINGS: Final = frozenset({"config", "mode"})


def segments_of(raw_path: bytes) -> list[str]:
    """Decoded parts; a subject may hold a slash as `%2F`. What follows a `;` is no part of a name.

    Raises BadRequest for a path that Confluent's web server refuses.
    """
    if b"//" in raw_path:
        raise BadRequest("Ambiguous URI empty segment")
    if b"%" not in raw_path and b";" not in raw_path:
        return [part for part in raw_path.decode("latin-1").split("/") if part]
    return [_decoded(part.partition(";")[0]) for part in raw_path.decode("latin-1").split("/") if part]


def _decoded(part: str) -> str:
    try:
        name = unquote(part, errors="strict")
    except UnicodeDecodeError:
        raise BadRequest("Bad UTF-8 encoding") from None
    if part != name and name in {".", ".."}:
        raise BadRequest("Ambiguous URI path segment")
    if _SUSPICIOUS.search(name):
        raise BadRequest("Suspicious Path Character")
    return name


def below_context(segments: list[str], query: dict[str, list[str]]) -> list[str]:
    """`/contexts/.east/subjects/a` means subject `:.east:a`. Changes `query` alike. Raises ValueError."""
    if len(segments) < 2 or segments[0] != "contexts":
        return segments
    scope, rest = context_scope(segments[1]), segments[2:]
    if not rest:
        return ["contexts", scope] if scope else [] if segments[1] == "." else ["contexts"]
    if rest[0] in _SETTINGS:
        if len(rest) == 1:
            return [rest[0], scope] if scope else rest
        return [rest[0], _within(scope, rest[1]), *rest[2:]]
    path = list(rest)
    for at, part in enumerate(rest[:-1]):
        if part == "subjects":
            path[at + 1] = _within(scope, rest[at + 1])
            break
    if path[:2] == ["schemas", "ids"]:
        query["subject"] = [_within(scope, (query.get("subject") or [""])[0])]
    elif path in (["schemas"], ["subjects"]):
        query["subjectPrefix"] = [_within(scope, prefix) for prefix in query.get("subjectPrefix") or [""]]
    return path


def with_aliases(
    segments: list[str], query: dict[str, list[str]], state: State, prefixes: tuple[str, ...] = ()
) -> list[str]:
    """Replaces a subject that is another name of one, after `/subjects/` and in `?subject=`.

    With `prefixes`, the subject of a mirrored topic (`A.orders-value`) is another name of its original's.
    """
    path = list(segments)
    for at, part in enumerate(segments[:-1]):
        if part == "subjects":
            path[at + 1] = _real(segments[at + 1], state, prefixes)
            break
    if path[:2] == ["schemas", "ids"] and query.get("subject"):
        query["subject"] = [_real(query["subject"][0], state, prefixes)]
    return path


def _within(scope: str, name: str) -> str:
    return name if name.startswith((":.", WILDCARD)) else scope + name


def _real(name: str, state: State, prefixes: tuple[str, ...]) -> str:
    alias = (state.configs.get(name) or {}).get("alias") if name else None
    if alias:
        return beside(name, alias)
    for prefix in prefixes:
        original = name.removeprefix(prefix)
        if original != name and name not in state.subjects and original in state.subjects:
            return original
    return name
