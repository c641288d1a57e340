"""Faults that records bring along: too large, of another time, in open transactions; and quotas."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from confluent_kafka import Producer
from tests.faults.scenario import scenario
from tests.kit.load import Ending, Load

if TYPE_CHECKING:
    from tests.faults.scene import Scene
    from tests.faults.site import Site

_TRICKLE = 1_000
_HOUR_MS = 3_600_000


@scenario("a record is too large for the target", 22, named="RECORD_TOO_LARGE <orders>-0: ")
def record_too_large(scene: Scene) -> None:
    """One partition gets a record of 400 kB while its copy takes 100 kB; the limit is raised when it is named."""
    copies = [mirror.remote(scene.orders) for mirror in scene.mirrors]
    _set(scene, copies, "max.message.bytes", "100000")
    scene.exempt = {(scene.orders, 0)}
    with scene.fault():
        _send(scene, b"x" * 400_000)
        scene.await_named(30)
        scene.hold(5)
        scene.stood_still(4, [0])
        _set(scene, copies, "max.message.bytes", "1000000")
        scene.exempt = set()


@scenario("records from the future", 24, named="TIMESTAMP_REFUSED <orders>-0: ")
def record_from_the_future(scene: Scene) -> None:
    """One partition gets a record of two hours ahead, which the target refuses; its limit is raised when named."""
    scene.exempt = {(scene.orders, 0)}
    copies = [mirror.remote(scene.orders) for mirror in scene.mirrors]
    with scene.fault():
        _allow_future(scene)
        _send(scene, b"from the future", int(time.time() * 1000) + 2 * _HOUR_MS)
        scene.await_named(30)
        scene.hold(5)
        scene.stood_still(4, [0])
        _set(scene, copies, "message.timestamp.after.max.ms", str(24 * _HOUR_MS))
        scene.exempt = set()


@scenario("transactions that abort, hang, and a kill in between", 27, 28,
          named=r"<orders>-\d: an open transaction at source offset \d+ holds", within_s=90)  # fmt: skip
def transactions(scene: Scene) -> None:
    """Committed and aborted transactions beside the load, one stays open for 15 s, and the mirrors are killed -9."""
    load = Load(scene.source.bootstrap_servers, scene.orders, 6, seed=77)
    for ending in (Ending.COMMITTED, Ending.ABORTED) * 5:
        load.transaction(20, ending)
    with scene.fault():
        load.transaction(20, Ending.HANGING)
        load.transaction(20, Ending.ABORTED)
        scene.hold(15)
        scene.effect(any(load.open.values()), "a transaction was open for 15 s")
        for mirror in scene.mirrors:
            mirror.kill()
        load.end_hanging(Ending.ABORTED)


@scenario(
    "the target throttles its producers to a trickle", 33, named=r"\bT: broker \d+ throttles this link by a quota"
)
def target_throttles(scene: Scene) -> None:
    """The target gives every producer a quota of 1 kB/s for 20 s."""
    with scene.fault():
        _quota(scene.target, f"--add-config=producer_byte_rate={_TRICKLE}")
        scene.injected()  # Kafka's tool took some seconds until now
        before = scene.arrived()
        scene.hold(20)
        _tell_slow(scene, before)
        _quota(scene.target, "--delete-config=producer_byte_rate")


@scenario("the source throttles its consumers to a trickle", 33,
          named=r"<source>: broker \d+ throttles this link by a quota")  # fmt: skip
def source_throttles(scene: Scene) -> None:
    """The source gives every consumer a quota of 1 kB/s for 20 s."""
    with scene.fault():
        _quota(scene.source, f"--add-config=consumer_byte_rate={_TRICKLE}")
        scene.injected()  # Kafka's tool took some seconds until now
        before = scene.arrived()
        scene.hold(20)
        _tell_slow(scene, before)
        _quota(scene.source, "--delete-config=consumer_byte_rate")


def _tell_slow(scene: Scene, before: int) -> None:
    """By then the load has sent 1,600 records."""
    arrived = scene.arrived() - before
    scene.effect(arrived < 800, f"{arrived} records arrived in 20 s, half of what was sent or less")


def _send(scene: Scene, value: bytes, timestamp: int = 0) -> None:
    """One record into the first partition, beside the load."""
    options = {"bootstrap.servers": scene.source.bootstrap_servers, "message.max.bytes": 1_000_000, "log_level": 0}
    producer = Producer(options)
    producer.produce(scene.orders, value, partition=0, timestamp=timestamp)
    assert producer.flush(30) == 0


def _set(scene: Scene, topics: list[str], name: str, value: str) -> None:
    answers = scene.ends.target.apply_topic_configs({topic: {name: value} for topic in topics})
    assert not any(answers.values()), answers


def _allow_future(scene: Scene) -> None:
    configs = {scene.orders: {"message.timestamp.after.max.ms": str(24 * _HOUR_MS)}}
    assert not any(scene.ends.source.apply_topic_configs(configs).values())


def _quota(site: Site, change: str) -> None:
    site.tool("kafka.admin.ConfigCommand", "--alter", "--entity-type", "clients", "--entity-default", change)
