"""Twenty seeded moments at which something is killed -9 under load: engine, JVM, reader, writer."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.kit.ends import Ends
from tests.kit.engine import EngineProcess, Victim, twinlog_run
from tests.kit.waiting import wait_until

MakeEnds = Callable[..., Ends]

PATIENCE_S = 150.0
VICTIMS: tuple[Victim, ...] = ("engine", "jvm", "reader", "writer", "reader", "writer")
pytestmark = [pytest.mark.chaos, pytest.mark.timeout(1_800)]


def copied(ends: Ends) -> int:
    return sum(part.records for part in ends.status().partitions)


def await_copies(ends: Ends, more: int) -> None:
    """Wait for so many more records to be copied."""
    before = copied(ends)
    wait_until(lambda: copied(ends), lambda now: now >= before + more, within_s=PATIENCE_S, what=f"{more} more copies")


@pytest.mark.proves("R1", "R2", "R3", "R4", "R9")
@pytest.mark.parametrize("seed", [1, 2])
def test_ten_kills_at_random_moments_leave_every_record_once(make_ends: MakeEnds, tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    ends = make_ends(tasks_max="2", epoch_seconds="5")
    name = ends.create("orders", 6)
    load = ends.load(
        name, 6, seed=seed, compression=dice.choice(["none", "lz4", "zstd"]), linger_ms=dice.choice([0, 5])
    )
    with ExitStack() as stack:
        engine = stack.enter_context(twinlog_run(ends, tmp_path))
        with load.in_background(rate=1_500):
            for _ in range(10):
                await_copies(ends, dice.randrange(1, 6_000))
                victim = dice.choice(VICTIMS)
                engine.kill(victim)
                if victim == "engine":
                    shutil.rmtree(engine.scratch)
                    engine = stack.enter_context(twinlog_run(ends, tmp_path))
        ends.await_copied(within_s=PATIENCE_S)
        assert engine.stop() == 0
    assert ends.check(name).source_records == load.count


@pytest.mark.proves("R1", "R2", "R10")
def test_engines_that_freeze_and_wake_in_turn_never_write_side_by_side(make_ends: MakeEnds, tmp_path: Path) -> None:
    dice = random.Random(3)
    ends = make_ends(tasks_max="2", epoch_seconds="5")
    name = ends.create("orders", 4)
    load = ends.load(name, 4)
    with ExitStack() as stack:
        engine = stack.enter_context(twinlog_run(ends, tmp_path))
        with load.in_background(rate=1_500):
            for _ in range(3):
                await_copies(ends, dice.randrange(1, 4_000))
                engine.freeze()
                heir: EngineProcess = stack.enter_context(twinlog_run(ends, tmp_path))
                await_copies(ends, dice.randrange(1, 4_000))
                engine.thaw()
                assert engine.await_end(PATIENCE_S) == 4
                engine = heir
        ends.await_copied(within_s=PATIENCE_S)
    assert ends.check(name).source_records == load.count
