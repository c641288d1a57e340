"""How far a switch is: every step, read from what it says while it runs (recovery/execute.py). Pure; asks no cluster.

to do 3 of 8: drain: Copy everything that is left     before the first step, for each of them
step 3 of 8: drain                                    it begins; lines that follow tell how it goes
    everything is copied                              it ended
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

_TO_DO: Final = re.compile(r"to do (\d+) of \d+: ([^:]+): (.*)")
_BEGINS: Final = re.compile(r"step (\d+) of (\d+): (.+)")
_ENDS: Final = "    "


@dataclass
class StepSaid:
    """One step: what it is for, whether it is over, and its last word."""

    number: int
    name: str
    title: str = ""
    status: Literal["to come", "running", "done"] = "to come"
    says: str = ""


@dataclass
class StepsSaid:
    """All steps as far as they were named, and what was said before the first."""

    steps: list[StepSaid] = field(default_factory=list)
    before: list[str] = field(default_factory=list)

    @property
    def done(self) -> int:
        """How many are over, those of an earlier run too."""
        return sum(step.status == "done" for step in self.steps)

    def take(self, line: str) -> None:
        """Read one more line."""
        announced, begun = _TO_DO.fullmatch(line), _BEGINS.fullmatch(line)
        running = next((step for step in self.steps if step.status == "running"), None)
        if announced is not None:
            self._step(int(announced[1]), announced[2]).title = announced[3]
        elif begun is not None:
            self._begin(int(begun[1]), int(begun[2]), begun[3])
        elif running is None:
            self.before.append(line)
        else:
            running.says = line.strip()
            if line.startswith(_ENDS):
                running.status = "done"

    def _begin(self, number: int, total: int, name: str) -> None:
        for place in range(1, total + 1):
            self._step(place, name if place == number else "")
        for step in self.steps:
            if step.number < number:
                step.status = "done"  # by an earlier run, if it was not told here
        self._step(number, name).status = "running"

    def _step(self, number: int, name: str) -> StepSaid:
        while len(self.steps) < number:
            self.steps.append(StepSaid(len(self.steps) + 1, ""))
        found = self.steps[number - 1]
        found.name = found.name or name
        return found


def announced(titles: Mapping[str, str]) -> Iterator[str]:
    """Name all steps before the first begins."""
    return (
        f"to do {number} of {len(titles)}: {step}: {title}" for number, (step, title) in enumerate(titles.items(), 1)
    )


def steps_said(lines: Iterable[str]) -> StepsSaid:
    """Read lines, oldest first."""
    found = StepsSaid()
    for line in lines:
        found.take(line)
    return found
