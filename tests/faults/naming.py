"""Whether status told the true cause of a fault: every pattern of a scenario, with the names of this run in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import product

from tests.faults.eye import Answer

Thing = str | int | Sequence[str | int]
"""A name that is known when the fault is injected, or several of them."""
_NAME = re.compile(r"<(\w+)>")


def patterns(named: Iterable[str], things: Mapping[str, Thing]) -> list[re.Pattern[str]]:
    """One pattern for each thing that is meant."""
    found = []
    for pattern in named:
        names = sorted(set(_NAME.findall(pattern)))
        for chosen in product(*(_each(things[name]) for name in names)):
            fixed = dict(zip(names, chosen, strict=True))
            found.append(re.compile(_NAME.sub(lambda match, fixed=fixed: re.escape(fixed[match[1]]), pattern)))  # type: ignore[misc]
    return found


def first_naming(answers: Sequence[Answer], wanted: Sequence[re.Pattern[str]]) -> Answer | None:
    """The answer with which everything was told: the first in which the last pattern was found."""
    if not wanted:
        return None
    firsts = [next((a for a in answers if pattern.search(a.words)), None) for pattern in wanted]
    told = [answer for answer in firsts if answer is not None]
    return max(told, key=lambda answer: answer.at) if len(told) == len(wanted) else None


def _each(thing: Thing) -> list[str]:
    return [str(thing)] if isinstance(thing, (str, int)) else [str(one) for one in thing]
