"""A target that refuses our login while its leaders are sought: batches that wait for a leader are not forgotten."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.kit.ends import Ends
from tests.kit.engine import twinlog_run
from tests.kit.outboxes import WHERE, made_at, make_box, parcel
from tests.kit.waiting import wait_until

from twinlog.flow.lanes import Answer, Lanes
from twinlog.kafka.admin import TopicOrder
from twinlog.local.cluster import LocalCluster
from twinlog.wire.connection import Cluster

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(300)]


class Plain(Ends):
    """A link that enters the target by PLAIN: its broker reads the passwords at each start."""

    @property
    def properties(self) -> str:
        scram = self.target_cluster.client_properties("admin", "SCRAM-SHA-512")
        plain = self.target_cluster.client_properties("admin", "PLAIN")
        text = super().properties
        for name, value in scram.items():
            text = text.replace(f"T.{name} = {value}", f"T.{name} = {plain[name]}")
        return text


def with_password(cluster: LocalCluster, password: str) -> str:
    """Let the next start of a stopped cluster know another password; returns the one it knew."""
    file = cluster.folder / "users.json"
    users = json.loads(file.read_text())
    before, users["admin"] = users["admin"], password
    file.write_text(json.dumps(users))
    return str(before)


@pytest.mark.proves("R1", "R9")
def test_a_batch_that_waits_for_a_leader_outlasts_a_refused_login(
    make_cluster: Callable[..., LocalCluster], source_cluster: LocalCluster, caplog: pytest.LogCaptureFixture
) -> None:
    target = make_cluster("secure", secure=True)
    ends = Plain(source_cluster, target)
    assert ends.target.create_topics([TopicOrder(WHERE.topic, 1, 1, {})]) == {WHERE.topic: None}
    known = ends.await_topic(ends.target, WHERE.topic)
    settings = ends.link.clients.target_producer
    target.kill()
    right = with_password(target, "another password")
    target.start(120)

    async def send() -> list[Answer]:
        answers: list[Answer] = []
        failures: list[BaseException] = []
        cluster = Cluster(settings, "twinlog|test")
        lanes = Lanes(cluster, 1 << 20, lambda _, answer: answers.append(answer), lambda _: None, failures.append)
        box = make_box(target_id=known.topic_id)
        box.intake.parcels.append(parcel(made_at(0)))
        lanes.ready(box)
        try:
            await until(lambda: refusals(caplog) >= 2)
            await asyncio.to_thread(target.kill)
            with_password(target, right)
            await asyncio.to_thread(target.start, 120)
            await until(lambda: bool(answers))  # nobody told the lanes of the box again
        finally:
            lanes.stop()
            await cluster.close()
        assert failures == []
        return answers

    (answer,) = asyncio.run(send())
    assert (answer.error, answer.base_offset) == (0, 0)


def refusals(caplog: pytest.LogCaptureFixture) -> int:
    told = [line for line in caplog.messages if "nobody says who leads" in line]
    return sum("access denied" in line.lower() for line in told)


async def until(reached: Callable[[], bool]) -> None:
    await asyncio.to_thread(wait_until, reached, bool, within_s=60, what="it")


@pytest.mark.proves("R1", "R2", "R9", "R14")
def test_a_link_outlasts_a_target_that_refuses_its_login(
    make_cluster: Callable[..., LocalCluster], source_cluster: LocalCluster, tmp_path: Path
) -> None:
    target = make_cluster("secure", secure=True)
    ends = Plain(source_cluster, target)
    topic = ends.create("orders", 2)
    load = ends.load(topic, 2)
    load.produce(50)
    with twinlog_run(ends, tmp_path) as engine:
        ends.await_copied(topic)
        target.kill()
        load.produce(50)  # the last records of the source: nothing comes later that would remind a writer
        right = with_password(target, "another password")
        target.start(120)
        wait_until(lambda: engine.output, lambda told: "access denied" in told, within_s=60, what="the cause")
        target.kill()
        with_password(target, right)
        target.start(120)
        ends.await_copied(topic, within_s=120)
        began = time.monotonic()
    assert time.monotonic() - began < 30, "it ends when it is told to"
    assert ends.check(topic).target_records == 100
