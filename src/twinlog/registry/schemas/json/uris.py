"""Addresses of schemas: how a `$ref` is resolved against the `$id` around it, as Java's URI does it."""

import re
from urllib.parse import unquote_plus

from twinlog.registry.schemas.schema import InvalidSchema

_PARTS = re.compile(r"^(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?$", re.DOTALL)
_ILLEGAL = re.compile(r"[\x00-\x20\x7f<>\"{}|\\^`\[\]]|%(?![0-9A-Fa-f]{2})|#.*#", re.DOTALL)


def checked(address: str) -> str:
    """The address, or InvalidSchema where Java's URI refuses it."""
    if _ILLEGAL.search(address):
        raise InvalidSchema("Invalid JSON", rejected_by_check=True, cause=f"{address} is no URI")
    return address


def resolve(base: str | None, reference: str) -> str:
    """`reference` as seen from `base`."""
    checked(reference)
    if base is None:
        return reference
    scheme, authority, path, query, fragment = _split(reference)
    base_scheme, base_authority, base_path = _split(base)[:3]
    opaque = base_scheme is not None and base_authority is None and not base_path.startswith("/")
    if scheme is not None:
        return reference
    if not path and authority is None and query is None:
        return base if fragment is None else f"{base.partition('#')[0]}#{fragment}"
    if opaque:
        return reference
    if authority is not None:
        return f"{base_scheme}:{reference}" if base_scheme else reference
    if not path.startswith("/"):
        path = _merged(base_path, path, rooted=base_authority is not None)
    start = f"{base_scheme}:" if base_scheme else ""
    start += f"//{base_authority}" if base_authority is not None else ""
    return start + _without_dots(path) + (f"?{query}" if query else "") + (f"#{fragment}" if fragment else "")


def split_fragment(address: str) -> tuple[str, str]:
    """The address of the document, and the fragment with its `#` or nothing."""
    document, mark, fragment = address.partition("#")
    return document, mark + fragment


def is_absolute(address: str) -> bool:
    """Whether the address begins with a scheme."""
    return _split(address)[0] is not None


def unescaped(token: str) -> str:
    """A step of a JSON pointer inside an address."""
    return unquote_plus(token).replace("~1", "/").replace("~0", "~")


def _split(address: str) -> tuple[str | None, str | None, str, str | None, str | None]:
    matched = _PARTS.match(address)
    if matched is None:
        return None, None, address, None, None
    return matched[1], matched[2], matched[3], matched[4], matched[5]


def _merged(base: str, path: str, *, rooted: bool) -> str:
    if rooted and not base:
        return f"/{path}"
    return base[: base.rfind("/") + 1] + path


def _without_dots(path: str) -> str:
    kept: list[str] = []
    parts = path.split("/")
    for place, part in enumerate(parts):
        last = place == len(parts) - 1
        if part == ".":
            if last:
                kept.append("")
        elif part == ".." and kept and kept[-1] not in {"", ".."}:
            kept.pop()
            if last:
                kept.append("")
        else:
            kept.append(part)
    return "/".join(kept)
