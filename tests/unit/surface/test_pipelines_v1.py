"""/v1/pipelines and the pages of pipelines: who may see and order what, and that unknown is never 0."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient
from tests.kit.connect_paper import PaperService, PaperTopic, asked
from tests.kit.paper_backend import PaperBackend, everything
from tests.kit.paper_pipelines import PaperPipelines, paper_desk

from twinlog.surface.http.app_state import AppState
from twinlog.surface.http.rights import right_of

ORDERS = "orders-to-search"


@pytest.fixture
def paper() -> PaperPipelines:
    return paper_desk()


@pytest.fixture
def client(paper: PaperPipelines) -> Iterator[TestClient]:
    with TestClient(everything(PaperBackend(pipelines=paper))) as found:
        yield found


def test_the_list_says_state_cause_and_what_is_unknown(client: TestClient) -> None:
    found = {one["name"]: one for one in client.get("/v1/pipelines").json()}
    assert list(found) == ["customers", "old-export", "orders-to-search", "payments-to-table"]
    lost = found["payments-to-table"]
    assert (lost["state"], lost["tasks_failed"], lost["restarts"]) == ("DEGRADED", 1, 1)
    assert "connection refused" in lost["reason"]
    assert (found[ORDERS]["lag_records"], found[ORDERS]["parked"]) == (None, 3)
    assert (found["old-export"]["state"], found["old-export"]["records"]) == ("PAUSED", None)
    assert found["customers"]["lag_records"] is None


def test_one_pipeline_names_the_task_that_waits(client: TestClient) -> None:
    found = client.get("/v1/pipelines/payments-to-table").json()
    assert [task["state"] for task in found["task_list"]] == ["RUNNING", "FAILED"]
    assert "connection refused" in found["task_list"][1]["trace"]
    assert "JVM" in found["last_failure"]
    unknown = client.get("/v1/pipelines/nothing")
    assert (unknown.status_code, unknown.json()["code"]) == (404, "CONNECTOR_UNKNOWN")


def test_parked_records_are_replayed_once_with_the_repaired_value(client: TestClient, paper: PaperPipelines) -> None:
    listed = client.get(f"/v1/pipelines/{ORDERS}/parked").json()
    assert [one["at"] for one in listed] == ["0:9", "0:8", "0:7"]
    assert (listed[0]["value"], listed[0]["origin"]) == ('{"id": "x9"', "orders-0 offset 17")
    path = f"/v1/pipelines/{ORDERS}/parked"
    done = client.post(f"{path}/replay", json={"at": ["0:8"], "value": '{"id": 8}'})
    assert (done.status_code, done.json()["message"]) == (200, "1 record was written back")
    assert paper.ordered == [("replayed", ORDERS, ["0:8"], {"0:8": b'{"id": 8}'})]
    again = client.post(f"{path}/replay", json={"at": ["0:8"]})
    assert (again.status_code, again.json()["code"]) == (409, "PARKED_REFUSED")
    assert client.post(f"{path}/drop", json={"at": ["0:7"]}).status_code == 200
    assert client.post(f"{path}/replay", json={}).json()["records"] == 1, "all that are still open"
    assert client.get(path).json() == []
    assert [one["state"] for one in client.get(f"{path}?all=true").json()] == ["replayed", "replayed", "dropped"]


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("replay", {"at": ["0:99"]}, 409),
        ("replay", {"at": ["seven"]}, 409),
        ("replay", {"at": ["0:7", "0:8"], "value": "x"}, 400),
        ("replay", {"where": "0:7"}, 422),
        ("drop", {"at": []}, 422),
        ("drop", {}, 422),
    ],
)
def test_a_wrong_order_changes_nothing(
    client: TestClient, paper: PaperPipelines, path: str, body: object, status: int
) -> None:
    assert client.post(f"/v1/pipelines/{ORDERS}/parked/{path}", json=body).status_code == status
    assert paper.ordered == []


def test_a_preview_shows_each_step(client: TestClient) -> None:
    found = client.post(f"/v1/pipelines/{ORDERS}/preview", json={"rows": 2}).json()
    assert [(one["name"], len(one["records"])) for one in found["steps"]] == [("record", 2), ("toNumber", 2)]
    assert found["actions"] == ['INSERT INTO "orders" ("id") VALUES (7)']
    assert client.post(f"/v1/pipelines/{ORDERS}/preview", json={"rows": 0}).status_code == 422


@pytest.mark.parametrize("path", ["parked/replay", "parked/drop", "preview"])
def test_orders_are_for_operators_of_that_pipeline(path: str) -> None:
    right = right_of("POST", f"/v1/pipelines/{ORDERS}/{path}")
    assert (right.role, right.connector, right.listed) == ("operator", ORDERS, True)
    assert right_of("GET", f"/ui/pipelines/{ORDERS}/parked").connector == ORDERS


def test_whoever_only_looks_sees_no_contents_of_records_and_gets_no_buttons(paper: PaperPipelines) -> None:
    backend = PaperBackend(pipelines=paper)
    service = PaperService(PaperTopic(), app_state=lambda audit: AppState.of(backend, audit))
    with asked(service, anonymous=True) as visitor:
        page = visitor.get(f"/ui/pipelines/{ORDERS}/parked").text
        assert "the object is not closed" in page
        assert ("x9" in page, "data-post" in page) == (False, False)
        assert "for operators" in visitor.get(f"/ui/pipelines/{ORDERS}/parts/preview").text
        listed = visitor.get(f"/v1/pipelines/{ORDERS}/parked").json()
        assert {(one["key"], one["value"]) for one in listed} == {(None, None)}
        assert visitor.post(f"/v1/pipelines/{ORDERS}/parked/replay", json={}).status_code == 403
        assert visitor.post(f"/v1/pipelines/{ORDERS}/preview", json={}).status_code == 403
    assert paper.ordered == []
