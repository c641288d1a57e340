"""SCRAM users: who can log in at the source and could not at the target. Pure.

Kafka tells of a user the mechanism and the number of iterations, never the stored key, and takes only salted
passwords. So users cannot be copied; they are listed before a failover finds out (R13, R14).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

ScramUsers: TypeAlias = Mapping[str, frozenset[str]]
"""Mechanisms by user."""


@dataclass(frozen=True, order=True)
class MissingUser:
    """A user who cannot log in at the target in a way that works at the source."""

    user: str
    mechanisms: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.user} ({', '.join(self.mechanisms)})"

    def command(self, tool: str) -> str:
        """The command that creates the user on the target; the operator knows the password."""
        credentials = ",".join(f"{mechanism}=[password=<password>]" for mechanism in self.mechanisms)
        return f"{tool} --alter --add-config '{credentials}' --entity-type users --entity-name '{self.user}'"


def missing_users(source: ScramUsers, target: ScramUsers) -> list[MissingUser]:
    """Compare both ends, sorted by name."""
    missing = ((user, mechanisms - target.get(user, frozenset())) for user, mechanisms in source.items())
    return sorted(MissingUser(user, tuple(sorted(lacking))) for user, lacking in missing if lacking)
