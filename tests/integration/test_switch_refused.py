"""A switch that cannot work is refused with the reason and the way out, and nothing is changed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Consumer
from tests.kit.ends import Ends
from tests.kit.switches import IDENTITY, commit_at, do_switch, pair_of_ends, produce, service_running, switching
from tests.kit.waiting import wait_until

from twinlog.config.pair import resolve_pair
from twinlog.errors import LinkUnknown, SwitchRefused, SwitchRunning, SwitchTakenOver
from twinlog.model.switch.log import StateEntry
from twinlog.recovery import execute

SETTINGS = {
    "replication_policy_class": IDENTITY,
    "emit_checkpoints_interval_seconds": "1",
    "sync_group_offsets_interval_seconds": "1",
    "refresh_groups_interval_seconds": "1",
}


def standing(ends: Ends, folder: Path) -> StateEntry | None:
    return asyncio.run(switching(ends, folder).standing()).state


@pytest.mark.proves("R7", "R10", "R14")
def test_what_cannot_work_is_refused_and_changes_nothing(make_ends: Callable[..., Ends], tmp_path: Path) -> None:
    ends = make_ends(**SETTINGS)
    with pytest.raises(LinkUnknown):
        resolve_pair(ends.properties.encode("latin-1"), "f", "T->nowhere", {})
    with pytest.raises(SwitchRefused, match="never ran"):
        do_switch(ends, tmp_path, "failover-planned")
    topic, group = ends.create("orders"), f"g{ends.alias}"
    here, there = ends.source_cluster.bootstrap_servers, ends.target_cluster.bootstrap_servers
    produce(here, topic, range(10))
    commit_at(here, group, topic, 5)
    with service_running(ends, tmp_path) as engine:
        engine.await_running()
        ends.await_copied(topic)
        with pytest.raises(SwitchRefused, match="is the active side"):
            do_switch(ends, tmp_path, "failback-delta")
        consumer = Consumer({"bootstrap.servers": there, "group.id": group, "log_level": 0})
        try:
            consumer.subscribe([topic])
            wait_until(lambda: (consumer.poll(0.1), consumer.assignment())[1], bool, within_s=30, what="a member")
            wait_until(
                lambda: _refusal(ends, tmp_path), lambda said: "members on T" in said, within_s=30, what="a refusal"
            )
        finally:
            consumer.close()
        asyncio.run(_two_operators(ends, tmp_path))
    with pytest.raises(SwitchRefused, match="no engine drains the link"):
        do_switch(ends, tmp_path, "failover-planned")
    assert standing(ends, tmp_path) is None
    assert produce(here, topic, range(10, 20)) == []


def _refusal(ends: Ends, folder: Path) -> str:
    try:
        asyncio.run(switching(ends, folder).plan("failover-planned"))
    except SwitchRefused as refused:
        return str(refused)
    return ""


async def _two_operators(ends: Ends, folder: Path) -> None:
    """The log gives the switch to one of them; the other changes nothing, neither then nor later."""
    ann, bob = switching(ends, folder), switching(ends, folder)
    mine, yours = ann._context(), bob._context()
    try:
        for ctx in (mine, yours):
            await ctx.journal.read()
        await execute.begin(mine, "failover-planned", ["freeze"], {})
        with pytest.raises(SwitchRunning, match="already running"):
            await execute.begin(yours, "failover-unplanned", ["stop-link"], {})
        with pytest.raises(SwitchTakenOver):
            await yours.journal.decide("a switch that was never given to him", active="T")
        with pytest.raises(SwitchRunning):
            await bob.plan("failover-planned")
        aborted = await execute.abort(mine)
        assert aborted.outcome == "aborted"
    finally:
        await mine.close()
        await yours.close()


def test_a_target_that_does_not_answer_refuses(make_ends: Callable[..., Ends], tmp_path: Path) -> None:
    ends = make_ends(**SETTINGS)
    text = ends.properties.replace(ends.target_cluster.bootstrap_servers, "127.0.0.1:1")
    one = switching(ends, tmp_path)
    one.pair = resolve_pair(text.encode("latin-1"), "f", pair_of_ends(ends).link.name, {})
    with pytest.raises(SwitchRefused, match="target does not answer"):
        asyncio.run(one.plan("failover-unplanned"))
