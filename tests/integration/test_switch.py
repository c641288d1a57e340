"""The switch on real brokers: planned, unplanned and back, with every record and every position accounted for."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.kit.ends import Ends
from tests.kit.switches import QUICK_SWITCH, commit_at, do_switch, log_numbers, numbers_of, produce, service_running
from tests.kit.waiting import wait_until
from typer.testing import CliRunner

from twinlog.errors import ClusterError
from twinlog.ledger.reading import look_at_ledger
from twinlog.local.cluster import LocalCluster
from twinlog.surface.cli.main import app

SETTINGS = QUICK_SWITCH


def limit(ends: Ends, value: str | None) -> None:
    """Let the copies take records of at most so many bytes; the marker of a fence needs 78."""
    (topic,) = ends.topics() if value else [name for name in ends.target.list_topics() if name.startswith(ends.prefix)]
    assert ends.target.apply_topic_configs({topic: {"max.message.bytes": value}}) == {topic: None}


def size_limit(ends: Ends, topic: str) -> str | None:
    """What the source takes."""
    configs = ends.source.fetch_topic_configs([topic])[topic]
    assert not isinstance(configs, ClusterError)
    return next(config.value for config in configs if config.name == "max.message.bytes")


def await_told(ends: Ends, group: str, topic: str, end: int) -> None:
    """Wait until the ledger knows how far the source goes, and the target where the group stands."""

    def told() -> tuple[object, object]:
        view = asyncio.run(look_at_ledger(ends.link.clients.target_producer, ends.alias, within_s=20))
        memo = view.memos.get("source-ends", {}).get(topic) if view else None
        return memo.body["ends"] if memo else None, view.notes.get("groups") if view else None

    wait_until(told, lambda seen: seen[0] == [end], within_s=30, what=f"the end {end} of {topic} and {group}")


def nothing_is_called_safe(ends: Ends, folder: Path) -> None:
    """After a failover: the copy of the old side is whole, and what the new side writes has no copy (R14)."""
    link, file = f"{ends.alias}->T", str(ends.write_file(folder))

    def answer(*words: str, code: int = 1) -> Any:
        told = CliRunner().invoke(app, [*words, "-c", file, "-o", "json"])
        assert told.exit_code == code, (told.output, told.exception)
        return json.loads(told.stdout)

    risk = answer("rpo", link)
    assert (risk["active"], risk["total"]) == ("T", None)
    assert "New data on T has no copy" in risk["says"]
    (shown,) = answer("status")
    assert (shown["state"], shown["lag_records"], shown["lag_seconds"], shown["rpo"]) == ("SWITCHED", None, None, None)
    assert shown["reason"].startswith("T is the active side")
    checks = {check["name"]: check for check in answer("doctor", link)["checks"]}
    assert "silent" not in checks["engine"]["seen"]
    assert (checks["engine"]["verdict"], checks["rpo"]["verdict"]) == ("warn", "warn")
    assert "twinlog failback" in checks["engine"]["remedy"]


@pytest.mark.proves("R1", "R2", "R5", "R7", "R14")
def test_a_lost_source_is_left_with_every_lost_record_named_and_comes_back_whole(
    make_cluster: Callable[..., LocalCluster], target_cluster: LocalCluster, tmp_path: Path
) -> None:
    source = make_cluster("primary")
    ends = Ends(source, target_cluster, **SETTINGS)
    here, there = source.bootstrap_servers, target_cluster.bootstrap_servers
    topic = ends.create("payments")
    group = f"g{ends.alias}"
    produce(here, topic, range(9_998))
    commit_at(here, group, topic, 8_000)
    with service_running(ends, tmp_path) as engine:
        engine.await_running()
        ends.await_copied(topic)
        # The target takes nothing more, so that the last two are not copied; how many they are is known by then.
        limit(ends, "100")
        produce(here, topic, range(9_998, 10_000))
        await_told(ends, group, topic, 10_000)
        source.kill()

        report = do_switch(ends, tmp_path, "failover-unplanned")
        limit(ends, None)
        assert report.lost["records"] == 2
        assert report.lost["lost"] == {f"{topic}-0": [9_998, 10_000]}
        assert numbers_of(there, group, topic) == list(range(8_000, 9_998))
        assert produce(there, topic, range(10_000, 10_050)) == []

        source.start()
        wait_until(lambda: size_limit(ends, topic), lambda limit: limit == "0", within_s=30, what="a shut old primary")
        assert set(produce(here, topic, range(1))) == {"MSG_SIZE_TOO_LARGE"}
        assert numbers_of(there, group, topic) == list(range(10_000, 10_050))
        nothing_is_called_safe(ends, tmp_path)
        back = do_switch(ends, tmp_path, "failback-delta")
        assert back.card["facts"]["Old side"].startswith("T: the topics are open to everybody")
        assert back.tail["records"] == 2
        assert len(Path(back.tail["file"]).read_text().splitlines()) == 2
        returned = log_numbers(here, topic)
        assert sorted(returned) == sorted(log_numbers(there, topic)) == list(range(10_050))
        assert returned == list(range(10_050))
        # It had read the two on neither side: nothing unread is skipped, and what that costs is told.
        assert numbers_of(here, group, topic) == list(range(9_998, 10_050))
        assert any("offsets will be read again" in finding for step in back.steps for finding in step["findings"])
