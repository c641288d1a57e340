"""The schemas of one datacenter in the other: mirrored, served read-only, and there before the records."""

from __future__ import annotations

import asyncio
import struct
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from tests.kit.ends import Ends
from tests.kit.registry import RegistryProcess, avro
from tests.kit.registry_topic import unresolved_ids
from tests.kit.threads import engine_running
from tests.kit.waiting import wait_until

from twinlog.flow.delivery import Delivery
from twinlog.local.cluster import LocalCluster
from twinlog.sync import registry_copy

MakeEnds = Callable[..., Ends]


class Site:
    """One registry per datacenter, with a topic of the test's own."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        mark = uuid.uuid4().hex[:8]
        self.topic, self.group = f"_schemas_{mark}", f"sr-{mark}"
        self._folder, self._stack = folder, stack

    def registry(self, cluster: LocalCluster, **settings: str) -> RegistryProcess:
        own = {"kafkastore.topic": self.topic, "schema.registry.group.id": self.group, **settings}
        made = RegistryProcess(self._folder, cluster.bootstrap_servers, **own)
        self._stack.callback(made.kill)
        return made.start()


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with ExitStack() as stack:
        yield Site(tmp_path, stack)


def ends_with(make_ends: MakeEnds, site: Site, **settings: str) -> Ends:
    return make_ends(registry_topic=site.topic, registry_group_id=site.group, **settings)


@pytest.mark.proves("R24", "R25")
def test_schemas_arrive_whatever_the_filters_say_and_the_copy_is_read_only(
    make_ends: MakeEnds, site: Site, source_cluster: LocalCluster, target_cluster: LocalCluster, tmp_path: Path
) -> None:
    ends = ends_with(make_ends, site, topics_exclude="_.*", start_from="latest")
    home = site.registry(source_cluster).await_ready()
    made = [home.register(f"s{number}", avro(f"R{number}", "a")).body["id"] for number in range(5)]
    with engine_running(ends.link, tmp_path, with_chores=True):
        wait_until(lambda: home.facts()["term"], lambda term: term == 0, within_s=30, what="the home is written")
        away = site.registry(target_cluster, **{"twinlog.registry.subject.prefixes": f"{ends.alias}."})
        away.await_ready(leader=False)
        wait_until(lambda: away.facts()["role"], lambda role: role == "copy", within_s=30, what="a copy")
        for number, schema_id in enumerate(made):
            assert (
                away.ask("GET", f"/schemas/ids/{schema_id}").body == home.ask("GET", f"/schemas/ids/{schema_id}").body
            )
            assert away.register(f"s{number}", avro(f"R{number}", "a")).body["id"] == schema_id
        refused = away.register("s0", avro("Other", "b"))
        assert (refused.status, refused.body["error_code"]) == (422, 42205)
        assert "promote" in refused.body["message"]
        assert away.ask("GET", f"/subjects/{ends.alias}.s1/versions/1").body["id"] == made[1]
        later = home.register("s9", avro("R9", "a")).body["id"]
        wait_until(
            lambda: away.ask("GET", f"/schemas/ids/{later}").status,
            lambda s: s == 200,
            within_s=20,
            what="a new schema",
        )


@pytest.mark.proves("R25", "R27")
def test_a_schema_that_is_registered_on_the_target_while_the_link_begins_keeps_its_id(
    make_ends: MakeEnds, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = ends_with(make_ends, site)
    home = site.registry(ends.source_cluster).await_ready()
    away = site.registry(ends.target_cluster).await_ready()
    home.register("s", avro("Here", "a"))
    acknowledged: list[int] = []

    def look_then_write(*given: Any, is_own: bool) -> str | None:
        problem = rule(*given, is_own=is_own)
        if problem is None and not acknowledged:  # nothing was in the way: at this moment a producer comes
            acknowledged.append(away.register("late", avro("Late", "a")).body["id"])
        return problem

    rule = registry_copy.why_not
    monkeypatch.setattr(registry_copy, "why_not", look_then_write)
    with engine_running(ends.link, tmp_path):
        problem = wait_until(
            lambda: [found for found in ends.status().problems if found.code == "REGISTRY_NOT_MIRRORED"],
            bool,
            within_s=60,
            what="the problem is listed",
        )[0]
    assert acknowledged == [1]
    assert "late version 1" in problem.says
    assert away.ask("GET", "/schemas/ids/1/schema").body["name"] == "Late"
    assert away.ask("GET", "/subjects").body == ["late"]


@pytest.mark.proves("R24")
def test_a_registry_that_stands_on_the_target_already_is_left_alone_and_named(
    make_ends: MakeEnds, site: Site, source_cluster: LocalCluster, target_cluster: LocalCluster, tmp_path: Path
) -> None:
    home, other = site.registry(source_cluster).await_ready(), site.registry(target_cluster).await_ready()
    home.register("s", avro("Here", "a"))
    other.register("s", avro("There", "a"))
    ends = ends_with(make_ends, site)
    with engine_running(ends.link, tmp_path):
        status = wait_until(
            ends.status,
            lambda found: any(one.code == "REGISTRY_NOT_MIRRORED" for one in found.problems),
            within_s=30,
            what="the problem is listed",
        )
    (problem,) = [one for one in status.problems if one.code == "REGISTRY_NOT_MIRRORED"]
    assert "id 1 stands for two schemas" in problem.says
    assert other.ask("GET", "/schemas/ids/1/schema").body["name"] == "There"


@pytest.mark.proves("R26")
@pytest.mark.parametrize("gate_ms", ["300000", "0"])
def test_no_record_is_readable_before_its_schema_although_schemas_are_slow(
    make_ends: MakeEnds, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gate_ms: str
) -> None:
    ends = ends_with(make_ends, site, registry_gate_ms=gate_ms)
    source_cluster, target_cluster = ends.source_cluster, ends.target_cluster
    home = site.registry(source_cluster).await_ready()
    topic = ends.create("orders")
    first = home.register("first", avro("First", "a")).body["id"]
    send = Delivery._send

    async def slowly(self: Delivery, part: Any, *rest: Any) -> bool:
        if part.partition.topic == site.topic and held.is_set():
            await asyncio.sleep(0.05)  # the same bytes are fetched again; other partitions go on
            return False
        return await send(self, part, *rest)

    held = threading.Event()
    monkeypatch.setattr(Delivery, "_send", slowly)
    producer = Producer({**source_cluster.client_properties("writer"), "linger.ms": 0})
    with engine_running(ends.link, tmp_path):
        producer.produce(topic, value=b"\0" + struct.pack(">I", first) + b"x")
        producer.flush(10)
        ends.await_copied()
        held.set()
        for number in range(5):
            made = home.register(f"s{number}", avro(f"R{number}", "a")).body["id"]
            producer.produce(topic, value=b"\0" + struct.pack(">I", made) + b"x")
            producer.flush(10)
        if gate_ms != "0":
            threading.Timer(3.0, held.clear).start()
        seen, unresolved = unresolved_ids(target_cluster, ends.remote("orders"), site.topic, 6)
        held.clear()
    assert seen == 6
    assert unresolved == (0 if gate_ms != "0" else 5)  # without the gate the same story goes wrong
