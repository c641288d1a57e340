"""`role.NAME.may` and `role.NAME.links`: what roles may do, and at which links. Runs while a file is resolved."""

from __future__ import annotations

import re
from typing import Final, Literal, cast

from pydantic import BaseModel, ConfigDict

from twinlog.config.text.keys import Key, Scope
from twinlog.config.text.lookup import Lookup
from twinlog.config.text.values import OneOf, Regexes

RANKS: Final = ("viewer", "operator", "admin")
_KEY: Final = re.compile(r"role\.([A-Za-z0-9_-]+)\.(may|links)")


class RoleSettings(BaseModel):
    """One role. `links` is None for all links."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: str
    may: Literal["viewer", "operator", "admin"]
    links: tuple[str, ...] | None = None


def resolve_roles(lookup: Lookup) -> tuple[RoleSettings, ...]:
    """Read all of them; what is wrong is noted in the lookup."""
    names: dict[str, None] = {}
    for key, entry in lookup.entries.items():
        if key.startswith("role."):
            matched = _KEY.fullmatch(key)
            if matched is None:
                lookup.asked.add(key)
                lookup.note("error", entry, "a role has two keys: role.NAME.may and role.NAME.links")
            else:
                names[matched.group(1)] = None
    return tuple(role for name in names if (role := _role(lookup, name)) is not None)


def _role(lookup: Lookup, name: str) -> RoleSettings | None:
    known = name if name in RANKS else None
    may_key = Key(f"role.{name}.may", (Scope.FILE,), OneOf(RANKS), known, "", own=True)
    links_key = Key(f"role.{name}.links", (Scope.FILE,), Regexes(), None, "", own=True)
    may_entry, links_entry = lookup.find((may_key.name,)), lookup.find((links_key.name,))
    may, links = lookup.read(may_key, may_entry), lookup.read(links_key, links_entry)
    if may is None:
        if may_entry is None:
            lookup.note("error", links_entry, f"write {may_key.name} too: viewer, operator or admin")
        return None
    if known is not None and may != known:
        lookup.note("error", may_entry, f"the role {known} cannot become another; give the role a name of its own")
        return None
    if links_entry is not None and not links:
        # A refused or an empty list must not open all links.
        links = ()
    return RoleSettings(name=name, may=cast("Literal['viewer', 'operator', 'admin']", may), links=links)
