"""Faults of brokers: killed, frozen, rolled, without a controller, elected unclean."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

import psutil
from confluent_kafka.admin import AdminClient
from tests.faults.scenario import TOPICS, Topic, scenario

from twinlog.local.broker import Broker
from twinlog.local.cluster import LocalCluster
from twinlog.local.jars import KAFKA_VERSION

if TYPE_CHECKING:
    from tests.faults.scene import Scene
    from tests.faults.site import Site

SOURCE_AWAY = r"^SOURCE_DOWN; .*<source>: no broker answers: "
TARGET_AWAY = r"^UNKNOWN; .*\bT: no broker answers: "
SOURCE_BROKER = r"<source>: .*\bbrokers? ([\d, ]+, )?<broker>\b"
"""A broker of the source by its id, whatever else is told of it."""
TARGET_BROKER = r"\bT: .*\bbrokers? ([\d, ]+, )?<broker>\b"
_ROLLED = "one broker at a time is away, and its partitions have other leaders at once"
_LEADS = re.compile(r"Completed transition to Leader\w*\(.*?epoch=(\d+)")
_UNSAFE = {"unclean.leader.election.enable": "true", "min.insync.replicas": "1"}


@scenario("one broker of the source killed", 5, named=SOURCE_BROKER)
def source_broker_killed(scene: Scene) -> None:
    """Kill -9 of one broker of three on the source; started again after 10 s."""
    _kill_for(scene, scene.source, scene.source.brokers[0], 10)


@scenario("one broker of the target killed", 5, 34, named=TARGET_BROKER)
def target_broker_killed(scene: Scene) -> None:
    """Kill -9 of one broker of three on the target (with its group and transaction coordinators); back after 10 s."""
    _kill_for(scene, scene.target, scene.target.brokers[0], 10)


@scenario("a frozen broker of the source", 5, named=SOURCE_BROKER)
def source_broker_frozen(scene: Scene) -> None:
    """SIGSTOP of one broker of the source for 20 s: its connections stay open and nothing answers."""
    _freeze_for(scene, scene.source.brokers[1], 20)


@scenario("a frozen broker of the target", 5, named=TARGET_BROKER)
def target_broker_frozen(scene: Scene) -> None:
    """SIGSTOP of one broker of the target for 20 s: its connections stay open and nothing answers."""
    _freeze_for(scene, scene.target.brokers[1], 20)


@scenario("the controllers of both sides are lost", 5,
          named=[SOURCE_BROKER, TARGET_BROKER.replace("<broker>", "<other>")])  # fmt: skip
def controllers_lost(scene: Scene) -> None:
    """Kill -9 of the node that leads the metadata quorum, on both clusters; started again after 10 s."""
    lost = {site: controller(site) for site in (scene.source, scene.target)}
    with scene.fault(broker=lost[scene.source].node_id, other=lost[scene.target].node_id):
        for broker in lost.values():
            broker.kill()
        scene.hold(10)
        for site, broker in lost.items():
            ended = f"broker {broker.node_id} of {site.name} was dead, {controller(site).node_id} led the quorum"
            scene.effect(not broker.running and controller(site) is not broker, ended)
            site.revive()


@scenario("rolling restart of both sides", 6, unnoticed=_ROLLED)
def rolling_restart(scene: Scene) -> None:
    """Every broker of the source, then of the target, is stopped in order and started again."""
    before = _pids(scene)
    with scene.fault():
        for site in (scene.source, scene.target):
            for broker in site.brokers:
                broker.restart(120)
                scene.hold(2)
        scene.effect(not before & _pids(scene), f"{len(before)} brokers are other processes")


@scenario("rolling upgrade of both sides from Kafka 3.9 to 4.3", 6, unnoticed=_ROLLED, sites="old", within_s=90)
def rolling_upgrade(scene: Scene) -> None:
    """Every broker of the source, then of the target, is stopped and started as 4.3; then the features are raised."""
    before = _pids(scene)
    with scene.fault():
        for site in (scene.source, scene.target):
            for broker in site.brokers:
                broker.stop()
                broker.kafka = KAFKA_VERSION
                broker.start(120)
                scene.hold(2)
            site.tool("org.apache.kafka.tools.FeatureCommand", "upgrade", "--release-version", "4.3")
        scene.effect(not before & _pids(scene), f"{len(before)} brokers run {KAFKA_VERSION}, the features are its")


@scenario("the whole source is down", 7, named=SOURCE_AWAY)
def source_down(scene: Scene) -> None:
    """Kill -9 of all brokers of the source; started again after 20 s."""
    _all_down_for(scene, scene.source, 20)


@scenario("the whole target is down", 8, named=TARGET_AWAY)
def target_down(scene: Scene) -> None:
    """Kill -9 of all brokers of the target; started again after 20 s."""
    _all_down_for(scene, scene.target, 20)


@scenario(
    "unclean election at the source",
    17,
    named="SOURCE_TRUNCATED <orders>-<place>: ",
    stays=True,
    tools=["nft"],
    topics={**TOPICS, "orders": Topic(6, _UNSAFE)},
    within_s=90,
)
def source_unclean_election(scene: Scene) -> None:
    """Followers are cut off from one leader, it acknowledges alone and dies; a follower without those records leads."""
    lonely, places = _lonely_leader(scene, scene.source, scene.orders)
    _isolate(scene, scene.source, scene.orders, lonely, places)
    scene.hold(4)
    scene.exempt = {(scene.orders, number) for number in places}
    scene.loads["orders"].stop(2)
    lonely.kill()
    scene.network.open()
    _await_other_leader(scene, scene.source, scene.orders, lonely, places)
    scene.renew_load()
    _tell_election(scene, lonely, places)
    with scene.fault(place=places):
        lonely.start(120)
        scene.await_named(30)


@scenario(
    "unclean election at the target",
    17,
    named="TARGET_LOG_SHRUNK <orders>-<place>: ",
    stays=True,
    tools=["nft"],
    peer=False,
    within_s=90,
)
def target_unclean_election(scene: Scene) -> None:
    """As at the source, for the brokers of the target: records that were acknowledged to the mirror are gone."""
    copy = scene.twinlog.remote(scene.orders)
    assert scene.ends.target.apply_topic_configs({copy: _UNSAFE}) == {copy: None}
    lonely, places = _lonely_leader(scene, scene.target, copy)
    _isolate(scene, scene.target, copy, lonely, places)
    scene.hold(4)
    scene.exempt = {(scene.orders, number) for number in places}
    lonely.kill()
    scene.network.open()
    _await_other_leader(scene, scene.target, copy, lonely, places)
    _tell_election(scene, lonely, places)
    with scene.fault(place=places):
        lonely.start(120)
        scene.await_named(30)


def controller(site: LocalCluster) -> Broker:
    """The node that leads the metadata quorum: the one that was elected in the highest epoch."""

    def epoch(broker: Broker) -> int:
        return max((int(e) for e in _LEADS.findall(broker.log.read_text(errors="replace"))), default=-1)

    return max(site.brokers, key=epoch)


def _kill_for(scene: Scene, site: Site, broker: Broker, seconds: float) -> None:
    with scene.fault(broker=broker.node_id):
        broker.kill()
        scene.hold(seconds)
        scene.effect(not broker.running, f"broker {broker.node_id} of {site.name} was dead")
        site.revive()


def _all_down_for(scene: Scene, site: Site, seconds: float) -> None:
    with scene.fault():
        site.kill()
        scene.hold(seconds)
        scene.effect(not any(one.running for one in site.brokers), f"all brokers of {site.name} were dead")
        site.revive()


def _freeze_for(scene: Scene, broker: Broker, seconds: float) -> None:
    with scene.fault(broker=broker.node_id):
        broker.freeze()
        scene.hold(seconds)
        scene.effect(psutil.Process(broker.pid).status() == psutil.STATUS_STOPPED, f"pid {broker.pid} was stopped")
        broker.thaw()


def _pids(scene: Scene) -> set[int | None]:
    return {broker.pid for site in (scene.source, scene.target) for broker in site.brokers}


def _tell_election(scene: Scene, lonely: Broker, places: list[int]) -> None:
    ends = f"partitions {', '.join(map(str, places))}"
    scene.effect(places, f"{ends} have another leader than broker {lonely.node_id}, which alone was in sync")


def leaders(site: Site, topic: str) -> dict[int, tuple[int, set[int]]]:
    """Leader and in-sync replicas of each partition."""
    admin = AdminClient({"bootstrap.servers": site.bootstrap_servers, "log_level": 0})
    parts = admin.list_topics(topic, timeout=30).topics[topic].partitions
    return {number: (part.leader, set(part.isrs)) for number, part in parts.items()}


def _lonely_leader(scene: Scene, site: Site, topic: str) -> tuple[Broker, list[int]]:
    """A broker that leads partitions of the topic, and as few as possible of the one beside it."""
    mine = leaders(site, topic)
    beside = scene.topics["beside"] if site is scene.source else scene.twinlog.remote(scene.topics["beside"])
    others = [leader for leader, _ in leaders(site, beside).values()]
    candidates = sorted({leader for leader, _ in mine.values()}, key=others.count)
    chosen = candidates[0]
    return site.broker(chosen), [number for number, (leader, _) in mine.items() if leader == chosen]


def _isolate(scene: Scene, site: Site, topic: str, lonely: Broker, places: list[int]) -> None:
    """Cut the other brokers off from one, until it is the only one in sync."""
    scene.network.rule(f"tcp dport {site.internal_port(lonely)} drop")
    scene.await_true(
        lambda: all(leaders(site, topic)[number][1] == {lonely.node_id} for number in places), "a leader alone", 40
    )


def _await_other_leader(scene: Scene, site: Site, topic: str, lonely: Broker, places: list[int]) -> None:
    def elected() -> bool:
        now = leaders(site, topic)
        return all(now[number][0] not in {lonely.node_id, -1} for number in places)

    deadline = time.monotonic() + 40
    while not elected():
        assert time.monotonic() < deadline, "no unclean election within 40 s"
        scene.hold(0.5)
