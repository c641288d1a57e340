"""Partitions that begin at a rare moment, on real brokers: after a start without topics, or twice before an opening."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from tests.kit.ends import Ends
from tests.kit.threads import engine_running
from tests.kit.waiting import wait_until

from twinlog.flow.parcel import Parcel
from twinlog.flow.takeover import ShardOwner
from twinlog.flow.write import Writer
from twinlog.local.cluster import LocalCluster

pytestmark = pytest.mark.chaos


@pytest.mark.proves("R1")
def test_a_topic_made_while_a_link_without_topics_was_down_is_copied_from_its_first_record(
    make_cluster: Callable[..., LocalCluster], target_cluster: LocalCluster, tmp_path: Path
) -> None:
    ends = Ends(make_cluster("source"), target_cluster, start_from="latest")  # a source without heartbeats
    with engine_running(ends.link, tmp_path) as engine:
        engine.await_running()
    assert ends.status().topics == 0
    name = ends.create("orders", 2)
    ends.load(name, 2).produce(300)
    with engine_running(ends.link, tmp_path):
        ends.await_copied(name)
    assert ends.check(name).target_records == 300


class Begins:
    """Counts how often partitions began while they were being opened, and holds the writers to be asked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.again: Counter[str] = Counter()
        self.writers: list[Writer] = []
        take, made = Writer._take, Writer.__post_init__

        def counted(writer: Writer, parcel: Parcel) -> None:
            self.again[parcel.partition.topic] += parcel.kind == "begin" and parcel.partition in writer.opening
            take(writer, parcel)

        def held(writer: Writer) -> None:
            made(writer)
            self.writers.append(writer)

        monkeypatch.setattr(Writer, "_take", counted)
        monkeypatch.setattr(Writer, "__post_init__", held)

    @property
    def bytes_held(self) -> int:
        return sum(writer.budget.used for writer in self.writers)


@pytest.mark.proves("R8", "R11")
def test_a_partition_that_begins_again_and_again_while_the_target_is_frozen_holds_no_bytes(
    source_cluster: LocalCluster,
    make_cluster: Callable[..., LocalCluster],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    target = make_cluster("target")
    ends = Ends(source_cluster, target)
    beside, name = ends.create("beside"), ends.name("orders")
    load = ends.load(beside)
    load.produce(200)
    begins, opened, frozen = Begins(monkeypatch), ShardOwner.open, Event()

    async def freeze_first(owner: ShardOwner, chosen: Any) -> Any:
        if any(begin.partition.topic == name for begin in chosen) and not frozen.is_set():
            target.brokers[0].freeze()
            frozen.set()
        return await opened(owner, chosen)

    monkeypatch.setattr(ShardOwner, "open", freeze_first)
    with engine_running(ends.link, tmp_path):
        ends.await_copied(beside)
        ends.create("orders")
        ends.load(name).produce(400)
        try:
            assert frozen.wait(30), "the new topic is not opened"
            # The reader notices that the topic is gone, and tries it again every two seconds.
            ends.delete(ends.source, name)
            wait_until(lambda: begins.again[name], lambda seen: seen >= 2, within_s=30, what="two more beginnings")
        finally:
            target.brokers[0].thaw()
        load.produce(200)
        ends.await_copied(beside)
        ends.await_fault("SOURCE_TOPIC_MISSING", name)
        wait_until(lambda: begins.bytes_held, lambda seen: seen == 0, within_s=30, what="no bytes in the writers")
    assert ends.check(beside).target_records == 400
