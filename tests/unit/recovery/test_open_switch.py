"""An open switch: its process, its step, the steps to come; resume and abort only when its process is silent."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import reduce
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from fastapi.testclient import TestClient
from tests.kit.paper_backend import PaperBackend, everything

from twinlog.model.health.history import Event
from twinlog.model.switch.events import as_lines
from twinlog.model.switch.log import (
    Beat,
    Claim,
    StateEntry,
    StepEntry,
    StepRecord,
    Switch,
    SwitchEntry,
    SwitchLog,
    Written,
    held_because,
)
from twinlog.recovery.context import SwitchContext
from twinlog.recovery.report import reports_of
from twinlog.recovery.switching import Standing
from twinlog.surface.cli.output import Output
from twinlog.surface.cli.switch_view import print_standing

NOW = int(time.time() * 1000)
TITLES = {"freeze": "Stop syncing", "drain": "Copy what is left", "promote": "Make west active"}
OPTIONS = {"steps": [*TITLES], "titles": TITLES}


def switch(seen_ms: int, **more: object) -> Switch:
    facts = {
        "switch": "s1",
        "runner": "r",
        "pair": "east<->west",
        "link": "east->west",
        "operator": "ann",
        "host": "vm",
    }
    claim = Claim.model_validate({**facts, "host": "vm", "command": "failover-planned", "options": OPTIONS})
    return replace(Switch("s1", claim, "r", NOW - 30_000, seen_ms), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(("silent_s", "offered"), [(1, False), (11, True)])
def test_resume_and_abort_are_offered_once_the_process_is_silent(
    silent_s: int, offered: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    standing = Standing(None, switch(int(time.time() * 1000) - silent_s * 1000), ())
    print_standing("east->west", standing, Output.TABLE)
    said = capsys.readouterr().out
    assert "step 1 of 3: Stop syncing; to come: Copy what is left, Make west active" in said
    assert ("twinlog switch resume" in said) == offered

    class Backend(PaperBackend):
        async def standing(self, link: object) -> Standing:  # noqa: ARG002
            return standing

    page = TestClient(everything(Backend())).get("/ui/links/east-%3Ewest/parts/standing").text
    assert "Step 1 of 3: <strong>Stop syncing</strong>" in page
    assert "To come: Copy what is left, Make west active" in page
    assert (">Resume</button>" in page) == offered
    assert ("It runs." in page) != offered


def test_a_switch_that_another_process_runs_says_what_it_waits_for(capsys: pytest.CaptureFixture[str]) -> None:
    """Its progress is in the journal, with each sign of life, until the next step begins."""
    pair, now = "east<->west", int(time.time() * 1000)
    claim = switch(now).claim
    beat = Beat(pair=pair, switch="s1", runner="r", says="waiting for the engine of west->east: 327 offsets left")
    entries: list[SwitchEntry] = [
        claim,
        StepEntry(pair=pair, switch="s1", runner="r", step="freeze", event="begun"),
        beat,
    ]
    written = (Written(at, now - 5_000 + at, entry) for at, entry in enumerate(entries))
    log = reduce(SwitchLog.take, written, SwitchLog(pair))
    assert log.open is not None
    standing = Standing(None, log.open, ())
    print_standing("east->west", standing, Output.TABLE)
    assert (
        "step 1 of 3: Stop syncing: waiting for the engine of west->east: 327 offsets left" in capsys.readouterr().out
    )

    class Backend(PaperBackend):
        async def standing(self, link: object) -> Standing:  # noqa: ARG002
            return standing

    page = TestClient(everything(Backend())).get("/ui/links/east-%3Ewest/parts/standing").text
    assert "327 offsets left" in page
    assert 'hx-trigger="every 3s"' in page, "it is looked at again soon"
    assert "since <time" in page, "a running step did not take 0 s"
    done = StepEntry(pair=pair, switch="s1", runner="r", step="freeze", event="done")
    after = log.take(Written(3, now, done)).open
    assert after is not None
    assert after.saying == ""


def test_after_a_failover_nothing_is_green_that_has_no_copy_and_a_closed_side_is_said_to_be_closed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    state = StateEntry(
        pair="east<->west", generation=3, active="west", links={"west->east": "held"}, fence_on_return={"east": "acl"}
    )
    for closed, words in (
        (frozenset({"east"}), "came back, and its producers are shut out"),
        (frozenset(), "as soon as"),
    ):
        standing = Standing(state, None, (), closed)
        print_standing("east->west", standing, Output.TABLE)
        assert words in capsys.readouterr().out

    class Backend(PaperBackend):
        async def standing(self, link: object) -> Standing:  # noqa: ARG002
            return Standing(state, None, (), frozenset({"east"}))

    page = TestClient(everything(Backend())).get("/ui/links/east-%3Ewest/parts/standing").text
    assert '<p class="card warn" data-active-side="target"><strong>west</strong> is active' in page
    assert "New data on west has no copy." in page


def test_a_link_that_is_held_before_the_other_side_is_active_does_not_call_the_lost_side_active() -> None:
    begun = StateEntry(
        pair="east<->west", generation=2, active="east", links={"east->west": "held"}, why="east is lost"
    )
    assert held_because(begun, "east->west") == "held by a switch (east is lost); this link does not copy"
    done = begun.model_copy(update={"active": "west"})
    assert held_because(done, "east->west").startswith("west is the active side (east is lost)")
    over = done.model_copy(update={"links": {"east->west": "held", "west->east": "held"}})
    assert "under way" not in held_because(over, "west->east")  # the failover has ended


def test_the_report_of_a_failover_gets_the_true_loss_from_the_failback() -> None:
    lost = StepRecord("loss", "done", facts={"records": 0, "at_most": 40, "known_at_ms": NOW, "copied_ms": NOW})
    tail = StepRecord("tail", "done", facts={"records": 7})
    failover = replace(switch(NOW), id="over", steps={"loss": lost})
    failback = replace(switch(NOW), id="back", steps={"tail": tail})
    first, second = reports_of([failover, failback])
    assert (first.found, second.found) == ({"records": 7, "switch": "back"}, {})
    assert reports_of([failover])[0].found == {}


def test_events_are_listed_by_their_time() -> None:
    app = everything(PaperBackend())
    app_state = app.state.app_state
    for at in (NOW + 5000, NOW + 1000, NOW + 9000):
        app_state.monitor.tell([Event(at, "east->west", "state", "info", "east->west", f"at {at}")])
    times = [one["at_ms"] for one in TestClient(app).get("/v1/events").json()]
    assert times == sorted(times, reverse=True)


def test_a_wait_says_what_it_waits_for_once_and_again_only_when_something_changed() -> None:
    nobody = cast("Any", None)
    said: list[str] = []
    journal = cast("Any", SimpleNamespace(saying=""))
    ctx = SwitchContext(nobody, journal, nobody, nobody, nobody, Path(), as_lines(said.append))
    for left in (7, 7, 7, 3, 3):
        ctx.say_progress(f"waiting for the engine of west->east to copy: {left} offsets left")
    assert [sentence.split()[-3] for sentence in said] == ["7", "3"]
