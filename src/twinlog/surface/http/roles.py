"""What roles allow: the three that always are, and those of the settings file. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from twinlog.config.security.roles import RoleSettings
from twinlog.control.audit import RANKS, Grant, Role
from twinlog.model.selection import Patterns


class Roles:
    """What the roles of the settings file, and the three that always are, allow."""

    def __init__(self, settings: Sequence[RoleSettings]) -> None:
        self._grants: dict[str, Grant] = {role: Grant(role) for role in RANKS}
        for setting in settings:
            self._grants[setting.name] = Grant(setting.may, None if setting.links is None else Patterns(setting.links))

    @property
    def names(self) -> frozenset[str]:
        """All roles that there are."""
        return frozenset(self._grants)

    def of(self, names: Iterable[str]) -> tuple[Role | None, tuple[Grant, ...]]:
        """The highest role of somebody with these, and everything they may do. Unknown names open nothing."""
        grants = tuple(self._grants[name] for name in names if name in self._grants)
        return max((grant.role for grant in grants), key=RANKS.__getitem__, default=None), grants
