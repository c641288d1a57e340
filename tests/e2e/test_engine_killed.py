"""Kill -9 at seeded moments under load: nothing is lost, doubled or reordered, and nobody has to help."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.kit.ends import Ends
from tests.kit.engine import EngineProcess, twinlog_run
from tests.kit.waiting import wait_until

MakeEnds = Callable[..., Ends]

PATIENCE_S = 240.0

pytestmark = pytest.mark.timeout(600)


def copied(ends: Ends) -> int:
    """How many records the ledger says are copied."""
    return sum(part.records for part in ends.status().partitions)


def await_progress(ends: Ends, more: int) -> None:
    """A moment named by the work done: so many more records have been copied."""
    before = copied(ends)
    wait_until(
        lambda: copied(ends), lambda now: now >= before + more, within_s=PATIENCE_S, what=f"{before + more} copies"
    )


@pytest.mark.chaos
@pytest.mark.proves("R1", "R2", "R3", "R4", "R9")
def test_an_engine_killed_twice_under_load_with_its_checkpoint_lost_copies_everything_once(
    make_ends: MakeEnds, tmp_path: Path
) -> None:
    dice = random.Random(20_260_101)
    ends = make_ends(tasks_max="2")
    name = ends.create("orders", 4)
    load = ends.load(name, 4, compression="lz4")
    load.produce(5_000)
    for _ in range(2):
        with load.in_background(rate=3_000), twinlog_run(ends, tmp_path) as engine:
            await_progress(ends, dice.randrange(500, 6_000))
            engine.kill()
            shutil.rmtree(engine.scratch)
    with twinlog_run(ends, tmp_path) as engine:
        load.produce(2_000)
        ends.await_copied(within_s=PATIENCE_S)
        assert engine.stop() == 0
    assert ends.check().source_records == load.count


@pytest.mark.chaos
@pytest.mark.proves("R1", "R2", "R3", "R9")
def test_killed_workers_and_a_killed_jvm_are_replaced_without_hands(make_ends: MakeEnds, tmp_path: Path) -> None:
    dice = random.Random(7)
    ends = make_ends(tasks_max="2")
    name = ends.create("orders", 4)
    load = ends.load(name, 4, compression="zstd")
    load.produce(2_000)
    with twinlog_run(ends, tmp_path) as engine:
        with load.in_background(rate=1_000):
            await_progress(ends, 1_000)
            for victim in ("writer", "reader"):
                engine.kill(victim)
                await_progress(ends, dice.randrange(500, 3_000))
            wipe_checkpoints(engine)
            await_progress(ends, dice.randrange(500, 3_000))
            engine.kill("jvm")
            await_progress(ends, 3_000)
        ends.await_copied(within_s=PATIENCE_S)
        assert engine.exit_code is None, "the process itself was not touched and must live"
        assert engine.stop() == 0
    assert ends.check().source_records == load.count


def wipe_checkpoints(engine: EngineProcess) -> None:
    """Lose Spark's checkpoint folder while its query runs."""
    folders = list(engine.scratch.glob("twinlog-*/checkpoints"))
    assert folders, f"no checkpoints under {engine.scratch}"
    for folder in folders:
        shutil.rmtree(folder)
