"""An operator's order that is written between the planning of an epoch and its first read."""

from __future__ import annotations

import asyncio

import pytest
from tests.kit.fake_cluster import FakeBroker

from twinlog.config.resolve import resolve
from twinlog.config.settings import LinkSettings
from twinlog.flow.parcel_queue import ParcelQueue
from twinlog.flow.plan import TaskPlan
from twinlog.flow.read import Reader
from twinlog.ledger.view import LedgerView
from twinlog.ledger.writer import roster_writer
from twinlog.model.ledger.control import CONTROL, WISH, Control
from twinlog.model.ledger.records import Memo, ledger_topic
from twinlog.model.routes.provenance import ClusterIds


def link(epoch_seconds: int) -> LinkSettings:
    lines = ["clusters = A, B", "A->B.enabled = true", f"A->B.epoch.seconds = {epoch_seconds}"]
    lines += [f"{alias}.bootstrap.servers = 127.0.0.1:1" for alias in "AB"]
    (found,) = resolve("\n".join(lines).encode(), "test.properties", (), {}).links
    return found


async def read(planned: Control, ordered: Control | None, epoch_seconds: int = 60) -> Reader:
    """Read an epoch that was planned with one order while another one was written."""
    settings, broker = link(epoch_seconds), FakeBroker()
    broker.create(ledger_topic("A"), 2)
    broker.create("orders")
    target = broker.cluster()
    if ordered is not None:
        memo = Memo(chore=CONTROL, name=WISH, body=ordered.body())
        await roster_writer(target, "A", settings.name).write([memo])
    plan = TaskPlan(1, 1, 0, (0,), 1, {0: 0, 1: 0}, control=planned)
    out = ParcelQueue(1_000_000, asyncio.get_running_loop())
    view = LedgerView(dict(plan.ledger_at))
    reader = Reader(settings, plan, ClusterIds("a", "b"), broker.cluster(), target, out, view)
    async with asyncio.timeout(5):
        await reader.run()
    return reader


PAUSED = Control().with_paused(["orders"], [])


@pytest.mark.parametrize(
    "ordered", [PAUSED.with_resumed(["orders"], []), PAUSED.with_paused(["logs"], []), Control(first=("orders",))]
)
def test_an_order_that_needs_another_plan_ends_the_epoch_although_it_was_written_before_the_reader_began(
    ordered: Control,
) -> None:
    reader = asyncio.run(read(PAUSED, ordered))
    assert reader.finished.is_set()


def test_a_limit_that_was_written_before_the_reader_began_holds() -> None:
    reader = asyncio.run(read(Control(), Control(bytes_per_second=5000), epoch_seconds=1))
    assert reader.pacing.pace.limits.bytes_per_second == 5000


def test_without_a_newer_order_the_epoch_keeps_the_order_of_its_plan() -> None:
    reader = asyncio.run(read(PAUSED, None, epoch_seconds=1))
    assert not reader.finished.is_set()
    assert reader.pacing.control == PAUSED
