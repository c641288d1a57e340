"""The progress of a switch as events: its plan, the beginning and the end of each step, sentences in between. Pure.

    Planned ─▶ Began ─▶ Said … ─▶ Acted ─▶ Ended ─▶ Began ─▶ …          Stopped instead of Acted: the step failed

The process that runs a switch reports them to one function (recovery/execute.py). The command line, the API and the
page render them. `SwitchProgress` puts them together to the state of every step.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, assert_never


@dataclass(frozen=True)
class Planned:
    """The steps of the switch are known: by id, in their order, with their titles. `done` were run before."""

    titles: Mapping[str, str]
    done: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Began:
    """A step begins."""

    number: int
    total: int
    step: str


@dataclass(frozen=True)
class Said:
    """A sentence about what the running step does, or about what the switch waits for before its first step."""

    text: str


@dataclass(frozen=True)
class Acted:
    """The work of a step is done. The journal does not say so yet: after a crash at this moment the step runs again."""

    number: int
    step: str


@dataclass(frozen=True)
class Ended:
    """A step is done, and the journal says so."""

    number: int
    step: str
    says: str


@dataclass(frozen=True)
class Stopped:
    """A step failed, and the switch stops. It can be resumed."""

    number: int
    step: str
    reason: str


SwitchEvent: TypeAlias = Planned | Began | Said | Acted | Ended | Stopped
OnSwitchEvent: TypeAlias = Callable[[SwitchEvent], None]


def ignore_event(_: SwitchEvent) -> None:
    """For switches that nobody watches."""


def line_of(event: SwitchEvent) -> str | None:
    """The event as a line for people. None where others show it: the plan as a table, a failure as an error."""
    match event:
        case Began(number, total, step):
            return f"step {number} of {total}: {step}"
        case Said(text):
            return text
        case Ended(says=says):
            return f"    {says}"
        case Planned() | Acted() | Stopped():
            return None
        case _:
            assert_never(event)


def as_lines(say: Callable[[str], None]) -> OnSwitchEvent:
    """Report events as lines to somebody who takes lines only."""

    def on_event(event: SwitchEvent) -> None:
        line = line_of(event)
        if line is not None:
            say(line)

    return on_event


@dataclass
class StepProgress:
    """One step: its title, its status and the last sentence about it."""

    number: int
    name: str
    title: str = ""
    status: Literal["to come", "running", "done", "failed"] = "to come"
    says: str = ""


@dataclass
class SwitchProgress:
    """Every step of a switch, and what was said before the first one."""

    steps: list[StepProgress] = field(default_factory=list)
    before: list[str] = field(default_factory=list)

    @property
    def done(self) -> int:
        """How many steps are done, those of an earlier run included."""
        return sum(step.status == "done" for step in self.steps)

    def take(self, event: SwitchEvent) -> None:
        """Take one more event."""
        match event:
            case Planned(titles, done):
                self._plan(titles, done)
            case Began(number):
                self.steps[number - 1].status = "running"
            case Said(text):
                self._say(text)
            case Ended(number, says=says):
                self.steps[number - 1].status, self.steps[number - 1].says = "done", says
            case Stopped(number, reason=reason):
                self.steps[number - 1].status, self.steps[number - 1].says = "failed", reason
            case Acted():
                pass
            case _:
                assert_never(event)

    def _plan(self, titles: Mapping[str, str], done: Collection[str]) -> None:
        self.steps = [
            StepProgress(number, step, title, "done" if step in done else "to come")
            for number, (step, title) in enumerate(titles.items(), 1)
        ]

    def _say(self, text: str) -> None:
        running = next((step for step in self.steps if step.status == "running"), None)
        if running is None:
            self.before.append(text)
        else:
            running.says = text
