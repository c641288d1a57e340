"""Workers of one group share connectors, and take over for each other: killed, frozen, come and gone.

Every line has a number. In the end each file has each line once and in order, and so has each topic.
"""

from __future__ import annotations

import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest
from tests.kit.connect_process import ConnectProcess, connect_process, worker_config
from tests.kit.jdbc_copies import in_background
from tests.kit.killing import PATIENCE_S
from tests.kit.pipelines import committed_values
from tests.kit.waiting import wait_until

from twinlog.local.cluster import LocalCluster

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(1_200)]
SOURCE = {"connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector", "poll.interval.ms": "100"}
SINK = {"connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector"}
PAIRS: Final = ("left", "right")
NAMES: Final = tuple(f"{pair}-{side}" for pair in PAIRS for side in ("in", "out"))
TAKE_OVER_S: Final = 60.0
"""Kafka waits nine seconds for a silent worker; the rest is for the machine, which runs three JVMs."""


class Flow:
    """Two files whose lines go through a topic each into another file."""

    def __init__(self, cluster: LocalCluster, folder: Path, topics: str) -> None:
        self.cluster, self.folder, self.topics = cluster, folder, topics
        for pair in PAIRS:
            (folder / f"{pair}.in").write_text("")

    def put(self, worker: ConnectProcess) -> None:
        for pair in PAIRS:
            source = SOURCE | {"file": str(self.folder / f"{pair}.in"), "topic": f"{self.topics}-{pair}"}
            worker.put(f"{pair}-in", source)
            worker.put(
                f"{pair}-out", SINK | {"file": str(self.folder / f"{pair}.out"), "topics": f"{self.topics}-{pair}"}
            )

    def write(self, number: int) -> None:
        for pair in PAIRS:
            with (self.folder / f"{pair}.in").open("a") as file:
                file.writelines(f"{pair} {number * 10 + n}\n" for n in range(10))

    def sizes(self) -> tuple[int, ...]:
        files = [self.folder / f"{pair}.out" for pair in PAIRS]
        return tuple(file.stat().st_size if file.exists() else 0 for file in files)

    def await_news(self) -> None:
        """New lines arrive in both files."""
        before = self.sizes()
        wait_until(
            self.sizes,
            lambda now: all(size > least for size, least in zip(now, before, strict=True)),
            within_s=PATIENCE_S,
            what=f"lines beyond {before}",
        )

    def check(self) -> None:
        """Everything that was written is there once and in order."""
        want = {pair: (self.folder / f"{pair}.in").read_text() for pair in PAIRS}
        sizes = tuple(len(want[pair]) for pair in PAIRS)
        wait_until(self.sizes, lambda now: now >= sizes, within_s=PATIENCE_S, what="the last lines")
        for pair in PAIRS:
            assert (self.folder / f"{pair}.out").read_text() == want[pair]
            lines = [value["payload"] for value in committed_values(self.cluster, f"{self.topics}-{pair}")]
            assert lines == want[pair].splitlines()


def await_shares(asked: ConnectProcess, *workers: ConnectProcess) -> dict[str, str]:
    """All connectors run, dealt evenly over these workers, as one of them tells; returns who runs which."""
    share = len(NAMES) // len(workers)
    want = Counter({f"127.0.0.1:{worker.port}": share for worker in workers})

    def look() -> list[tuple[str, str, str]]:
        told = [(name, asked.status(name)["connector"]) for name in NAMES]
        return [(name, part["worker_id"], part["state"]) for name, part in told]

    seen = wait_until(
        look,
        lambda rows: Counter(row[1] for row in rows) == want and {row[2] for row in rows} == {"RUNNING"},
        within_s=PATIENCE_S,
        what=f"{share} connectors at each of {sorted(want)}",
    )
    return {name: worker for name, worker, _ in seen}


@pytest.mark.proves("R9", "R30")
def test_connectors_move_when_workers_come_and_when_one_is_killed(source_cluster: LocalCluster, tmp_path: Path) -> None:
    flow = Flow(source_cluster, tmp_path, "killed")
    config = worker_config(source_cluster, "killed")
    with ExitStack() as stack:
        first = stack.enter_context(connect_process(config, tmp_path))
        flow.put(first)
        await_shares(first, first)
        with in_background(flow.write, 0.1):
            flow.await_news()
            second = stack.enter_context(connect_process(config, tmp_path))  # connectors move to it
            dealt = await_shares(first, first, second)
            assert await_shares(second, first, second) == dealt, "every worker tells the same"
            flow.await_news()
            killed_at = time.monotonic()
            first.kill_all()  # it leads: the other one leads now, and runs all
            await_shares(second, second)
            assert time.monotonic() - killed_at < TAKE_OVER_S
            flow.await_news()
        flow.check()


@pytest.mark.proves("R9", "R10", "R30")
def test_a_worker_that_freezes_loses_its_connectors_and_writes_nothing_more(
    source_cluster: LocalCluster, tmp_path: Path
) -> None:
    flow = Flow(source_cluster, tmp_path, "frozen")
    config = worker_config(source_cluster, "frozen")
    with ExitStack() as stack:
        first = stack.enter_context(connect_process(config, tmp_path))
        second = stack.enter_context(connect_process(config, tmp_path))
        flow.put(first)
        with in_background(flow.write, 0.1):
            await_shares(first, first, second)
            flow.await_news()
            second.freeze()
            await_shares(first, first)
            flow.await_news()
            second.thaw()  # it finds that another one has its connectors, ends them, and is dealt its share again
            await_shares(first, first, second)
            flow.await_news()
        flow.check()


@pytest.mark.proves("R9", "R30")
def test_a_worker_that_is_stopped_hands_its_connectors_over(source_cluster: LocalCluster, tmp_path: Path) -> None:
    flow = Flow(source_cluster, tmp_path, "handed")
    config = worker_config(source_cluster, "handed")
    with ExitStack() as stack:
        first = stack.enter_context(connect_process(config, tmp_path))
        second = stack.enter_context(connect_process(config, tmp_path))
        flow.put(first)
        with in_background(flow.write, 0.1):
            await_shares(second, first, second)
            flow.await_news()
            assert first.stop() == 0  # the one that leads
            await_shares(second, second)
            flow.await_news()
        flow.check()
