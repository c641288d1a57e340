"""The whole story of a lost datacenter: its schemas are served, promoted, extended and brought home."""

from __future__ import annotations

import struct
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from confluent_kafka import Producer
from tests.kit.ends import Ends
from tests.kit.registry import RegistryProcess, avro
from tests.kit.switches import IDENTITY, Plug, do_switch, resume_switch, service_running
from tests.kit.waiting import wait_until

from twinlog.local.cluster import LocalCluster
from twinlog.model.switch.events import Acted, Began, SwitchEvent

SETTINGS = {
    "replication_policy_class": IDENTITY,
    "switch_grace_seconds": "0",
    "registry_id_gap": "1000",
}


class Sites:
    """A registry in each datacenter, on a topic of the test's own."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        mark = uuid.uuid4().hex[:8]
        self.topic, self.group = f"_schemas_{mark}", f"sr-{mark}"
        self.folder, self._stack = folder, stack

    def registry(self, bootstrap: str, **settings: str) -> RegistryProcess:
        own = {"kafkastore.topic": self.topic, "schema.registry.group.id": self.group, **settings}
        made = RegistryProcess(self.folder, bootstrap, **own)
        self._stack.callback(made.kill)
        return made.start()


@pytest.fixture
def sites(tmp_path: Path) -> Iterator[Sites]:
    with ExitStack() as stack:
        yield Sites(tmp_path, stack)


def write(bootstrap: str, topic: str, schema_id: int) -> None:
    producer = Producer({"bootstrap.servers": bootstrap})
    producer.produce(topic, value=b"\0" + struct.pack(">I", schema_id) + b"payload")
    assert producer.flush(30) == 0


def texts(registry: RegistryProcess, ids: set[int]) -> dict[int, str]:
    found = {number: registry.ask("GET", f"/schemas/ids/{number}") for number in sorted(ids)}
    return {number: answer.body["schema"] for number, answer in found.items() if answer.status == 200}


def await_role(registry: RegistryProcess, role: str) -> None:
    registry.await_ready(leader=False)
    wait_until(lambda: registry.facts()["role"], lambda seen: seen == role, within_s=60, what=role)


@pytest.mark.proves("R20", "R24", "R25", "R27")
def test_a_lost_datacenter_is_replaced_extended_and_brought_home(  # noqa: PLR0915  one story
    make_cluster: Callable[..., LocalCluster], target_cluster: LocalCluster, sites: Sites, tmp_path: Path
) -> None:
    source = make_cluster("primary")
    ends = Ends(source, target_cluster, registry_topic=sites.topic, registry_group_id=sites.group, **SETTINGS)
    here, there = source.bootstrap_servers, target_cluster.bootstrap_servers
    topic = ends.create("orders")
    home = sites.registry(here).await_ready()
    home.ask("PUT", f"/config/{topic}-value", {"compatibility": "NONE"})
    orders = [avro("Order", *"abc"[:count]) for count in (1, 2)]
    known = {home.register(f"{topic}-value", order).body["id"] for order in orders}
    for number in known:
        write(here, topic, number)
    follower = sites.registry(
        here, **{"leader.eligibility": "false", "twinlog.registry.snapshot.file": str(tmp_path / "snapshot")}
    )
    with service_running(ends, tmp_path) as engine:
        engine.await_running()
        away = sites.registry(there)
        await_role(away, "copy")
        wait_until(lambda: set(texts(away, known)), lambda seen: seen == known, within_s=60, what="the schemas")
        follower.await_ready()
        ends.await_copied(topic)
    # A schema that is registered at home and never copied: the link is cut already.
    lost = home.register("lost-value", avro("Lost", "a")).body["id"]
    expected = texts(home, {*known, lost})
    home.kill()
    source.stop()

    # The first layout: an instance that followed the lost cluster is restarted and serves what it wrote down.
    follower.kill()
    follower.start().await_ready(leader=False)
    assert follower.facts()["snapshot_of"] is not None
    assert texts(follower, known) == {number: expected[number] for number in known}
    follower.kill()
    # The second layout: instances on the copy, restarted while the home is gone; read-only.
    away.kill()
    away.start().await_ready(leader=False)
    assert texts(away, known) == {number: expected[number] for number in known}
    assert away.register("new-value", avro("New", "a")).body["error_code"] == 42205

    report = do_switch(ends, tmp_path, "failover-unplanned")
    assert "registry" in {step["step"] for step in report.steps}
    await_role(away, "leader")
    assert {away.register(f"{topic}-value", order).body["id"] for order in orders} == known
    made = {away.register(f"away{n}-value", avro(f"Away{n}", "a")).body["id"] for n in range(5)}
    assert min(made) > max(*known, lost) + 900  # behind all that the home may have given
    clash = away.register("lost-value", avro("Other", "a")).body["id"]
    for number in (*made, clash):
        write(there, topic, number)
    away_texts = texts(away, {*known, *made, clash})

    # The home returns as it was, with the schema that nobody got.
    source.start()
    home = sites.registry(here).await_ready()
    assert texts(home, {lost}) == {lost: expected[lost]}
    report = do_switch(ends, tmp_path, "failback-delta")
    (step,) = [one for one in report.steps if one["step"] == "registry-home"]
    assert "conflict" in step["says"]
    wait_until(lambda: home.facts()["term"], lambda term: term == 2, within_s=30, what="the home leads again")
    everything = {**expected, **away_texts}
    assert texts(home, set(everything)) == everything
    assert home.ask("GET", "/subjects/lost-value/versions/1").body["id"] == lost
    assert home.ask("GET", "/subjects/lost-value/versions/2").body["id"] == clash
    assert home.register("later-value", avro("Later", "a")).body["id"] > max(everything)

    with service_running(ends, tmp_path) as engine:
        engine.await_running()
        await_role(away, "copy")
        wait_until(
            lambda: texts(away, set(everything)), lambda seen: seen == everything, within_s=60, what="both are equal"
        )


@pytest.mark.chaos
@pytest.mark.proves("R27")
@pytest.mark.parametrize("moment", [Began, Acted])
def test_a_switch_that_is_killed_while_it_moves_the_registry_comes_to_the_same_end(
    make_ends: Callable[..., Ends], sites: Sites, tmp_path: Path, moment: type[SwitchEvent]
) -> None:
    ends = make_ends(registry_topic=sites.topic, registry_group_id=sites.group, **SETTINGS)
    here, there = ends.source_cluster.bootstrap_servers, ends.target_cluster.bootstrap_servers
    ends.create("orders")
    home = sites.registry(here).await_ready()
    first = home.register("a", avro("A", "a")).body["id"]

    def pull(step: str) -> Callable[[object], None]:
        def on_event(event: object) -> None:
            if isinstance(event, moment) and getattr(event, "step", "") == step:
                raise Plug

        return on_event

    with service_running(ends, tmp_path) as engine:
        engine.await_running()
        away = sites.registry(there)
        await_role(away, "copy")
        wait_until(lambda: set(texts(away, {first})), lambda seen: seen == {first}, within_s=60, what="the schema")
        with pytest.raises(Plug):
            do_switch(ends, tmp_path, "failover-planned", pull("registry"))
        resume_switch(ends, tmp_path)
    await_role(away, "leader")
    assert away.facts()["term"] == 1
    second = away.register("b", avro("B", "a")).body["id"]
    with pytest.raises(Plug):
        do_switch(ends, tmp_path, "failback-delta", pull("registry-home"))
    resume_switch(ends, tmp_path)
    wait_until(lambda: home.facts()["term"], lambda term: term == 2, within_s=30, what="the home leads again")
    assert set(texts(home, {first, second})) == {first, second}
    assert home.ask("GET", "/subjects/b/versions").body == [1]
