"""The progress of a switch: events become the state of every step, and lines for people."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.model.switch.events import (
    Acted,
    Began,
    Ended,
    Planned,
    Said,
    Stopped,
    SwitchEvent,
    SwitchProgress,
    as_lines,
    line_of,
)
from twinlog.surface.answers.operations import operation_of
from twinlog.surface.http.operations import Operation, operation_from

PLAN = Planned({"freeze": "Let it rest", "drain": "Copy: the rest", "redirect": "Send clients"})
AGAIN = Planned(PLAN.titles, frozenset({"freeze", "drain"}))


@pytest.mark.parametrize(
    ("events", "steps", "before"),
    [
        ([], "", 0),
        ([Said("waiting to see whether the process is gone")], "", 1),
        ([PLAN], "freeze to come , drain to come , redirect to come ", 0),
        ([PLAN, Began(1, 3, "freeze"), Acted(1, "freeze")], "freeze running , drain to come , redirect to come ", 0),
        (
            [PLAN, Began(1, 3, "freeze"), Ended(1, "freeze", "jobs rest"), Began(2, 3, "drain"), Said("40 left")],
            "freeze done jobs rest, drain running 40 left, redirect to come ",
            0,
        ),
        # A switch that is resumed: other processes ran its first steps.
        (
            [AGAIN, Began(3, 3, "redirect"), Ended(3, "redirect", "no hook")],
            "freeze done , drain done , redirect done no hook",
            0,
        ),
        (
            [PLAN, Began(1, 3, "freeze"), Stopped(1, "freeze", "no engine")],
            "freeze failed no engine, drain to come , redirect to come ",
            0,
        ),
    ],
)
def test_how_far_a_switch_is(events: list[SwitchEvent], steps: str, before: int) -> None:
    found = SwitchProgress()
    for event in events:
        found.take(event)
    assert ", ".join(f"{step.name} {step.status} {step.says}" for step in found.steps) == steps
    assert len(found.before) == before
    assert found.done == steps.count("done")
    if events[:1] in ([PLAN], [AGAIN]):
        assert [step.title for step in found.steps] == ["Let it rest", "Copy: the rest", "Send clients"]


@given(st.text())
def test_no_sentence_is_taken_for_progress(text: str) -> None:
    """Also a sentence that looks like the line of a step, or like its end."""
    for sentence in (text, f"step 3 of 3: {text}", f"    {text}"):
        operation = Operation("switch", "A->B", {})
        for event in (PLAN, Began(1, 3, "freeze"), Said(sentence)):
            operation.on_switch_event(event)
        assert [step.status for step in operation.switch.steps] == ["running", "to come", "to come"]
        assert operation.switch.steps[0].says == sentence
        assert operation.what == sentence


def test_each_event_that_has_a_line_is_said_once() -> None:
    said: list[str] = []
    on_event = as_lines(said.append)
    for event in (PLAN, Began(2, 3, "drain"), Said("40 left"), Acted(2, "drain"), Ended(2, "drain", "all copied")):
        on_event(event)
    assert said == ["step 2 of 3: drain", "40 left", "    all copied"]
    assert line_of(Stopped(2, "drain", "no engine")) is None


def test_a_long_switch_forgets_lines_but_no_step() -> None:
    operation = Operation("switch", "A->B", {})
    for event in (PLAN, Began(1, 3, "freeze"), Ended(1, "freeze", "jobs rest"), Began(2, 3, "drain")):
        operation.on_switch_event(event)
    for left in range(1000):
        operation.on_switch_event(Said(f"{left} offsets left"))
    assert len(operation.lines) < 1000
    assert [step.status for step in operation.switch.steps] == ["done", "running", "to come"]
    assert [step.status for step in operation_of(operation).steps] == ["done", "running", "to come"]
    kept = operation_from(operation.kept())
    assert kept is not None
    assert list(kept.lines) == list(operation.lines)
