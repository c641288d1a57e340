"""Connect's REST interface over pipelines, with a worker whose pipelines run on paper."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.kit.waiting import wait_until

from twinlog.pipelines.connect_service import ConnectService
from twinlog.pipelines.engine import Progress
from twinlog.pipelines.worker_settings import read_worker
from twinlog.surface.rest.pipelines import pipelines_app

CONFIG = {
    "connector.class": "FileStreamSink",
    "file": "/data/out",
    "topics": "t",
    "connection.password": "hunter2",
    "url": "jdbc:x://h/d?user=u&password=hunter2&a=b",
}


class PaperPipelines:
    """Notes what is started and stopped."""

    def __init__(self) -> None:
        self.worker = read_worker({"bootstrap.servers": "nowhere:1"})
        self.worker_id = "here:8083"
        self.engines: dict[str, Any] = {}
        self.started: list[str] = []

    def prepare(self) -> None:
        pass

    def start(self, name: str, config: Mapping[str, str]) -> None:
        self.started.append(name)
        self.engines[name] = SimpleNamespace(progress=Progress(state="RUNNING", tasks=2), planner=None, config=config)

    def stop(self, name: str) -> None:
        self.engines.pop(name, None)

    def engine(self, name: str) -> Any:
        return self.engines.get(name)

    def close(self) -> None:
        self.engines.clear()


@pytest.fixture
def paper() -> PaperPipelines:
    return PaperPipelines()


@pytest.fixture
def rest(paper: PaperPipelines) -> Iterator[TestClient]:
    service = ConnectService(paper, "http://here:8083")  # type: ignore[arg-type]
    service.open()
    yield TestClient(pipelines_app(service))
    service.close()


def running(rest: TestClient, name: str, state: str) -> Any:
    return wait_until(
        lambda: rest.get(f"/connectors/{name}/status").json(),
        lambda seen: seen["connector"]["state"] == state,
        within_s=10,
        what=f"{name} {state}",
    )


def test_a_connector_lives_as_in_connect(rest: TestClient, paper: PaperPipelines) -> None:
    made = rest.post("/connectors", json={"name": "out", "config": CONFIG})
    assert (made.status_code, made.headers["location"]) == (201, "/connectors/out")
    assert rest.get("/connectors").json() == ["out"]
    status = running(rest, "out", "RUNNING")
    assert (status["type"], [one["state"] for one in status["tasks"]]) == ("sink", ["RUNNING", "RUNNING"])
    assert rest.get("/connectors/out").json()["tasks"] == [{"connector": "out", "task": n} for n in (0, 1)]
    assert rest.put("/connectors/out/pause").status_code == 202
    running(rest, "out", "PAUSED")
    assert rest.put("/connectors/out/resume").status_code == 202
    running(rest, "out", "RUNNING")
    assert rest.put("/connectors/out/stop").status_code == 204
    assert running(rest, "out", "STOPPED")["tasks"] == []
    assert rest.delete("/connectors/out").status_code == 204
    assert rest.get("/connectors/out").status_code == 404
    assert paper.started == ["out", "out"]


def test_a_changed_configuration_starts_the_pipeline_anew(rest: TestClient, paper: PaperPipelines) -> None:
    assert rest.put("/connectors/out/config", json=CONFIG).status_code == 201
    running(rest, "out", "RUNNING")
    assert rest.put("/connectors/out/config", json={**CONFIG, "tasks.max": "3"}).status_code == 200
    wait_until(lambda: paper.started, lambda seen: len(seen) == 2, within_s=10, what="starts")
    assert rest.patch("/connectors/out/config", json={"tasks.max": None, "topics": "u"}).status_code == 200
    found = rest.get("/connectors/out/config").json()
    assert ("tasks.max" in found, found["topics"]) == (False, "u")
    assert rest.post("/connectors/out/restart").status_code == 204


@pytest.mark.proves("R12")
def test_secrets_are_never_shown_and_a_shown_configuration_can_be_sent_back(
    rest: TestClient, paper: PaperPipelines
) -> None:
    rest.post("/connectors", json={"name": "out", "config": CONFIG})
    running(rest, "out", "RUNNING")
    shown = rest.get("/connectors/out/config").json()
    assert "hunter2" not in str(shown) + rest.get("/connectors?expand=info&expand=status").text
    assert rest.put("/connectors/out/config", json=shown).status_code == 200
    assert shown["url"] == "jdbc:x://h/d?user=u&password=***&a=b"
    assert {key: paper.engines["out"].config[key] for key in CONFIG} == CONFIG


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


def test_offsets_are_changed_only_while_stopped(rest: TestClient) -> None:
    rest.post("/connectors", json={"name": "out", "config": CONFIG})
    running(rest, "out", "RUNNING")
    wish = {"offsets": [{"partition": {"kafka_topic": "t", "kafka_partition": 0}, "offset": {"kafka_offset": 1}}]}
    answer = rest.patch("/connectors/out/offsets", json=wish)
    assert (answer.status_code, "STOPPED" in answer.json()["message"]) == (400, True)
    assert rest.patch("/connectors/out/offsets", json={"offsets": []}).status_code == 400


def test_plugins_and_validation(rest: TestClient) -> None:
    plugins = rest.get("/connector-plugins").json()
    assert {one["type"] for one in plugins} == {"source", "sink"}
    assert len(rest.get("/connector-plugins?connectorsOnly=false").json()) > len(plugins)
    name = "org.apache.kafka.connect.file.FileStreamSinkConnector"
    assert rest.put(f"/connector-plugins/{name}/config/validate", json={"topics": "t"}).json()["error_count"] == 1
    assert rest.put(f"/connector-plugins/{name}/config/validate", json=CONFIG).json()["error_count"] == 0
    assert any(one["name"] == "file" for one in rest.get(f"/connector-plugins/{name}/config").json())
