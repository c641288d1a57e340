"""Two engines of one link: which of them lives, and when the link is free again."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from typer.testing import CliRunner

from twinlog.config.resolve import resolve
from twinlog.engine.engine import LinkEngine
from twinlog.engine.rivals import Rival, has_ended, is_own
from twinlog.errors import LinkTaken
from twinlog.model.ledger.records import Engine
from twinlog.surface.cli.main import app

HERE = socket.gethostname()
FILE = "clusters = A, B\nA.bootstrap.servers = a:1\nB.bootstrap.servers = b:1\nA->B.enabled = true\n"
(LINK,) = resolve(FILE.encode(), "test.properties", (), {}).links


def engine(host: str = "elsewhere", pid: int = 7, phase: str = "running", **more: object) -> Engine:
    facts = {"engine_id": "e", "host": host, "pid": pid, "phase": phase, "at_ms": int(time.time() * 1000), **more}
    return Engine.model_validate(facts)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    now = [1000.0]
    monkeypatch.setattr("twinlog.engine.rivals.time.monotonic", lambda: now[0])

    def pass_by(seconds: float) -> None:
        now[0] += seconds

    return pass_by


def test_a_stopped_engine_and_a_process_that_is_gone_have_ended() -> None:
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    time_out = time.monotonic() + 20
    while not has_ended(engine(HERE, child.pid)):  # nobody has collected it yet: it is a zombie
        assert time.monotonic() < time_out
    child.wait()
    assert has_ended(engine(HERE, child.pid))
    assert has_ended(engine(phase="stopped"))
    assert not has_ended(engine(HERE, os.getppid()))
    assert not has_ended(engine("elsewhere", child.pid))


def test_the_same_process_and_the_same_group_of_services_are_no_strangers() -> None:
    assert is_own(engine(HERE, os.getpid()), "")
    assert is_own(engine(service="prod"), "prod")
    assert not is_own(engine(service="prod"), "test")
    assert not is_own(engine(service=""), "")


def test_an_engine_is_dead_when_nothing_is_heard_of_it_for_twenty_seconds(clock: Callable[[float], None]) -> None:
    rival = Rival(engine())
    clock(19)
    assert not rival.gone
    rival.hear(engine(at_ms=5))
    assert rival.heard
    clock(19)
    assert not rival.gone
    clock(2)
    assert rival.gone


def test_a_wrong_clock_does_not_make_an_engine_dead(clock: Callable[[float], None]) -> None:
    rival = Rival(engine(at_ms=int(time.time() * 1000) - 3_600_000))
    clock(5)
    rival.hear(engine(at_ms=int(time.time() * 1000) - 3_595_000))
    clock(10)
    assert not rival.gone


def test_silence_does_not_count_while_the_ledger_cannot_be_read(clock: Callable[[float], None]) -> None:
    rival = Rival(engine())
    clock(15)
    rival.unheard()
    clock(15)
    assert not rival.gone


@pytest.mark.proves("R10", "R14")
def test_run_refuses_to_take_the_link_of_a_living_engine_where_nobody_can_be_asked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async def lives(*_: object) -> Engine:
        return engine("vm", 25519, since_ms=1)

    monkeypatch.setattr("twinlog.service.living_engine", lives)
    file = tmp_path / "f"
    file.write_text("clusters = a, b\na.bootstrap.servers = x:1\nb.bootstrap.servers = y:1\na->b.enabled = true\n")
    answer = CliRunner().invoke(app, ["run", "-c", str(file)])
    assert isinstance(answer.exception, LinkTaken)
    assert "a->b: the engine on vm (pid 25519), signed in at" in str(answer.exception)
    assert "--take-over" in answer.exception.remedy_text()


@pytest.mark.proves("R14")
def test_work_that_was_under_way_does_not_hide_who_took_the_link(tmp_path: Path) -> None:
    """A look at the topics may end while the query of the superseded engine is being stopped."""

    async def nothing(*_: object, **__: object) -> None:
        return None

    mine = LinkEngine(LINK, cast("Any", None), lambda *_: None, tmp_path, 2, stands_by=True)
    mine._state.give_way(engine())
    said = mine.trouble
    assert said is not None
    assert "has run this link since" in said
    mine._roster.refresh = nothing  # type: ignore[method-assign,assignment]
    asyncio.run(mine._refresh_once(cast("Any", None), cast("Any", None)))
    assert mine.trouble == said
    mine._hear_of_tasks()
    assert mine.trouble == said
