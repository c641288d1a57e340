"""Faults of topics: deleted, created again, grown, and copies that take no records."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from confluent_kafka.admin import AdminClient, NewPartitions
from tests.faults.brokers import leaders
from tests.faults.judging import by_numbers
from tests.faults.mirrors import Twinlog
from tests.faults.scenario import TOPICS, Topic, scenario

from twinlog.kafka.admin import ClusterAdmin, TopicOrder
from twinlog.service import forget_topic

if TYPE_CHECKING:
    from tests.faults.scene import Scene


@scenario("a source topic is deleted", 14, named="SOURCE_TOPIC_MISSING <orders>-", stays=True)
def source_topic_deleted(scene: Scene) -> None:
    """The topic is deleted on the source. Its copy must stay as it is, and all other topics go on."""
    scene.loads["orders"].stop()
    scene.await_caught_up("orders")
    with scene.fault():
        scene.ends.delete(scene.ends.source, scene.orders)
        _tell_gone(scene, scene.ends.source, scene.orders)
        scene.await_named(30)
        kept = scene.loads.pop("orders")
    scene.judge = lambda _, mirror: by_numbers(scene, mirror, {"orders": kept, **scene.loads})


@scenario("a source topic is deleted and created again, shorter", 15, named="SOURCE_TOPIC_RECREATED <orders>-")
def source_topic_recreated_shorter(scene: Scene) -> None:
    """Deleted, created and filled with fewer records than were copied; then the operator deletes the copy."""
    _recreate_source(scene, fill=False)


@scenario("a source topic is deleted and created again, longer", 16, named="SOURCE_TOPIC_RECREATED <orders>-")
def source_topic_recreated_longer(scene: Scene) -> None:
    """Deleted, created and filled beyond the position at once; then the operator deletes the copy."""
    _recreate_source(scene, fill=True)


@scenario("a copy is deleted on the target", 20, named="TARGET_TOPIC_MISSING <orders>-")
def target_topic_deleted(scene: Scene) -> None:
    """The copy is deleted on the target; when it is named, the operator runs `twinlog link reset`."""
    with scene.fault():
        for mirror in scene.mirrors:
            scene.ends.delete(scene.ends.target, mirror.remote(scene.orders))
        _tell_gone(scene, scene.ends.target, scene.twinlog.remote(scene.orders))
        scene.await_named(30)
        asyncio.run(forget_topic(scene.ends.link, scene.orders))


@scenario("a copy is deleted and created again on the target", 20, named="TARGET_TOPIC_MISSING <orders>-")
def target_topic_recreated(scene: Scene) -> None:
    """Somebody deletes the copy and creates an empty one; when it is named, it is deleted and the link is reset."""
    with scene.fault():
        copies = [mirror.remote(scene.orders) for mirror in scene.mirrors]
        for copy in copies:
            scene.ends.delete(scene.ends.target, copy)
        _tell_gone(scene, scene.ends.target, copies[0])
        assert not any(scene.ends.target.create_topics([TopicOrder(copy, 6, -1, {}) for copy in copies]).values())
        scene.await_named(30)
        scene.ends.delete(scene.ends.target, scene.twinlog.remote(scene.orders))
        asyncio.run(forget_topic(scene.ends.link, scene.orders))


@scenario("partitions are added to a source topic", 19, unnoticed="the copy gets them, too")
def partitions_added(scene: Scene) -> None:
    """Six partitions become nine under load; the new ones get records at once."""
    with scene.fault():
        admin = AdminClient({"bootstrap.servers": scene.source.bootstrap_servers, "log_level": 0})
        admin.create_partitions([NewPartitions(scene.orders, 9)])[scene.orders].result(30)
        scene.ends.await_topic(scene.ends.source, scene.orders, 9)
        for witness in scene.witnesses.values():
            witness.add_partitions(scene.orders, 9)
        scene.loads["orders"].grow(9)
        scene.effect(len(leaders(scene.source, scene.orders)) == 9, "the topic has nine partitions")


@scenario(
    "a copy with one replica loses its only broker", 5, 20,
    named=[r"\bT: .*\bbrokers? ([\d, ]+, )?<broker>\b", r"no leader.*<copy>-<place>\b"],
    topics={**TOPICS, "orders": Topic(6, {}, copy_factor=1)},
)  # fmt: skip
def target_partition_without_leader(scene: Scene) -> None:
    """The copy has one replica per partition; kill -9 of one broker of the target for 20 s. The other topic goes on."""
    copy = scene.twinlog.remote(scene.orders)
    led = {number: leader for number, (leader, _) in leaders(scene.target, copy).items()}
    places = [number for number, leader in led.items() if leader == led[0]]
    broker = scene.target.broker(led[0])
    with scene.fault(broker=broker.node_id, place=places):
        broker.kill()
        scene.hold(20)
        alone = all(leaders(scene.target, copy)[number][0] == -1 for number in places)
        scene.effect(alone, f"partitions {', '.join(map(str, places))} of the copy had no leader")
        scene.target.revive()


@scenario("a copy has too few replicas in sync", 5, named=r"T: NOT_ENOUGH_REPLICAS \(19\): .*<copy>-<place>\b")
def target_below_min_insync(scene: Scene) -> None:
    """The copy wants three replicas in sync, and one target broker is stopped for 20 s. The other topic goes on."""
    copies = [mirror.remote(scene.orders) for mirror in scene.mirrors]
    strict = {copy: {"min.insync.replicas": "3"} for copy in copies}
    assert not any(scene.ends.target.apply_topic_configs(strict).values())
    with scene.fault(place=range(6)):
        # Stopped in order: a broker that is killed counts as in sync until its session ends, nine seconds later.
        scene.target.brokers[1].begin_stop()
        scene.hold(20)
        few = {len(in_sync) for _, in_sync in leaders(scene.target, copies[0]).values()}
        scene.effect(few == {2}, "two replicas of each partition were in sync")
        scene.target.brokers[1].finish_stop()
        scene.target.revive()


@scenario("a copy has fewer partitions than its topic", 21, peer=False,
          unnoticed="a copy without records gets the partitions that it lacks")  # fmt: skip
def target_fewer_partitions(scene: Scene) -> None:
    """A copy with three partitions is there before its topic with six is created; nothing may go to the wrong one."""
    topic = scene.ends.name(f"{scene.mark}.narrow")
    with scene.fault():
        order = TopicOrder(scene.twinlog.remote(topic), 3, -1, {})
        assert not any(scene.ends.target.create_topics([order]).values())
        before = len(leaders(scene.target, order.name))
        scene.ends.create(f"{scene.mark}.narrow", 6)
        scene.add_topic("narrow", topic, 6)
        scene.effect(before == 3, "the copy had three partitions")


def _recreate_source(scene: Scene, *, fill: bool) -> None:
    load = scene.loads["orders"]
    load.stop()
    scene.await_caught_up("orders")
    copied = load.count
    with scene.fault():
        scene.ends.delete(scene.ends.source, scene.orders)
        _tell_gone(scene, scene.ends.source, scene.orders)
        scene.ends.create(scene.short("orders"), 6)
        scene.renew_load(at_once=copied + 600 if fill else 0)
        scene.await_named(30)
        for mirror in scene.mirrors:
            if isinstance(mirror, Twinlog):
                scene.ends.delete(scene.ends.target, mirror.remote(scene.orders))


def _tell_gone(scene: Scene, admin: ClusterAdmin, topic: str) -> None:
    scene.effect(topic not in admin.list_topics(), f"{topic} was gone")
