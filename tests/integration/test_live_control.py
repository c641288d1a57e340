"""A limit and paused topics on a running link, with real brokers: no restart, nothing lost, nothing twice."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.kit.ends import Ends
from tests.kit.threads import engine_running
from tests.kit.waiting import wait_until

from twinlog.flow.pacing import Pacing
from twinlog.model.health.states import LinkStatus
from twinlog.model.ledger.control import Control
from twinlog.service.actions import order_control


def order(ends: Ends, change: Callable[[Control], Control]) -> Control:
    return asyncio.run(order_control(ends.link, lambda now, _: change(now)))[1]


def reached(status: LinkStatus, topic: str) -> int:
    return sum(part.source_next for part in status.partitions if part.partition.topic == topic)


@pytest.fixture
def pacings(monkeypatch: pytest.MonkeyPatch) -> list[Pacing]:
    """The pacing of each task, in the order in which they began."""
    begun: list[Pacing] = []
    prepare = Pacing.__post_init__

    def begin(pacing: Pacing) -> None:
        prepare(pacing)
        begun.append(pacing)

    monkeypatch.setattr(Pacing, "__post_init__", begin)
    return begun


@pytest.mark.proves("R1", "R2")
def test_a_paused_topic_waits_also_over_a_restart_while_the_other_is_copied(
    make_ends: Callable[..., Ends], tmp_path: Path
) -> None:
    ends = make_ends()
    loads = {name: ends.load(ends.create(name), 1) for name in ("orders", "logs")}
    orders, logs = ends.name("orders"), ends.name("logs")
    for load in loads.values():
        load.produce(20)
    with engine_running(ends.link, tmp_path) as engine:
        ends.await_copied()
        epochs = engine.epochs
        assert order(ends, lambda now: now.with_paused([logs], [])).held == (logs,)
        ends.await_status(lambda _: engine.epochs > epochs, "the end of the epoch that still read it")
        for load in loads.values():
            load.produce(30)
        seen = ends.await_copied(orders)
        assert reached(seen, logs) == 20
        (held,) = [part.held_back for part in seen.partitions if part.partition.topic == logs]
        assert "paused" in (held or "")
    with engine_running(ends.link, tmp_path):
        loads["orders"].produce(10)
        assert reached(ends.await_copied(orders), logs) == 20
        order(ends, lambda now: now.with_resumed([logs], []))
        ends.await_copied()
    assert ends.check().target_records == 60 + 50


@pytest.mark.proves("R1", "R2")
def test_a_limit_slows_a_running_link_and_is_lifted_at_once(
    make_ends: Callable[..., Ends], tmp_path: Path, pacings: list[Pacing]
) -> None:
    ends = make_ends()
    load = ends.load(ends.create("orders"), 1)
    load.produce(20)
    with engine_running(ends.link, tmp_path):
        first = ends.await_copied()
        sent = sum(part.bytes for part in first.partitions)
        order(ends, lambda now: replace(now, bytes_per_second=20_000))
        ends.await_status(lambda seen: seen.control.bytes_per_second == 20_000, "the order in the ledger")
        wait_until(
            lambda: pacings[-1].control.bytes_per_second,
            lambda followed: followed == 20_000,
            within_s=30,
            what="a task that follows the order",
        )
        began = time.monotonic()
        for _ in range(30):
            load.produce(100)  # a fetch brings a whole batch at least: small ones show the limit
        seen = ends.await_status(
            lambda seen: sum(part.bytes for part in seen.partitions) - sent > 180_000, "180 KB at 20 KB/s"
        )
        spent = sum(part.bytes for part in seen.partitions) - sent
        # One answer may be over the limit, and a second's worth may have been saved up.
        assert spent <= 20_000 * (time.monotonic() - began + 2) + 50_000, spent
        assert seen.lag, "the limit did not slow it"
        order(ends, lambda now: replace(now, bytes_per_second=0))
        ends.await_copied(within_s=20)
    assert ends.check().target_records == 3020


@pytest.mark.proves("R1", "R2")
def test_topics_that_come_first_catch_up_before_the_others(make_ends: Callable[..., Ends], tmp_path: Path) -> None:
    ends = make_ends(tasks_max="2")
    loads = {name: ends.load(ends.create(name, 2), 2, max_record_bytes=2000) for name in ("logs", "payments")}
    logs, payments = ends.name("logs"), ends.name("payments")
    for load in loads.values():
        load.produce(10)
    with engine_running(ends.link, tmp_path) as running:
        ends.await_copied()
        epochs = running.engine.epochs
        order(ends, lambda now: now.with_paused([logs, payments], []))
        # The status shows the order at once; the tasks follow it when their epoch has ended.
        wait_until(lambda: running.engine.epochs, lambda ended: ended > epochs, within_s=30, what="both paused")
        for load in loads.values():
            for _ in range(40):
                load.produce(50)  # small batches: a batch is never cut, whatever the limit
        # Slow enough to see who is first: some seconds for payments. Two orders in a row: the second one can fall
        # between the plan of an epoch and its first read.
        order(ends, lambda now: replace(now, bytes_per_second=150_000, first=(payments,)))
        order(ends, lambda now: now.with_resumed([logs, payments], []))
        copied: list[tuple[int, int]] = []

        def caught_up(seen: LinkStatus) -> bool:
            copied.append((reached(seen, payments), reached(seen, logs)))
            return copied[-1][0] >= 2010

        ends.await_status(caught_up, "a copy of payments")
        under_way = [both for both in copied if 500 < both[0] < 2010]
        assert len(under_way) > 2, f"too fast to see who is first: {copied}"
        assert all(other * 3 < first for first, other in under_way), f"logs was copied as early: {copied}"
        order(ends, lambda now: replace(now, bytes_per_second=0))
        ends.await_copied(within_s=30)
    assert ends.check().target_records == 2 * 2010


@pytest.mark.proves("R1", "R2")
def test_a_limit_of_records_and_topics_that_come_first_survive_a_restart(
    make_ends: Callable[..., Ends], tmp_path: Path, pacings: list[Pacing]
) -> None:
    ends = make_ends()
    load = ends.load(ends.create("orders"), 1)
    orders = ends.name("orders")
    load.produce(20)
    with engine_running(ends.link, tmp_path):
        ends.await_copied()
        order(ends, lambda now: replace(now, records_per_second=200, first=(orders,)))
        ends.await_status(lambda seen: seen.control.records_per_second == 200, "the order in the ledger")
        wait_until(
            lambda: pacings[-1].control,
            lambda followed: (followed.records_per_second, followed.first) == (200, (orders,)),
            within_s=30,
            what="a task that follows the order",
        )
        began = time.monotonic()
        for _ in range(60):
            load.produce(100)
        copied = reached(ends.await_status(lambda seen: reached(seen, orders) >= 1220, "1200 records"), orders) - 20
        assert copied <= 200 * (time.monotonic() - began + 2) + 200, copied
    before = reached(ends.status(), orders)
    with engine_running(ends.link, tmp_path):
        began = time.monotonic()
        seen = ends.await_status(lambda seen: reached(seen, orders) > before, "records after the restart")
        assert (seen.control.records_per_second, seen.control.first) == (200, (orders,))
        seen = ends.await_status(lambda seen: reached(seen, orders) >= before + 1200, "1200 records after the restart")
        copied = reached(seen, orders) - before
        assert copied <= 200 * (time.monotonic() - began + 2) + 200, f"the limit is forgotten: {copied}"
        order(ends, lambda now: replace(now, records_per_second=0))
        ends.await_copied(within_s=20)
    assert ends.check().target_records == 6020
