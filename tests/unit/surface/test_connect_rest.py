"""Kafka Connect's REST interface: what is answered, and what becomes of links. A real worker judges in compat."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.kit.connect_paper import PaperService, PaperTopic, asked, await_links, config, make
from tests.kit.paper_backend import PaperBackend
from tests.kit.waiting import wait_until

from twinlog.surface.http.app_state import AppState

FILE = "clusters = F, G\nbootstrap.servers = k:9092\nF->G.enabled = true\ntopics = filed\ntasks.max = 2\n"


@pytest.fixture
def topic() -> PaperTopic:
    return PaperTopic()


@pytest.fixture
def service(topic: PaperTopic) -> PaperService:
    return PaperService(topic)


@pytest.fixture
def client(service: PaperService) -> Iterator[TestClient]:
    with asked(service) as found:
        yield found


def test_a_connector_lives_and_dies(client: TestClient, service: PaperService):
    answer = make(client, topics="orders")
    assert answer.headers["location"].endswith("/connectors/c")
    assert answer.json()["config"]["tasks.max"] == "1"
    assert answer.json()["config"]["name"] == "c"
    assert answer.json()["type"] == "source"
    await_links(service, "A->B")
    assert service.runner.links["A->B"].topics.include == ("orders",)
    assert client.get("/connectors").json() == ["c"]
    status = client.get("/connectors/c/status").json()
    assert status["connector"]["state"] == "RUNNING"
    assert [task["state"] for task in status["tasks"]] == ["RUNNING"]
    assert client.put("/connectors/c/config", json=config(topics="pay")).status_code == 200
    wait_until(
        lambda: service.runner.links["A->B"].topics.include, lambda seen: seen == ("pay",), within_s=5, what="topics"
    )
    assert (
        client.patch("/connectors/c/config", json={"topics": None, "tasks.max": 3}).json()["config"]["tasks.max"] == "3"
    )
    assert "topics" not in client.get("/connectors/c/config").json()
    assert client.delete("/connectors/c").status_code == 204
    await_links(service)
    assert client.get("/connectors/c").status_code == 404
    assert client.get("/connectors/c").json() == {"error_code": 404, "message": "Connector c not found"}


def test_pausing_stopping_resuming(client: TestClient, service: PaperService):
    make(client)
    await_links(service, "A->B")
    assert client.put("/connectors/c/pause").status_code == 202
    await_links(service)
    assert client.get("/connectors/c/status").json()["connector"]["state"] == "PAUSED"
    assert client.get("/connectors/c/tasks/0/status").json()["state"] == "PAUSED"
    assert client.put("/connectors/c/stop").status_code == 204
    assert client.get("/connectors/c/status").json()["tasks"] == []
    assert client.put("/connectors/c/resume").status_code == 202
    await_links(service, "A->B")
    assert client.put("/connectors/none/pause").status_code == 404


@pytest.mark.parametrize(("asked_for", "runs"), [("running", True), ("PAUSED", False), ("Stopped", False)])
def test_the_first_state_is_chosen(client: TestClient, service: PaperService, asked_for: str, runs: bool):
    body = {"name": "c", "config": config(), "initial_state": asked_for}
    assert client.post("/connectors", json=body).status_code == 201
    await_links(service, *(["A->B"] if runs else []))
    assert client.post("/connectors", json=body).status_code == 409


def test_restart(client: TestClient, service: PaperService):
    make(client)
    assert client.post("/connectors/c/restart").status_code == 204
    answer = client.post("/connectors/c/restart?includeTasks=true")
    assert answer.status_code == 202
    assert answer.json()["connector"]["state"] == "RESTARTING"
    assert client.post("/connectors/c/tasks/0/restart").status_code == 204
    assert client.post("/connectors/c/tasks/7/restart").status_code == 404
    assert service.runner.restarted == ["A->B"] * 3


def test_a_link_that_does_not_move_is_failed_and_says_why(client: TestClient, service: PaperService):
    make(client)
    await_links(service, "A->B")
    service.runner.phases["A->B"] = ("waiting", "A: nobody answers")
    part = client.get("/connectors/c/status").json()["connector"]
    assert (part["state"], part["trace"]) == ("FAILED", "A: nobody answers")
    service.runner.phases["A->B"] = ("switched", "B is the active side")
    part = client.get("/connectors/c/status").json()["connector"]
    assert (part["state"], part["trace"]) == ("PAUSED", "B is the active side")  # nobody ordered a pause
    assert client.put("/connectors/c/pause").status_code == 202
    assert "trace" not in client.get("/connectors/c/status").json()["connector"]


def test_chores_are_connectors_of_their_own(client: TestClient, service: PaperService):
    make(client)
    make(client, "cp", kind="Checkpoint", groups="g")
    make(client, "hb", kind="Heartbeat")
    wait_until(
        lambda: [(link.checkpoints.enabled, link.heartbeats.enabled) for link in service.runner.links.values()],
        lambda seen: seen == [(True, True)],
        within_s=5,
        what="chores",
    )
    expanded = client.get("/connectors?expand=status&expand=info").json()
    assert {name: one["status"]["connector"]["state"] for name, one in expanded.items()} == dict.fromkeys(
        ("c", "cp", "hb"), "RUNNING"
    )
    client.delete("/connectors/c")
    wait_until(lambda: service.runner.heartbeats, bool, within_s=5, what="heartbeats without a link")
    assert client.get("/connectors/cp/status").json()["connector"]["state"] == "FAILED"


def test_replicators_connector_is_taken_as_it_is_documented(client: TestClient, service: PaperService):
    converter = "io.confluent.connect.replicator.util.ByteArrayConverter"
    body = {
        "name": "replicate-dc1-to-dc2",
        "config": {
            "connector.class": "io.confluent.connect.replicator.ReplicatorSourceConnector",
            "key.converter": converter,
            "value.converter": converter,
            "header.converter": converter,
            "src.kafka.bootstrap.servers": "dc1:9092",
            "src.consumer.group.id": "replicator",
            "dest.kafka.bootstrap.servers": "dc2:9092",
            "topic.whitelist": "orders,payments",
            "topic.rename.format": "${topic}.replica",
            "confluent.topic.replication.factor": 1,
            "provenance.header.enable": True,
            "tasks.max": 2,
        },
    }
    answer = client.post("/connectors", json=body)
    assert answer.status_code == 201, answer.text
    await_links(service, "dc1->dc2")
    link = service.runner.links["dc1->dc2"]
    assert link.topics.include == ("orders", "payments")
    assert link.naming.remote("dc1", "orders") == "orders.replica"
    assert link.provenance.mode == "header"
    assert client.get("/connectors/replicate-dc1-to-dc2/topics").json() == {
        "replicate-dc1-to-dc2": {"topics": ["orders.replica"]}
    }
    (first,) = client.get("/connectors/replicate-dc1-to-dc2/offsets").json()["offsets"]
    assert first["partition"] == {"topic": "orders", "partition": 0}


@pytest.mark.parametrize(
    ("body", "status", "told"),
    [
        (b"{", 400, "JSON"),
        (b"[]", 400, "object"),
        (json.dumps({"config": {}}).encode(), 400, "may not be empty"),
        (json.dumps({"name": "x", "config": {}}).encode(), 400, "connector.class"),
        (json.dumps({"name": "x", "config": {"connector.class": "WaterSource"}}).encode(), 400, "Failed to find"),
        (json.dumps({"name": "x", "config": config(tasks_max="many")}).encode(), 400, "tasks.max"),
        (json.dumps({"name": "x", "config": {**config(), "name": "y"}}).encode(), 400, "doesn't match"),
        (json.dumps({"name": "x", "config": config(), "initial_state": "gone"}).encode(), 400, "initial_state"),
        (json.dumps({"name": "x", "config": config(source_cluster_alias="impossible")}).encode(), 400, "cannot log in"),
        (json.dumps({"name": "x/y", "config": config()}).encode(), 400, "neither"),
    ],
)
def test_what_cannot_be_taken_is_refused_with_a_reason(client: TestClient, body: bytes, status: int, told: str):
    answer = client.post("/connectors", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == status
    assert answer.json()["error_code"] == status
    assert told in answer.json()["message"]
    assert client.get("/connectors").json() == []


def test_one_link_is_copied_by_one_connector(client: TestClient):
    make(client)
    answer = client.post("/connectors", json={"name": "again", "config": config()})
    assert answer.status_code == 400
    assert "A->B is copied by connector c already" in answer.json()["message"]


# --- secrets and the audit --------------------------------------------------------------------------------------------


@pytest.mark.proves("R12")
def test_no_secret_is_answered_or_audited_and_the_mask_keeps_it(topic: PaperTopic, tmp_path: Path):
    declared = (
        "store.bootstrap.servers = s:1\nconfig.providers = env\nconfig.providers.env.param.allowlist.pattern = SECRET\n"
        "config.providers.env.class = org.apache.kafka.common.config.provider.EnvVarConfigProvider\n"
    )
    service = PaperService(topic, text=declared, audit=tmp_path / "audit.log")
    login = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="hush";'
    secret = {
        "source.cluster.security.protocol": "SASL_PLAINTEXT",
        "source.cluster.sasl.mechanism": "PLAIN",
        "source.cluster.sasl.jaas.config": login,
        "topics": "${env:SECRET}",
    }
    with asked(service) as client:
        texts = [make(client, **{key.replace(".", "_"): value for key, value in secret.items()}).text]
        wrong = {**config(), **secret, "tasks.max": "hush"}
        checked = client.put("/connector-plugins/MirrorSource/config/validate", json=wrong)
        texts += [client.get(f"/connectors{path}").text for path in ("/c", "/c/config", "/c/tasks", "?expand=info")]
        shown = client.get("/connectors/c/config").json()
        assert shown["source.cluster.sasl.jaas.config"] == "***"
        assert shown["topics"] == "${env:SECRET}"
        texts += [client.put("/connectors/c/config", json={**shown, "tasks.max": "2"}).text]
        await_links(service, "A->B")
        found = service.runner.links["A->B"]
        assert found.clients.source_consumer.security.password is not None
        assert found.clients.source_consumer.security.password.reveal() == "hush"
        assert found.topics.include == ("hush-from-env",)
    texts += [entry.decode() for entry in topic.audited] + [(tmp_path / "audit.log").read_text()]
    assert not [text for text in texts if "hush" in text]
    assert "hush" not in json.dumps([c for c in checked.json()["configs"] if c["value"]["name"] != "tasks.max"])
    assert b"hush-from-env" not in (topic.group_state.config_record("c", topic.group_state.configs["c"])[1] or b"")
    entries = [json.loads(entry) for entry in topic.audited]
    assert [(one["what"], one["thing"], one["outcome"]) for one in entries] == [
        ("create", "c", "done"),
        ("validate", "", "done"),
        ("change", "c", "done"),
    ]
    assert (entries[2]["before"]["tasks.max"], entries[2]["after"]["tasks.max"]) == ("1", "2")


def test_a_refused_order_is_audited_too(client: TestClient, topic: PaperTopic):
    client.post("/connectors", json={"name": "c", "config": config(tasks_max="x")})
    assert json.loads(topic.audited[0])["outcome"] == "refused: CONNECTOR_REFUSED"


# --- links of the file ------------------------------------------------------------------------------------------------


def test_links_of_the_file_can_be_held_but_not_changed(topic: PaperTopic):
    service = PaperService(topic, text=FILE)
    with asked(service) as client:
        await_links(service, "F->G")
        name = "F->G.MirrorSourceConnector"
        assert name in client.get("/connectors").json()
        assert client.get(f"/connectors/{name}/config").json()["topics"] == "filed"
        assert len(client.get(f"/connectors/{name}/tasks").json()) == 2
        for answer in (
            client.put(f"/connectors/{name}/config", json=config()),
            client.delete(f"/connectors/{name}"),
        ):
            assert answer.status_code == 403
            assert "links.properties" in answer.json()["message"]
        assert client.put(f"/connectors/{name}/pause").status_code == 202
        await_links(service)
    again = PaperService(topic, text=FILE)
    with asked(again) as client:
        assert client.get(f"/connectors/{name}/status").json()["connector"]["state"] == "PAUSED"
        assert again.runner.links == {}
        client.put(f"/connectors/{name}/resume")
        await_links(again, "F->G")


# --- offsets ----------------------------------------------------------------------------------------------------------


def test_offsets_are_shown_as_mirrormaker_has_them_and_changed_only_when_stopped(
    client: TestClient, service: PaperService
):
    make(client)
    await_links(service, "A->B")
    place = {"cluster": "A", "topic": "orders", "partition": 0}
    assert client.get("/connectors/c/offsets").json() == {"offsets": [{"partition": place, "offset": {"offset": 9}}]}
    assert client.get("/connectors/c/topics").json() == {"c": {"topics": ["A.orders"]}}
    assert client.delete("/connectors/c/offsets").status_code == 400
    client.put("/connectors/c/stop")
    await_links(service)

    def patch(*offsets: Any) -> tuple[int, str]:
        answer = client.patch("/connectors/c/offsets", json={"offsets": list(offsets)})
        return answer.status_code, answer.json()["message"]

    both = [{"partition": {**place, "partition": number}, "offset": None} for number in (0, 1)]
    assert patch() == (400, "Partitions / offsets need to be provided for an alter offsets request")
    assert patch({"partition": place, "offset": {"offset": 9}})[0] == 200
    assert patch({"partition": place, "offset": {"offset": 3}})[0] == 400
    assert "is forgotten as a whole" in patch(both[0])[1]
    assert service.runner.forgotten == []
    assert patch(*both)[0] == 200
    assert service.runner.forgotten == ["orders"]
    service.runner.there = [("full", 0, 1)]
    assert "still exists" in client.delete("/connectors/c/offsets").json()["message"]


# --- the worker itself ------------------------------------------------------------------------------------------------


def test_the_worker_tells_about_itself(client: TestClient):
    assert client.get("/").json()["kafka_cluster_id"] == "id-of-the-cluster"
    assert client.get("/health").json()["status"] == "healthy"
    mirrors = [
        one for one in client.get("/connector-plugins").json() if "irror" in one["class"] or "eplicator" in one["class"]
    ]
    assert [one["type"] for one in mirrors] == ["source"] * 4
    assert client.get("/connector-plugins/MirrorSource/config").json()[0]["name"] == "name"
    assert client.get("/connector-plugins/Nothing/config").status_code == 404
    assert client.get("/nowhere").json() == {"error_code": 404, "message": "HTTP 404 Not Found"}
    assert client.post("/").status_code == 405
    assert client.get("/openapi.json").json()["openapi"].startswith("3.1")


def test_the_same_request_said_otherwise_is_the_same(client: TestClient):
    make(client)
    assert client.get("/connectors/", follow_redirects=False).json() == ["c"]
    assert client.get("/connectors/c/status/").json() == client.get("/connectors/c/status").json()
    head = client.head("/connectors/c")
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == client.get("/connectors/c").headers["content-length"]
    assert client.head("/connectors/none").status_code == 404
    assert client.put("/connectors/c/pause/").status_code == 202


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "application/xml"])
def test_what_is_not_said_to_be_json_is_not_read(client: TestClient, kind: str):
    for method, path in (("POST", "/connectors"), ("PUT", "/connectors/c/config"), ("PUT", "/admin/loggers/root")):
        answer = client.request(method, path, content=b"{}", headers={"content-type": kind})
        assert answer.status_code == 415, answer.text
        assert answer.json() == {"error_code": 415, "message": "HTTP 415 Unsupported Media Type"}
    kind = "application/json; charset=utf-8"
    assert client.post("/connectors", content=b"{}", headers={"content-type": kind}).status_code == 400


def test_settings_are_checked_without_making_anything(client: TestClient):
    answer = client.put(
        "/connector-plugins/MirrorSourceConnector/config/validate", json=config(tasks_max="many")
    ).json()
    wrong = {one["value"]["name"]: one["value"]["errors"] for one in answer["configs"] if one["value"]["errors"]}
    assert set(wrong) == {"tasks.max", "name"}
    assert answer["error_count"] == 2
    mismatch = client.put("/connector-plugins/MirrorHeartbeat/config/validate", json=config())
    assert mismatch.status_code == 400


def test_levels_of_logging_can_be_changed(client: TestClient):
    assert client.put("/admin/loggers/twinlog", json={"level": "DEBUG"}).json()[0] == "twinlog"
    assert client.get("/admin/loggers/twinlog").json()["level"] == "DEBUG"
    assert client.put("/admin/loggers/twinlog?scope=CLUSTER", json={"level": "warn"}).status_code == 204
    changed = client.get("/admin/loggers/twinlog").json()
    assert changed["level"] == "WARN"
    assert client.get("/admin/loggers").json()["twinlog"] == changed
    assert abs(changed["last_modified"] / 1000 - time.time()) < 60
    assert client.put("/admin/loggers/twinlog", json={}).status_code == 400
    assert client.put("/admin/loggers/twinlog", json={"level": "LOUD"}).status_code == 404
    assert client.get("/admin/loggers/org.apache").status_code == 404


def test_a_level_for_all_reaches_every_service_that_is_there_and_none_that_comes_later(
    topic: PaperTopic, monkeypatch: pytest.MonkeyPatch
):
    heard: list[tuple[str, str]] = []
    monkeypatch.setattr("twinlog.control.levels.set_level", lambda *order: heard.append(order))
    first, second = PaperService(topic), PaperService(topic, instance="two")
    later = PaperService(topic, instance="three")
    with asked(first) as client, asked(second, active=False):
        for _ in range(2):  # ordered again it is set again: somebody may have changed one of them meanwhile
            heard.clear()
            assert client.put("/admin/loggers/twinlog.rest?scope=cluster", json={"level": "ERROR"}).status_code == 204
            wait_until(lambda: list(heard), lambda seen: len(seen) == 2, within_s=10, what="both services")
            assert set(heard) == {("twinlog.rest", "ERROR")}
        with asked(later, active=False):
            make(client)
            wait_until(later.control.connectors.names, lambda names: names == ["c"], within_s=10, what="the news")
        assert len(heard) == 2
    told = [json.loads(entry) for entry in topic.audited]
    assert ("set level everywhere", "twinlog.rest", "ERROR") in [(e["what"], e["thing"], e["after"]) for e in told]


def test_a_browser_is_sent_to_the_page_and_everybody_else_told_who_this_is(topic: PaperTopic):
    with asked(PaperService(topic, app_state=lambda audit: AppState.of(PaperBackend(), audit))) as client:
        sent = client.get("/", headers={"accept": "text/html,*/*;q=0.8"}, follow_redirects=False)
        assert (sent.status_code, sent.headers["location"]) == (303, "/ui/")
        for accept in ("*/*", "application/json"):
            assert client.get("/", headers={"accept": accept}).json()["commit"] == "unknown"
