"""Records that somebody plants in the links topic of a group with a secret: none of them counts, and each is named."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.connect_paper import PaperService, PaperTopic, asked
from tests.kit.connector_configs import login, mirror, put
from tests.kit.waiting import wait_until

from twinlog.config.security.secrets import Secret
from twinlog.config.service_settings import HttpSettings
from twinlog.control.record_signatures import RecordSignatures
from twinlog.model.connectors import GroupState, Leader, LevelOrder

SHARED = Secret("a secret of the whole group")
FILE = "clusters = F, G\nbootstrap.servers = k:9092\nF->G.enabled = true\n"
OF_FILE = "F->G.MirrorSourceConnector"


def service(topic: PaperTopic, secret: Secret | None = SHARED, **more: Any) -> PaperService:
    return PaperService(topic, http=HttpSettings(group_secret=secret), **more)


def state(client: TestClient, name: str = "c") -> str:
    return str(client.get(f"/connectors/{name}/status").json()["connector"]["state"])


def await_running(client: TestClient, *names: str) -> None:
    """An order is in the topic before it is in force: its job is started after the answer."""
    wanted = names or ("c", OF_FILE)
    wait_until(
        lambda: {name: state(client, name) for name in wanted},
        lambda seen: set(seen.values()) == {"RUNNING"},
        within_s=20,
        what="running connectors",
    )


def refusals(topic: PaperTopic) -> list[str]:
    entries = [json.loads(entry) for entry in topic.audited]
    return [entry["thing"] for entry in entries if entry["outcome"] == "refused: not signed"]


def last(topic: PaperTopic, key: bytes) -> bytes | None:
    return [value for named, value in topic.written if named == key][-1]


PLANTED: dict[str, Callable[[GroupState], tuple[bytes, bytes | None]]] = {
    "pause": lambda seen: seen.state_record("c", "PAUSED"),
    "stop": lambda seen: seen.state_record("c", "STOPPED"),
    "stop a link of the file": lambda seen: seen.state_record(OF_FILE, "STOPPED"),
    "delete": lambda seen: seen.config_record("c", None),
    "change": lambda seen: seen.config_record("c", {**seen.configs["c"], "topics": "all"}),
    "leader": lambda seen: seen.leader_record(Leader("evil", "http://evil:8083")),
    "level": lambda seen: seen.level_record("twinlog", LevelOrder("OFF", 1)),
}


@pytest.mark.proves("R8")
@pytest.mark.parametrize("what", PLANTED)
def test_nobody_else_pauses_stops_deletes_or_changes_a_link(what: str):
    topic = PaperTopic()
    with asked(service(topic, text=FILE)) as client:
        assert put(client, mirror(**login())).status_code == 201
        await_running(client)
        before = client.get("/connectors/c/config").json()
        key, value = PLANTED[what](topic.group_state)
        topic.plant(key, value)
        about = key.removeprefix(b"g/").decode()
        wait_until(lambda: refusals(topic), lambda seen: seen == [about], within_s=20, what="an entry of the audit")
        assert (state(client), state(client, OF_FILE)) == ("RUNNING", "RUNNING")
        assert client.get("/connectors/c/config").json() == before
        assert last(topic, key) != value, "what counts is the last word again, for compaction keeps only that"
    with asked(service(topic, text=FILE, instance="two")) as client:
        await_running(client)
        assert refusals(topic) == [about]


@pytest.mark.proves("R8")
def test_an_older_record_that_was_signed_is_not_brought_back():
    topic = PaperTopic()
    with asked(service(topic)) as client:
        put(client, mirror(topics="old"))
        assert client.put("/connectors/c/stop").status_code == 204
        config, stop = last(topic, b"g/connector-c"), last(topic, b"g/target-state-c")
        assert client.put("/connectors/c/resume").status_code == 202
        put(client, mirror(topics="new"))
        topic.plant(b"g/connector-c", config)
        topic.plant(b"g/target-state-c", stop)
        wait_until(lambda: len(refusals(topic)), lambda seen: seen == 2, within_s=20, what="two refusals")
        await_running(client, "c")
        assert client.get("/connectors/c/config").json()["topics"] == "new"
        assert client.delete("/connectors/c").status_code == 204
        topic.plant(b"g/connector-c", config)
        wait_until(lambda: len(refusals(topic)), lambda seen: seen == 3, within_s=20, what="the third refusal")
        assert client.get("/connectors").json() == []
    with asked(service(topic, instance="two")) as client:
        assert client.get("/connectors").json() == []


def test_what_was_ordered_before_the_group_had_a_secret_stays_ordered():
    topic = PaperTopic()
    with asked(service(topic, None, text=FILE)) as client:
        assert client.put(f"/connectors/{OF_FILE}/pause").status_code == 202
    for instance in ("two", "three"):
        with asked(service(topic, text=FILE, instance=instance)) as client:
            assert state(client, OF_FILE) == "PAUSED"
    with asked(service(topic, text=FILE, instance="four")) as client:
        assert client.put(f"/connectors/{OF_FILE}/resume").status_code == 202
        await_running(client, OF_FILE)
    assert refusals(topic) == []


RECORDS = st.sampled_from(["connector-a", "target-state-a", "leader", "logger-cluster-a"])
VALUES = st.dictionaries(st.sampled_from(["properties", "state", "instance", "level", "x"]), st.text(max_size=3))


@given(st.lists(st.tuples(RECORDS, st.none() | VALUES, st.booleans()), max_size=12), st.integers(0, 11))
def test_others_change_nothing_whatever_they_write(history: list[tuple[str, dict[str, str] | None, bool]], again: int):
    """The group's own records, and between them those of somebody who has read them all and may write."""
    signatures = RecordSignatures("g", SHARED)
    alone = both = GroupState("g", prove=signatures.proof)
    (begin,) = signatures.sign(alone, [alone.leader_record(Leader("one", "u"))])
    alone = both = alone.take(*begin)
    written = [begin]
    for what, value, ours in history:
        record = f"g/{what}".encode(), None if value is None else json.dumps(value).encode()
        if ours:
            written.append(signatures.sign(alone, [record])[0])
            alone, both = alone.take(*written[-1]), both.take(*written[-1])
        else:
            both = both.take(*record).take(*written[again % len(written)])
    assert (both.leader, both.states, both.levels) == (alone.leader, alone.states, alone.levels)
    assert {name: both.configs.get(name) for name in alone.configs} == alone.configs
    assert all(not both.signed(name) for name in both.configs.keys() - alone.configs.keys())
    for record in signatures.sign(both, both.to_write_again()):
        both = both.take(*record)
    assert both.to_write_again() == []


def test_a_connect_worker_understands_a_deletion():
    """It knows no other one than null, and its own topic may be given back to it."""
    signatures = RecordSignatures("workers", SHARED)
    group_state = GroupState("workers", own_topic=True, prove=signatures.proof)
    for record in signatures.sign(group_state, [group_state.config_record("c", {"k": "v"})]):
        group_state = group_state.take(*record)
    deleted = signatures.sign(group_state, [group_state.config_record("c", None)])
    assert deleted[-1] == (b"connector-c", None)
    for record in deleted:
        group_state = group_state.take(*record)
    assert (group_state.configs, group_state.refused) == ({}, frozenset())
