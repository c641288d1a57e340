"""The one list of checks, in the order in which an operator wants to read them."""

from __future__ import annotations

from typing import Final

from twinlog.doctor.answers import Check, Diagnosis, diagnose
from twinlog.doctor.checks import (
    clocks,
    durability,
    groups,
    health,
    keeping,
    limits,
    line,
    logins,
    names,
    own_topics,
    reach,
    rights,
    schemas,
)
from twinlog.doctor.facts import Facts

CHECKS: Final[tuple[Check, ...]] = (
    *reach.CHECKS,
    *line.CHECKS,
    *health.CHECKS,
    *rights.CHECKS,
    *own_topics.CHECKS,
    *names.CHECKS,
    *schemas.CHECKS,
    *limits.CHECKS,
    *keeping.CHECKS,
    *durability.CHECKS,
    *clocks.CHECKS,
    *groups.CHECKS,
    *logins.CHECKS,
)


def examine(facts: Facts) -> list[Diagnosis]:
    """Ask everything about one link."""
    return diagnose(CHECKS, facts)
