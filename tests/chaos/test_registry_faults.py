"""A registry whose leader and broker are killed, frozen and thawed under writers: one id, one schema, always."""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import pytest
from confluent_kafka.admin import AdminClient, ConfigResource
from tests.kit.registry import RegistryProcess, avro
from tests.kit.registry_topic import records_of
from tests.kit.waiting import wait_until

from twinlog.local.cluster import LocalCluster

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(400)]
SESSION_S = 10.0
MARGIN_S = 3.0


class Registry:
    """Instances of one registry."""

    def __init__(self, folder: Path, bootstrap: str, stack: ExitStack, count: int) -> None:
        self._folder, self._bootstrap, self._stack = folder, bootstrap, stack
        mark = uuid.uuid4().hex[:8]
        self.topic = f"_schemas_{mark}"
        self._own = {"kafkastore.topic": self.topic, "schema.registry.group.id": f"sr-{mark}"}
        self.instances: list[RegistryProcess] = []
        for _ in range(count):
            self.add()
        for instance in self.instances:
            instance.await_ready()

    def add(self) -> RegistryProcess:
        made = RegistryProcess(self._folder, self._bootstrap, **self._own)
        self._stack.callback(made.kill)
        self._stack.callback(lambda: made.thaw() if made._process and made._process.poll() is None else None)
        self.instances.append(made.start())
        return made

    def leader(self, *among: RegistryProcess, within_s: float = 40.0) -> RegistryProcess:
        asked = among or tuple(self.instances)
        found = wait_until(
            lambda: next((one for one in asked if _leads(one)), None), bool, within_s=within_s, what="somebody leads"
        )
        assert found is not None
        return found


def _leads(instance: RegistryProcess) -> bool:
    try:
        return instance.leads
    except OSError:
        return False


@pytest.fixture
def registry(target_cluster: LocalCluster, tmp_path: Path) -> Iterator[Callable[..., Registry]]:
    with ExitStack() as stack:
        yield lambda count=2, cluster=target_cluster: Registry(tmp_path, cluster.bootstrap_servers, stack, count)


class Writers:
    """Threads that register schemas of their own through several instances and remember every answer."""

    def __init__(self, ways: list[RegistryProcess], count: int = 4) -> None:
        self.answered: dict[str, tuple[int, str]] = {}  # subject -> id, text
        self.refused: list[Any] = []
        self.last_ok = time.monotonic()
        self.longest_gap = 0.0
        self._ways = ways
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._write, args=(number,), daemon=True) for number in range(count)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(60)

    def _write(self, writer: int) -> None:
        number = 0
        while not self._stop.is_set():
            number += 1
            subject = f"w{writer}-{number}"
            schema = json.dumps(avro(f"W{writer}N{number}", "a"), separators=(",", ":"))
            way = self._ways[number % len(self._ways)]
            try:
                answer = way.register(subject, schema, timeout_s=45.0)
            except OSError:
                time.sleep(0.05)
                continue
            with self._lock:
                if answer.status == 200:
                    now = time.monotonic()
                    self.longest_gap = max(self.longest_gap, now - self.last_ok)
                    self.last_ok = now
                    self.answered[subject] = (answer.body["id"], schema)
                else:
                    self.refused.append(answer.body)


def check_answers(answered: dict[str, tuple[int, str]], instances: list[RegistryProcess]) -> None:
    """Every id that was answered resolves to exactly its schema, on every instance; no id was given twice."""
    by_id: dict[int, str] = {}
    for subject, (number, text) in answered.items():
        assert by_id.setdefault(number, text) == text, f"id {number} was given to two schemas ({subject})"
    assert len(by_id) == len(answered)
    for instance in instances:
        for number, text in by_id.items():
            found = instance.ask("GET", f"/schemas/ids/{number}")
            assert found.status == 200, f"id {number} is not known to {instance.url}"
            assert json.loads(found.body["schema"]) == json.loads(text)


@pytest.mark.proves("R20")
def test_a_killed_leader_costs_no_schema_and_writes_are_back_in_time(registry: Callable[..., Registry]) -> None:
    group = registry(3)
    leader = group.leader()
    others = [one for one in group.instances if one is not leader]
    with Writers(others) as writers:
        wait_until(lambda: len(writers.answered), lambda n: n > 50, within_s=30, what="writers write")
        leader.kill()
        before = len(writers.answered)
        wait_until(lambda: len(writers.answered), lambda n: n > before + 50, within_s=60, what="writes are back")
    assert writers.longest_gap <= SESSION_S + MARGIN_S, f"writes stood still for {writers.longest_gap:.1f} s"
    assert not writers.refused
    check_answers(writers.answered, others)


@pytest.mark.proves("R20")
def test_a_leader_that_was_frozen_never_answers_with_an_id_of_another_schema(registry: Callable[..., Registry]) -> None:
    """Requests wait in its sockets while another one is elected and gives ids; then it wakes up and reads them."""
    group = registry(2)
    leader = group.leader()
    (other,) = [one for one in group.instances if one is not leader]
    for number in range(5):
        leader.register(f"before{number}", avro(f"Before{number}", "a"))
    answers: dict[str, Any] = {}

    def ask_the_frozen(number: int) -> None:
        schema = json.dumps(avro(f"Old{number}", "a"), separators=(",", ":"))
        try:
            answers[f"old{number}"] = (leader.register(f"old{number}", schema, timeout_s=90), schema)
        except OSError as error:
            answers[f"old{number}"] = (error, schema)

    leader.freeze()
    waiting = [threading.Thread(target=ask_the_frozen, args=(number,), daemon=True) for number in range(8)]
    began = time.monotonic()
    for thread in waiting:
        thread.start()
    first = other.register("new0", avro("New0", "a"), timeout_s=60)
    took = time.monotonic() - began
    assert first.status == 200
    assert took <= SESSION_S + MARGIN_S, f"the first write took {took:.1f} s"
    answered = {"new0": (first.body["id"], json.dumps(avro("New0", "a"), separators=(",", ":")))}
    for number in range(1, 20):
        text = json.dumps(avro(f"New{number}", "a"), separators=(",", ":"))
        answered[f"new{number}"] = (other.register(f"new{number}", text).body["id"], text)
    leader.thaw()
    for thread in waiting:
        thread.join(100)
    for subject, (answer, text) in answers.items():
        if not isinstance(answer, OSError) and answer.status == 200:
            answered[subject] = (answer.body["id"], text)
    leader.await_ready()
    wait_until(lambda: leader.leads, lambda leads: not leads, within_s=30, what="the old leader follows")
    check_answers(answered, group.instances)
    assert len(answered) == 28, f"writes that waited were refused: {answers}"


@pytest.mark.proves("R20")
def test_broker_and_leader_killed_together(
    registry: Callable[..., Registry], make_cluster: Callable[..., LocalCluster]
) -> None:
    cluster = make_cluster("own")
    group = registry(2, cluster)
    leader = group.leader()
    (other,) = [one for one in group.instances if one is not leader]
    with Writers([other]) as writers:
        wait_until(lambda: len(writers.answered), lambda n: n > 30, within_s=30, what="writers write")
        cluster.kill()
        leader.kill()
        known = next(iter(writers.answered.values()))[0]
        assert other.ask("GET", f"/schemas/ids/{known}").status == 200  # reading needs no broker
        cluster.start()
        before = len(writers.answered)
        wait_until(lambda: len(writers.answered), lambda n: n > before + 30, within_s=90, what="writes are back")
    check_answers(writers.answered, [other])
    restarted = group.add().await_ready()
    check_answers(writers.answered, [restarted])


@pytest.mark.proves("R20")
def test_rolling_restarts_under_writers(registry: Callable[..., Registry]) -> None:
    group = registry(3)
    with Writers(group.instances[2:]) as writers:
        for _ in range(2):
            for instance in group.instances[:2]:
                instance.stop()
                instance.start().await_ready()
        wait_until(lambda: len(writers.answered), lambda n: n > 50, within_s=30, what="writers write")
    assert not writers.refused
    check_answers(writers.answered, group.instances)


@pytest.mark.proves("R20")
def test_ids_are_never_given_again_after_hard_delete_compaction_and_restart(
    registry: Callable[..., Registry], target_cluster: LocalCluster
) -> None:
    group = registry(1)
    (first,) = group.instances
    admin = AdminClient({**target_cluster.client_properties("admin")})
    hurried = {"segment.ms": "100", "min.cleanable.dirty.ratio": "0.001", "delete.retention.ms": "1"}
    resource = ConfigResource(ConfigResource.Type.TOPIC, group.topic, {"cleanup.policy": "compact", **hurried})
    admin.alter_configs([resource])[resource].result(10)
    ids = [first.register(f"s{number}", avro(f"S{number}", "a")).body["id"] for number in range(5)]
    for permanent in ("false", "true"):
        assert first.ask("DELETE", f"/subjects/s4?permanent={permanent}").status == 200
    _await_compaction(first, target_cluster, group.topic, b'"subject":"s4"')
    first.stop()
    second = group.add().await_ready()
    assert second.ask("GET", f"/schemas/ids/{ids[4]}").status == 404
    assert second.register("next", avro("Next", "a")).body["id"] == ids[4] + 1


def _await_compaction(instance: RegistryProcess, cluster: LocalCluster, topic: str, gone: bytes) -> None:
    """Write into the topic, so that segments roll, until the cleaner removed all trace of a subject."""

    def look() -> int:
        instance.ask("PUT", "/config/roll", {"compatibility": "NONE"})
        return sum(gone in (key or b"") for key, _ in records_of(cluster, topic))

    wait_until(look, lambda count: count == 0, within_s=120, what="compaction")


@pytest.mark.proves("R21")
def test_ten_thousand_pairs_of_register_here_and_read_there(registry: Callable[..., Registry]) -> None:
    group = registry(2)
    missing: list[str] = []
    pairs_each = 1250

    def pairs(worker: int) -> None:
        for number in range(pairs_each):
            here, there = group.instances if (worker + number) % 2 else group.instances[::-1]
            made = here.register(f"p{worker}-{number}", avro(f"P{worker}N{number}", "a"))
            if made.status != 200 or there.ask("GET", f"/schemas/ids/{made.body['id']}").status != 200:
                missing.append(f"{worker}-{number}: {made.status}")

    threads = [threading.Thread(target=pairs, args=(worker,), daemon=True) for worker in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(380)
    assert not missing
    assert len(group.instances[0].ask("GET", "/subjects").body) == 8 * pairs_each
