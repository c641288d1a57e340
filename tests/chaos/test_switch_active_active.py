"""A planned switch and back of a pair that is written on both sides all the time: nothing lost, nothing twice."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.kit.applications import Writer
from tests.kit.switches import IDENTITY, BothWays, both_running, do_switch, log_numbers
from tests.kit.waiting import wait_until

from twinlog.config.settings import LinkSettings
from twinlog.local.cluster import LocalCluster
from twinlog.model.verify.report import VerifyReport
from twinlog.model.wanted import Wanted
from twinlog.sync.ends import LinkEnds
from twinlog.verify.chunk import compare_all
from twinlog.verify.plan import Planner, VerifyWish

SETTINGS = {"replication_policy_class": IDENTITY, "switch_grace_seconds": "0"}
SECOND = 1_000_000
"""The first number of the second writer: both count for themselves."""

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(600)]


def verified(link: LinkSettings, topic: str) -> VerifyReport:
    """What `twinlog verify` says of one topic of a link."""
    ends = LinkEnds.of(link)
    wish = VerifyWish(Wanted("topics", re.escape(topic)))
    plan = Planner(link, ends.source, ends.target).plan(wish)
    report = VerifyReport(link.name, str(wish), 0, sample=wish.sample, excluded=plan.excluded)
    report.take(compare_all(link, plan.chunks))
    assert not report.troubles
    return report


def await_writes(writer: Writer, server: str, more: int) -> None:
    """Wait until one cluster took so many more records of a writer."""

    def taken() -> int:
        return sum(1 for taker in list(writer.acknowledged.values()) if taker == server)

    before = taken()
    wait_until(taken, lambda now: now >= before + more, within_s=120, what=f"{more} more records taken by {server}")


@pytest.mark.proves("R1", "R2", "R3")
def test_both_sides_are_written_before_during_and_after_and_end_equal(
    source_cluster: LocalCluster, target_cluster: LocalCluster, tmp_path: Path
) -> None:
    here, there = source_cluster.bootstrap_servers, target_cluster.bootstrap_servers
    moving, fixed, hook = tmp_path / "moving", tmp_path / "fixed", tmp_path / "move.sh"
    moving.write_text(here)
    fixed.write_text(there)
    hook.write_text(f'#!/bin/sh\nprintf %s "$TWINLOG_BOOTSTRAP" > {moving}.new && mv {moving}.new {moving}\n')
    hook.chmod(0o755)
    hooks = {"redirects": "clients", "redirects_clients_type": "command", "redirects_clients_command": str(hook)}
    ends = BothWays(source_cluster, target_cluster, **SETTINGS, **hooks)
    topic = ends.create("orders")
    ends.create_there(topic)
    writers = [Writer(moving, topic, rate=150), Writer(fixed, topic, rate=150, first=SECOND)]
    with both_running(ends, tmp_path):
        for writer in writers:
            writer.start()
        await_writes(writers[0], here, 200)
        await_writes(writers[1], there, 200)
        assert do_switch(ends, tmp_path, "failover-planned").active == "T"
        for writer in writers:
            await_writes(writer, there, 200)
        back = do_switch(ends, tmp_path, "failback-delta")
        assert back.active == ends.alias
        assert back.tail["records"] == 0
        await_writes(writers[0], here, 200)
        await_writes(writers[1], there, 200)
        for writer in writers:
            writer.finish()
        wanted = sorted(number for writer in writers for number in writer.acknowledged)
        wait_until(
            lambda: [len(log_numbers(side, topic)) for side in (here, there)],
            lambda counts: counts == [len(wanted)] * 2,
            within_s=90,
            what=f"{len(wanted)} records on both sides",
        )
    for side in (here, there):
        log = log_numbers(side, topic)
        assert sorted(log) == wanted, "a record was lost or copied twice"
    assert set(writers[0].acknowledged.values()) == {here, there}
    assert set(writers[1].acknowledged.values()) == {there}
    for link in ends.links:
        report = verified(link, topic)
        assert report.equal, report.differences
        assert report.count("equal") > 0
