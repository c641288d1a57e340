"""The path of a request: below a context, and with aliases of subjects replaced, before it is matched. Pure."""

from typing import Final
from urllib.parse import unquote

from twinlog.registry.state import State
from twinlog.registry.subject_names import WILDCARD, beside, context_scope

_SETTINGS: Final = frozenset({"config", "mode"})


def segments_of(raw_path: bytes) -> list[str]:
    """Decoded parts; a subject may hold a slash as `%2F`."""
    return [unquote(part, errors="replace") for part in raw_path.decode("latin-1").split("/") if part]


def below_context(segments: list[str], query: dict[str, list[str]]) -> list[str]:
    """`/contexts/.east/subjects/a` means subject `:.east:a`. Changes `query` alike. Raises ValueError."""
    if len(segments) < 2 or segments[0] != "contexts":
        return segments
    scope, rest = context_scope(segments[1]), segments[2:]
    if not rest:
        return ["contexts", scope] if scope else ["contexts"]
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
