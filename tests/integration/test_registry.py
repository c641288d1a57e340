"""Registries over a real broker: two instances, one topic, one leader."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from confluent_kafka import Producer
from tests.kit.registry import RegistryProcess, avro
from tests.kit.registry_topic import records_of

from twinlog.local.cluster import LocalCluster

Start = Callable[..., RegistryProcess]


@pytest.fixture
def start(target_cluster: LocalCluster, tmp_path: Path) -> Iterator[Start]:
    """Start instances of one registry of the test's own."""
    mark = uuid.uuid4().hex[:8]
    own = {"kafkastore.topic": f"_schemas_{mark}", "schema.registry.group.id": f"sr-{mark}"}
    with ExitStack() as stack:

        def begin(**settings: str) -> RegistryProcess:
            more = {key.replace("_", "."): value for key, value in settings.items()}
            made = RegistryProcess(tmp_path, target_cluster.bootstrap_servers, **{**own, **more})
            stack.callback(made.kill)
            return made.start()

        begin.topic = own["kafkastore.topic"]  # type: ignore[attr-defined]
        yield begin


@pytest.mark.proves("R21")
def test_what_one_instance_registers_every_instance_knows_at_once(start: Start) -> None:
    first, second = start(), start()
    for instance in (first, second):
        instance.await_ready()
    assert first.facts()["leader"] == second.facts()["leader"]
    assert [first.leads, second.leads].count(True) == 1
    for number in range(100):
        here, there = (first, second) if number % 2 else (second, first)
        made = here.register(f"s{number}", avro(f"R{number}", "a"))
        assert made.status == 200
        assert there.ask("GET", f"/schemas/ids/{made.body['id']}").status == 200
        assert here.ask("GET", f"/subjects/s{number}/versions/1").body["id"] == made.body["id"]
    assert sorted(first.ask("GET", "/subjects").body) == sorted(f"s{number}" for number in range(100))


@pytest.mark.proves("R22")
def test_the_topic_is_confluents_and_everything_comes_back_after_a_restart(
    start: Start, target_cluster: LocalCluster
) -> None:
    registry = start().await_ready()
    topic = start.topic  # type: ignore[attr-defined]
    registry.register("s", avro("R", "a"))
    registry.ask("PUT", "/config/s", {"compatibility": "FULL"})
    registry.ask("PUT", "/mode/s", {"mode": "READONLY"})
    garbage = Producer({**target_cluster.client_properties("writer")})
    garbage.produce(topic, key=b"no record", value=b"{")
    assert garbage.flush(10) == 0
    registry.register("t", avro("T", "a"))
    keys = [key for key, _ in records_of(target_cluster, topic)]
    assert keys == [
        b'{"keytype":"SCHEMA","subject":"s","version":1,"magic":1}',
        b'{"keytype":"CONFIG","subject":"s","magic":0}',
        b'{"keytype":"MODE","subject":"s","magic":0}',
        b"no record",
        b'{"keytype":"SCHEMA","subject":"t","version":1,"magic":1}',
    ]
    registry.stop()
    again = start().await_ready()
    assert again.ask("GET", "/schemas/ids/1").body["subject"] == "s"
    assert again.ask("GET", "/config/s").body == {"compatibilityLevel": "FULL"}
    assert again.register("s", avro("Q", "a")).body["error_code"] == 42205
    facts = again.facts()
    assert facts["fault_count"] == 1
    assert facts["faults"][0]["record"] == "no record"


def test_who_may_not_lead_reads_and_passes_writes_on(start: Start) -> None:
    follower = start(**{"leader.eligibility": "false"}).await_ready(leader=False)
    refused = follower.register("s", avro("R", "a"))
    assert (refused.status, refused.body["error_code"]) == (500, 50004)
    leader = start().await_ready()
    assert leader.leads
    follower.await_ready()
    assert follower.register("s", avro("R", "a")).body["id"] == 1
    assert follower.ask("GET", "/schemas/ids/1").status == 200


def test_a_leader_that_stops_hands_over_within_a_second_and_writes_wait(start: Start) -> None:
    first = start().await_ready()
    second = start().await_ready()
    leader, other = (first, second) if first.leads else (second, first)
    leader.stop()
    assert other.register("s", avro("R", "a"), timeout_s=15.0).status == 200
    assert other.leads


def test_a_write_that_was_passed_on_is_not_passed_on_again(start: Start) -> None:
    first = start().await_ready()
    second = start().await_ready()
    follower = second if first.leads else first
    body = {"schema": json.dumps(avro("R", "a"))}
    answer = follower.ask("POST", "/subjects/s/versions", body, headers={"X-Forward": "true"})
    assert answer.body["error_code"] == 50004


def test_roles_decide_who_writes_which_subject(start: Start, tmp_path: Path) -> None:
    from twinlog.config.security.users import save_user, with_token

    users, tokens = tmp_path / "users", {}
    for name, role in (("reader", "viewer"), ("orders", "orders"), ("boss", "admin")):
        user, tokens[name] = with_token(name, role)
        save_user(users, user)
    registry = start(
        **{"http.users.file": str(users), "role.orders.may": "operator", "role.orders.subjects": "orders-.*"}
    )
    registry.await_serving()

    def ask(name: str | None, method: str, path: str, body: object = None) -> int:
        shown = {} if name is None else {"Authorization": f"Bearer {tokens[name]}"}
        return registry.ask(method, path, body, headers=shown).status

    schema = {"schema": json.dumps(avro("R", "a"))}
    assert ask(None, "GET", "/subjects") == 401
    assert ask("reader", "GET", "/subjects") == 200
    assert ask("reader", "POST", "/subjects/orders-value/versions", schema) == 403
    assert ask("orders", "POST", "/subjects/orders-value/versions", schema) == 200
    assert ask("orders", "POST", "/subjects/other/versions", schema) == 403
    assert ask("orders", "PUT", "/config", {"compatibility": "NONE"}) == 403
    assert ask("boss", "PUT", "/config", {"compatibility": "NONE"}) == 200
    assert ask(None, "GET", "/readyz") == 200
    assert [ask(None, "GET", path) for path in ("/metrics", "/twinlog/registry")] == [401, 401]
    assert ask("reader", "GET", "/twinlog/registry") == 200
