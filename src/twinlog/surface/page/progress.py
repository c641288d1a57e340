"""How far a switch is, read from what it says while it runs (recovery/execute.py). Pure; asks no cluster.

A step begins with `step 3 of 8: drain`; lines that follow tell how it goes; an indented one tells how it ended.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

_BEGINS: Final = re.compile(r"step (\d+) of (\d+): (.+)")
_ENDS: Final = "    "


@dataclass
class StepSaid:
    """One step: its last word, and whether it is over."""

    number: int
    name: str
    says: str = ""
    over: bool = False


@dataclass
class Progress:
    """The steps so far, how many there are in all, and what was said before the first."""

    steps: list[StepSaid] = field(default_factory=list)
    total: int = 0
    before: list[str] = field(default_factory=list)

    @property
    def done(self) -> int:
        """How many are over, those of an earlier run too."""
        last = self.steps[-1] if self.steps else None
        return 0 if last is None else last.number if last.over else last.number - 1


def progress_of(lines: Iterable[str]) -> Progress:
    """Read the lines, oldest first."""
    found = Progress()
    for line in lines:
        begun = _BEGINS.fullmatch(line)
        if begun is not None:
            found.total = int(begun[2])
            found.steps.append(StepSaid(int(begun[1]), begun[3]))
        elif not found.steps:
            found.before.append(line)
        else:
            last = found.steps[-1]
            last.says, last.over = line.strip(), line.startswith(_ENDS)
    return found
