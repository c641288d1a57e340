"""What a disaster costs, on a real source that is really gone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.kit.ends import Ends
from tests.kit.switches import commit_at
from tests.kit.threads import engine_running
from tests.kit.waiting import wait_until
from typer.testing import CliRunner

from twinlog.local.cluster import LocalCluster
from twinlog.model.groups.positions import continues
from twinlog.model.health.exposed import LinkExposure
from twinlog.model.ledger.source_ends import CHORE
from twinlog.service import group_report, observer
from twinlog.surface.cli.main import app

GROUPS = {
    "emit_checkpoints_interval_seconds": "1",
    "sync_group_offsets_interval_seconds": "1",
    "refresh_groups_interval_seconds": "1",
}


def exposure(ends: Ends) -> LinkExposure:
    found = ends.status().exposure
    assert found is not None
    return found


def synced(ends: Ends, group: str) -> int | None:
    """What the group has committed on the target."""
    report = asyncio.run(group_report(ends.link, lambda name: name == group))
    return next((one.on_target for one in report.standings), None)


def noted_end(ends: Ends, topic: str) -> int | None:
    """What the engine noted in the ledger about the end of a source topic."""
    observers = observer(ends.link)
    asyncio.run(observers.look())
    assert observers._view is not None
    memo = observers._view.memos.get(CHORE, {}).get(topic)
    return None if memo is None else memo.body["ends"][0]


@pytest.mark.proves("R7", "R14")
def test_a_source_that_is_gone_leaves_the_loss_by_name_and_its_age_grows(
    make_cluster: Callable[..., LocalCluster], target_cluster: LocalCluster, tmp_path: Path
) -> None:
    source = make_cluster("doomed")
    ends = Ends(source, target_cluster, source_admin_request_timeout_ms="1000", rpo_seconds="100", **GROUPS)
    orders, bulky = ends.create("orders"), ends.create("bulky")
    ends.load(orders).produce(50)
    ends.load(bulky).produce(20)
    group = f"g{ends.alias}"
    ends.set(groups=group)
    commit_at(source.bootstrap_servers, group, orders, 30)
    with engine_running(ends.link, tmp_path, with_chores=True):
        ends.await_copied()
        safe = wait_until(lambda: exposure(ends), lambda seen: seen.live, within_s=30, what="an answer of the source")
        assert (safe.total.records, safe.total.seconds, safe.broken) == (0, 0.0, ())

        # Records that the target refuses are seen, and not copied.
        assert ends.target.apply_topic_configs({ends.remote(bulky): {"max.message.bytes": "1"}}) == {
            ends.remote(bulky): None
        }
        ends.load(bulky, seed=2).produce(7)
        ends.await_fault("RECORD_TOO_LARGE", bulky)
        ends.await_status(
            lambda s: any(t.records == 7 for t in s.exposure.topics) if s.exposure else False, "7 records at risk"
        )
        known = ends.status().now_ms
        wait_until(lambda: noted_end(ends, bulky), lambda end: end == 27, within_s=60, what="a look at the source")
        wait_until(lambda: synced(ends, group), lambda at: at == 30, within_s=60, what="the position of the group")
        watching = observer(ends.link)
        asyncio.run(watching.look())
    source.kill()

    # A client that knew the leaders must not take its own silence for an answer: not as an offset, not as "no leader".
    for _ in range(4):
        seen = asyncio.run(watching.look())
        assert seen.source_unreachable, seen.source_trouble
        assert {part.source_end for part in seen.partitions} == {None}

    # Where groups stand, and what they read again, is asked on the day when the source cannot answer.
    file = str(ends.write_file(tmp_path))
    answer = CliRunner().invoke(app, ["groups", ends.link.name, "-c", file, "-o", "json"])
    found = json.loads(answer.stdout)
    assert ends.alias in found["source_trouble"]
    assert [(one["group"], one["source_offset"], one["target_offset"]) for one in found["positions"]] == [
        (group, 30, 30)
    ]
    assert found["read_again_at_most"] == {group: 20}
    answer = CliRunner().invoke(app, ["failover", ends.link.name, "--unplanned", "--dry-run", "-c", file, "-o", "json"])
    said = json.loads(answer.stdout)["at_risk"]["sentences"]
    assert said[0].startswith("lost: at least 7, at most ") or said[0].startswith("lost: 7 records; ")
    assert f"; {ends.alias} last heard " in said[0]
    assert said[1] == f"group {group} {continues(20)}"

    gone = exposure(ends)
    assert not gone.live
    by_topic = {topic.topic: topic for topic in gone.topics}
    assert (by_topic[bulky].records, by_topic[orders].records) == (7, 0)
    assert gone.total.known_at_ms is not None
    assert gone.total.known_at_ms >= known - 3_000
    assert min(topic.seconds or 0.0 for topic in gone.topics) > 0

    ends.set(rpo_seconds="1")
    answer = CliRunner().invoke(app, ["rpo", ends.link.name, "-c", str(ends.write_file(tmp_path)), "-o", "json"])
    told = json.loads(answer.stdout)
    assert answer.exit_code == 1, answer.output
    assert (told["source_answers"], told["total"]["records"]) == (False, 7)
    assert told["total"]["seconds"] > (gone.total.seconds or 0.0)
    assert {topic["topic"]: topic["kept"] for topic in told["topics"]} == {orders: "broken", bulky: "broken"}
