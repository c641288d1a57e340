"""One writer: whoever comes last owns the link, and an engine from the past adds nothing (R10)."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.kit.connect_worker import ask, free_port
from tests.kit.ends import Ends
from tests.kit.engine import EngineProcess, twinlog_run
from tests.kit.waiting import wait_until

MakeEnds = Callable[..., Ends]

SUPERSEDED = 4
PATIENCE_S = 120.0
pytestmark = pytest.mark.timeout(600)


@pytest.mark.chaos
@pytest.mark.proves("R1", "R2", "R3", "R10")
def test_a_frozen_engine_wakes_up_after_a_take_over_adds_nothing_and_ends(make_ends: MakeEnds, tmp_path: Path) -> None:
    ends = make_ends(tasks_max="2")
    name = ends.create("orders", 4)
    load = ends.load(name, 4)
    with twinlog_run(ends, tmp_path) as zombie, ExitStack() as stack:
        with load.in_background(rate=3_000):
            await_copies(ends, 3_000)
            zombie.freeze()  # in the middle of its writing: batches are in its sockets and its memory
            heir = stack.enter_context(twinlog_run(ends, tmp_path, "--take-over"))
            await_copies(ends, 3_000)
            zombie.thaw()
            assert zombie.await_end(PATIENCE_S) == SUPERSEDED
            await_copies(ends, 3_000)
        ends.await_copied(within_s=PATIENCE_S)
        assert heir.stop() == 0
    assert ends.check().source_records == load.count


def await_copies(ends: Ends, more: int) -> None:
    """Wait for so many more records to be copied."""
    before = sum(part.records for part in ends.status().partitions)
    wait_until(
        lambda: sum(part.records for part in ends.status().partitions),
        lambda now: now >= before + more,
        within_s=PATIENCE_S,
        what=f"{before + more} copies",
    )


@pytest.mark.proves("R2", "R10")
@pytest.mark.chaos
def test_of_two_engines_started_together_one_mirrors_and_the_other_ends(make_ends: MakeEnds, tmp_path: Path) -> None:
    ends = make_ends(tasks_max="2")
    name = ends.create("orders", 4)
    load = ends.load(name, 4)
    load.produce(5_000)
    with (
        twinlog_run(ends, tmp_path, await_running=False) as one,
        twinlog_run(ends, tmp_path, await_running=False) as other,
    ):
        engines = (one, other)
        wait_until(lambda: exits(engines), lambda codes: codes != [None, None], within_s=PATIENCE_S, what="one to end")
        load.produce(5_000)
        ends.await_copied(within_s=PATIENCE_S)
        assert sorted(exits(engines), key=str) == [SUPERSEDED, None]
    assert ends.check().source_records == load.count


def exits(engines: tuple[EngineProcess, ...]) -> list[int | None]:
    return [engine.exit_code for engine in engines]


@pytest.mark.proves("R9", "R10", "R14")
@pytest.mark.chaos
def test_run_leaves_a_living_engine_its_link_and_a_service_gets_a_taken_link_back(
    make_ends: MakeEnds, tmp_path: Path
) -> None:
    ends = make_ends(tasks_max="1")
    load = ends.load(ends.create("orders"))
    load.produce(100)
    address = f"127.0.0.1:{free_port()}"
    with twinlog_run(ends, tmp_path, "--listen", address) as service:
        ends.await_copied(within_s=PATIENCE_S)
        with twinlog_run(ends, tmp_path, await_running=False) as polite:
            assert polite.await_end(PATIENCE_S) == SUPERSEDED
            assert f"the engine on {socket.gethostname()} (pid {service.pid})" in polite.output
            assert "--take-over" in polite.output
        assert ask(f"http://{address}", "GET", "/health").status == 200
        with twinlog_run(ends, tmp_path, "--take-over") as heir:
            wait_until(
                lambda: ask(f"http://{address}", "GET", "/health"),
                lambda answer: answer.status == 500 and f"(pid {heir.pid})" in answer.body["message"],
                within_s=30,
                what="the word of the service that lost its link",
            )
            reason = ask(f"http://{address}", "GET", "/v1/links").body[0]["reason"]
            assert f"(pid {heir.pid}) has run this link since" in reason
            load.produce(100)
            ends.await_copied(within_s=PATIENCE_S)
            assert heir.stop() == 0
        load.produce(100)
        ends.await_copied(within_s=60)  # by the service, without hands
        wait_until(
            lambda: ask(f"http://{address}", "GET", "/health").status, lambda s: s == 200, within_s=30, what="healthy"
        )
        assert service.stop() == 0
    assert ends.check().source_records == load.count
