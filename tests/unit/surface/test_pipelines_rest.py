"""Connect's REST interface over pipelines: a kind of connector beside links, in the same service."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.kit.connect_paper import PaperService, PaperTopic, asked
from tests.kit.waiting import wait_until

from twinlog.control.states import EngineView
from twinlog.pipelines.spec import PipelineSpec
from twinlog.pipelines.worker_settings import read_worker

CONFIG = {
    "connector.class": "FileStreamSink",
    "file": "/data/out",
    "topics": "t",
    "connection.password": "hunter2",
    "url": "jdbc:x://h/d?user=u&password=hunter2&a=b",
}
FILES = """
store.bootstrap.servers = store:9092
connector.allowed.paths = /data
"""


@pytest.fixture
def service() -> PaperService:
    return PaperService(PaperTopic(), text=FILES, worker=read_worker({"bootstrap.servers": "nowhere:1"}))


@pytest.fixture
def rest(service: PaperService) -> Iterator[TestClient]:
    with asked(service) as client:
        yield client


def running(service: PaperService) -> list[PipelineSpec]:
    return [spec for spec in service.runner.others if isinstance(spec, PipelineSpec)]


def until_runs(service: PaperService, *names: str) -> None:
    wait_until(
        lambda: [spec.connector_name for spec in running(service)],
        lambda seen: seen == list(names),
        within_s=60,
        what="pipelines",
    )


def state(rest: TestClient, name: str) -> Any:
    return rest.get(f"/connectors/{name}/status").json()


def test_a_pipeline_lives_as_in_connect(rest: TestClient, service: PaperService) -> None:
    made = rest.post("/connectors", json={"name": "out", "config": CONFIG})
    assert (made.status_code, made.headers["location"].endswith("/connectors/out")) == (201, True)
    assert rest.get("/connectors").json() == ["out"]
    until_runs(service, "out")
    status = state(rest, "out")
    assert (status["type"], status["connector"]["state"]) == ("sink", "RUNNING")
    assert [task["state"] for task in status["tasks"]] == ["RUNNING", "RUNNING"]
    assert rest.get("/connectors/out").json()["tasks"] == [{"connector": "out", "task": n} for n in (0, 1)]
    assert rest.put("/connectors/out/pause").status_code == 202
    until_runs(service)
    assert state(rest, "out")["connector"]["state"] == "PAUSED"
    assert rest.put("/connectors/out/resume").status_code == 202
    until_runs(service, "out")
    assert rest.put("/connectors/out/stop").status_code == 204
    until_runs(service)
    assert (state(rest, "out")["connector"]["state"], state(rest, "out")["tasks"]) == ("STOPPED", [])
    assert rest.post("/connectors/out/restart").status_code == 204
    assert service.runner.restarted == ["pipeline out"]
    assert rest.delete("/connectors/out").status_code == 204
    assert rest.get("/connectors/out").status_code == 404


def test_a_failed_pipeline_says_why_and_a_partition_that_stands_still_fails_its_task(
    rest: TestClient, service: PaperService
) -> None:
    rest.post("/connectors", json={"name": "out", "config": CONFIG})
    until_runs(service, "out")
    service.runner.pipelines["pipeline out"] = EngineView("waiting", "the disk is full")
    status = state(rest, "out")
    assert (status["connector"]["state"], status["connector"]["trace"]) == ("FAILED", "the disk is full")
    service.runner.pipelines["pipeline out"] = EngineView("running", None, 2, {1: "t-0 offset 7: not JSON"}, ("t",))
    status = state(rest, "out")
    assert status["connector"]["state"] == "RUNNING"
    assert [task["state"] for task in status["tasks"]] == ["RUNNING", "FAILED"], "one task, not both"
    assert status["tasks"][1]["trace"] == "t-0 offset 7: not JSON"
    assert rest.get("/connectors/out/topics").json() == {"out": {"topics": ["t"]}}


def test_a_changed_configuration_changes_what_runs(rest: TestClient, service: PaperService) -> None:
    assert rest.put("/connectors/out/config", json=CONFIG).status_code == 201
    until_runs(service, "out")
    assert rest.put("/connectors/out/config", json={**CONFIG, "tasks.max": "3"}).status_code == 200
    wait_until(
        lambda: [spec.config.get("tasks.max") for spec in running(service)],
        lambda seen: seen == ["3"],
        within_s=60,
        what="the new config",
    )
    assert rest.patch("/connectors/out/config", json={"tasks.max": None, "topics": "u"}).status_code == 200
    found = rest.get("/connectors/out/config").json()
    assert ("tasks.max" in found, found["topics"]) == (False, "u")


@pytest.mark.proves("R12")
def test_secrets_are_never_shown_and_a_shown_configuration_can_be_sent_back(
    rest: TestClient, service: PaperService
) -> None:
    rest.post("/connectors", json={"name": "out", "config": CONFIG})
    until_runs(service, "out")
    shown = rest.get("/connectors/out/config").json()
    assert "hunter2" not in str(shown) + rest.get("/connectors?expand=info&expand=status").text
    assert "hunter2" not in repr(running(service))
    assert shown["url"] == "jdbc:x://h/d?user=u&password=***&a=b"
    assert rest.put("/connectors/out/config", json=shown).status_code == 200
    assert {key: running(service)[0].config[key] for key in CONFIG} == CONFIG
    elsewhere = rest.put("/connectors/out/config", json={**shown, "url": "jdbc:x://evil/d?password=***"})
    assert (elsewhere.status_code, "masked" in elsewhere.json()["message"]) == (400, True)


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/connectors", {"config": {}}, 400),
        ("POST", "/connectors", {"name": "x", "config": {"connector.class": "Nothing"}}, 400),
        ("POST", "/connectors", {"name": "x", "config": CONFIG, "initial_state": "FLYING"}, 400),
        ("PUT", "/connectors/x/config", {**CONFIG, "topics": ""}, 400),
        ("GET", "/connectors/x", None, 404),
        ("PUT", "/connectors/x/pause", None, 404),
        ("DELETE", "/connectors/x", None, 404),
        ("POST", "/connectors/x/restart", None, 404),
        ("GET", "/nothing", None, 404),
        ("DELETE", "/connectors", None, 405),
        ("GET", "/connector-plugins/Nothing/config", None, 404),
    ],
)
def test_refusals_have_connects_form(rest: TestClient, method: str, path: str, body: Any, status: int) -> None:
    answer = rest.request(method, path, json=body)
    assert answer.status_code == status
    assert answer.json()["error_code"] == status
    assert answer.json()["message"]


def test_a_name_is_taken_once_and_all_errors_are_told(rest: TestClient) -> None:
    assert rest.post("/connectors", json={"name": "out", "config": CONFIG}).status_code == 201
    assert rest.post("/connectors", json={"name": "out", "config": CONFIG}).status_code == 409
    wrong = {"connector.class": "FileStreamSink", "errors.tolerance": "some"}
    told = rest.put("/connectors/bad/config", json=wrong).json()["message"]
    assert "file" in told
    assert "errors.tolerance" in told


def test_files_are_read_and_written_only_where_the_service_allows_it(rest: TestClient) -> None:
    for file in ("/etc/passwd", "/data/../etc/passwd", "/database"):
        answer = rest.put("/connectors/out/config", json={**CONFIG, "file": file})
        assert (answer.status_code, "connector.allowed.paths" in answer.json()["message"]) == (400, True), file


def test_offsets_are_changed_only_while_stopped(rest: TestClient, service: PaperService) -> None:
    rest.post("/connectors", json={"name": "out", "config": CONFIG})
    until_runs(service, "out")
    wish = {"offsets": [{"partition": {"kafka_topic": "t", "kafka_partition": 0}, "offset": {"kafka_offset": 1}}]}
    answer = rest.patch("/connectors/out/offsets", json=wish)
    assert (answer.status_code, "STOPPED" in answer.json()["message"]) == (400, True)
    assert rest.patch("/connectors/out/offsets", json={"offsets": []}).status_code == 400


def test_plugins_of_links_and_pipelines_are_one_list(rest: TestClient) -> None:
    plugins = rest.get("/connector-plugins").json()
    names = {one["class"] for one in plugins}
    assert {one["type"] for one in plugins} == {"source", "sink"}
    assert "org.apache.kafka.connect.mirror.MirrorSourceConnector" in names
    sink = "org.apache.kafka.connect.file.FileStreamSinkConnector"
    assert sink in names
    everything = rest.get("/connector-plugins?connectorsOnly=false").json()
    assert {"converter", "transformation", "predicate"} <= {one["type"] for one in everything}
    assert len(everything) == len({one["class"] for one in everything})
    wrong = {"name": "out", "connector.class": sink, "topics": "t"}
    answer = rest.put(f"/connector-plugins/{sink}/config/validate", json=wrong).json()
    assert answer["error_count"] == 1
    (file,) = [one for one in answer["configs"] if one["value"]["name"] == "file"]
    assert (file["definition"]["required"], bool(file["value"]["errors"])) == (True, True)
    listed = rest.get(f"/connector-plugins/{sink}/config").json()
    assert any(one["name"] == "file" and one["importance"] == "HIGH" for one in listed)
    cast = "org.apache.kafka.connect.transforms.Cast$Value"
    assert rest.get(f"/connector-plugins/{cast}/config").status_code == 200


def test_links_and_pipelines_run_beside_each_other(rest: TestClient, service: PaperService) -> None:
    link = {
        "connector.class": "MirrorSourceConnector",
        "source.cluster.alias": "A",
        "target.cluster.alias": "B",
        "source.cluster.bootstrap.servers": "a:9092",
        "target.cluster.bootstrap.servers": "b:9092",
    }
    assert rest.post("/connectors", json={"name": "A->B", "config": link}).status_code == 201
    assert rest.post("/connectors", json={"name": "out", "config": CONFIG}).status_code == 201
    until_runs(service, "out")
    assert list(service.runner.links) == ["A->B"]
