"""What a check is and what it answers. Pure."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, TypeVar

from twinlog.doctor.facts import Facts
from twinlog.errors import ClusterError
from twinlog.model.health.inspection import Known, Unknown

log = logging.getLogger("twinlog.doctor")

T = TypeVar("T")
Verdict: TypeAlias = Literal["ok", "warn", "fail", "unknown"]
WORST_FIRST: Final[tuple[Verdict, ...]] = ("fail", "warn", "unknown", "ok")
_NAMED: Final = 5


@dataclass(frozen=True)
class Answer:
    """A verdict, what was seen, and the command that repairs it."""

    verdict: Verdict
    seen: str
    remedy: str = ""


@dataclass(frozen=True)
class Check:
    """One question. `why` says what happens to whom when the answer is bad."""

    name: str
    theme: str
    why: str
    look: Callable[[Facts], Answer]


@dataclass(frozen=True)
class Diagnosis:
    """The answer of one check."""

    name: str
    theme: str
    verdict: Verdict
    seen: str
    why: str
    remedy: str


class CannotTell(Exception):
    """A check needs what could not be learnt."""


def known(value: Known[T]) -> T:
    """Return the value; raise CannotTell if it is unknown."""
    if isinstance(value, Unknown):
        raise CannotTell(value.why)
    return value


def readable(values: Mapping[str, T | ClusterError]) -> dict[str, T]:
    """What was answered; what was refused is the business of the checks of rights."""
    return {name: value for name, value in values.items() if not isinstance(value, ClusterError)}


def diagnose(checks: Iterable[Check], facts: Facts) -> list[Diagnosis]:
    """Ask everything. A check that cannot tell says so; none ever raises."""
    diagnoses = []
    for check in checks:
        try:
            answer = check.look(facts)
        except CannotTell as reason:
            answer = Answer("unknown", str(reason))
        except Exception as error:  # a mistake in one check must not hide the others
            log.exception("check %s", check.name)
            answer = Answer("unknown", f"the check itself failed: {type(error).__name__}; the log says more")
        diagnoses.append(Diagnosis(check.name, check.theme, answer.verdict, answer.seen, check.why, answer.remedy))
    return diagnoses


def ok(seen: str) -> Answer:
    """All is well."""
    return Answer("ok", seen)


def warn(seen: str, remedy: str) -> Answer:
    """It works now and may not on the day it matters."""
    return Answer("warn", seen, remedy)


def fail(seen: str, remedy: str) -> Answer:
    """It does not work."""
    return Answer("fail", seen, remedy)


def named(names: Iterable[object]) -> str:
    """The first few, and how many more there are."""
    listed = [str(name) for name in names]
    more = f" and {len(listed) - _NAMED:,} more" if len(listed) > _NAMED else ""
    return ", ".join(listed[:_NAMED]) + more
