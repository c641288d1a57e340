"""The audit: every route that changes something leaves who, what, before and after; done or refused; never a secret."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pytest
from tests.kit.connect_paper import PaperService, PaperTopic, asked
from tests.kit.paper_backend import PaperBackend
from tests.kit.paper_pipelines import paper_desk
from tests.kit.waiting import wait_until

from twinlog.config.security.users import save_user, with_token
from twinlog.config.service_settings import HttpSettings
from twinlog.surface.http.app_state import AppState

SECRET = "hush-hush"
CONFIG = {
    "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
    "source.cluster.alias": "A",
    "target.cluster.alias": "B",
    "source.cluster.bootstrap.servers": "a:9092",
    "target.cluster.bootstrap.servers": "b:9092",
    "source.cluster.ssl.key.password": SECRET,
}
LINK = "/v1/links/east-%3Ewest"
AGAIN = {"at": ["0:8"], "repaired": [], "to": None}
PARKED = "/v1/pipelines/orders-to-search/parked"
KEY = {"Idempotency-Key": "a-key-of-its-own"}


def key(text: str) -> dict[str, str]:
    return {"Idempotency-Key": text}


Entry: TypeAlias = tuple[str, str, Any, Any, str]


class Order(NamedTuple):
    route: str
    path: str
    body: Any
    status: int
    told: Entry  # what, thing, before, after, outcome
    headers: dict[str, str] | None = None


MASKED = {**CONFIG, "source.cluster.ssl.key.password": "***"}
NAMED = {**MASKED, "name": "c"}
PATCHED = {**NAMED, "topics": "x"}
NOTHING_ORDERED: dict[str, Any] = {
    "bytes_per_second": None,
    "records_per_second": None,
    "first": None,
    "schedule": "",
    "topics": [],
    "partitions": [],
}
ORDERED = {"records_per_second": 7, "topics": ["clicks"]}
ORDERS = [
    Order("POST /connectors", "", {"name": "c", "config": CONFIG}, 201, ("create", "c", None, MASKED, "done")),
    Order(
        "POST /connectors",
        "",
        {"name": "c", "config": CONFIG},
        409,
        ("create", "c", None, MASKED, "refused: CONNECTOR_EXISTS"),
    ),
    Order("POST /connectors", "", {}, 400, ("POST", "/connectors", None, None, "refused: 400")),
    Order("PUT /connectors/{name}/config", "/connectors/c/config", MASKED, 200, ("change", "c", NAMED, NAMED, "done")),
    Order(
        "PATCH /connectors/{name}/config",
        "/connectors/c/config",
        {"topics": "x"},
        200,
        ("change", "c", NAMED, PATCHED, "done"),
    ),
    Order(
        "PUT /connectors/{name}/pause", "/connectors/c/pause", None, 202, ("paused", "c", "STARTED", "PAUSED", "done")
    ),
    Order(
        "PUT /connectors/{name}/resume",
        "/connectors/c/resume",
        None,
        202,
        ("started", "c", "PAUSED", "STARTED", "done"),
    ),
    Order("POST /connectors/{name}/restart", "/connectors/c/restart", None, 204, ("restart", "c", None, None, "done")),
    Order(
        "POST /connectors/{name}/tasks/{task}/restart",
        "/connectors/c/tasks/0/restart",
        None,
        204,
        ("restart", "c", None, None, "done"),
    ),
    Order(
        "DELETE /connectors/{name}/offsets",
        "/connectors/c/offsets",
        None,
        400,
        ("DELETE", "/connectors/c/offsets", None, None, "refused: 400"),
    ),
    Order(
        "PUT /connectors/{name}/stop", "/connectors/c/stop", None, 204, ("stopped", "c", "STARTED", "STOPPED", "done")
    ),
    Order(
        "PATCH /connectors/{name}/offsets",
        "/connectors/c/offsets",
        {"offsets": [{"partition": {"topic": "orders", "partition": n}, "offset": None} for n in (0, 1)]},
        200,
        ("forget positions", "c", None, ["orders"], "done"),
    ),
    Order(
        "DELETE /connectors/{name}/offsets",
        "/connectors/c/offsets",
        None,
        200,
        ("forget positions", "c", None, None, "done"),
    ),
    Order(
        "PUT /connectors/{name}/topics/reset",
        "/connectors/c/topics/reset",
        None,
        403,
        ("PUT", "/connectors/c/topics/reset", None, None, "refused: 403"),
    ),
    Order("DELETE /connectors/{name}", "/connectors/c", None, 204, ("delete", "c", PATCHED, None, "done")),
    Order(
        "DELETE /connectors/{name}", "/connectors/c", None, 404, ("DELETE", "/connectors/c", None, None, "refused: 404")
    ),
    Order(
        "PUT /admin/loggers/{logger}",
        "/admin/loggers/twinlog.x",
        {"level": "ERROR"},
        200,
        ("set level", "twinlog.x", "WARN", "ERROR", "done"),
    ),
    Order(
        "PUT /admin/loggers/{logger}",
        "/admin/loggers/twinlog.x?scope=cluster",
        {"level": "WARN"},
        204,
        ("set level everywhere", "twinlog.x", "ERROR", "WARN", "done"),
    ),
    Order(
        "POST /v1/links/{link}/switches",
        f"{LINK}/switches",
        {"command": "failover-planned", "confirm": "no"},
        400,
        ("POST", "/v1/links/east->west/switches", None, None, "refused: 400"),
        KEY,
    ),
    Order(
        "POST /v1/links/{link}/switches/resume",
        f"{LINK}/switches/resume",
        {"confirm": "east->west"},
        202,
        ("end resume", "east->west", None, {"confirm": "east->west"}, "failed: SWITCH_REFUSED"),
        key("resume-it"),
    ),
    Order(
        "POST /v1/links/{link}/switches/abort",
        f"{LINK}/switches/abort",
        {"confirm": "east->west"},
        202,
        ("end abort", "east->west", None, {"confirm": "east->west"}, "failed: SWITCH_REFUSED"),
        key("abort-it"),
    ),
    Order(
        "POST /v1/links/{link}/verifications",
        f"{LINK}/verifications",
        {"sample": 0.5},
        202,
        ("end verification", "east->west", None, {"topics": None, "sample": 0.5}, "done"),
        key("verify-it"),
    ),
    Order(
        "PATCH /v1/links/{link}/control",
        f"{LINK}/control",
        {"records_per_second": 7, "pause": [{"topic": "clicks"}]},
        200,
        ("order control", "east->west", NOTHING_ORDERED, {**NOTHING_ORDERED, **ORDERED}, "done"),
    ),
    Order(
        "POST /v1/links/{link}/conflicts",
        f"{LINK}/conflicts",
        {"window_seconds": 5, "since_seconds": 60},
        202,
        (
            "end conflicts",
            "east->west",
            None,
            {"topics": None, "window_seconds": 5, "since_seconds": 60},
            "done",
        ),
        key("search-it"),
    ),
    Order(
        "POST /v1/links/{link}/examinations",
        f"{LINK}/examinations",
        None,
        202,
        ("end examination", "east->west", None, {}, "done"),
        key("examine-it"),
    ),
    Order(
        "POST /v1/links/{link}/drills",
        f"{LINK}/drills",
        {"kind": "paper"},
        202,
        ("end drill", "east->west", None, {"kind": "paper"}, "done"),
        key("drill-it"),
    ),
    Order(
        "POST /v1/links/{link}/switches",
        f"{LINK}/switches",
        {"command": "failover-planned", "confirm": "east->west"},
        202,
        ("end switch", "east->west", None, {"command": "failover-planned", "confirm": "east->west"}, "done"),
        key("switch-it"),
    ),
    Order(
        "POST /v1/pipelines/{name}/parked/replay",
        f"{PARKED}/replay",
        {"at": ["0:8"], "value": SECRET},
        200,
        ("replay parked records", "orders-to-search", None, {"at": ["0:8"], "repaired": ["0:8"], "to": None}, "done"),
    ),
    Order(
        "POST /v1/pipelines/{name}/parked/replay",
        f"{PARKED}/replay",
        {"at": ["0:8"]},
        409,
        (
            "replay parked records",
            "orders-to-search",
            None,
            AGAIN,
            "refused: PARKED_REFUSED",
        ),
    ),
    Order(
        "POST /v1/pipelines/{name}/preview",
        "/v1/pipelines/orders-to-search/preview",
        {"rows": 2},
        200,
        ("preview", "orders-to-search", None, {"rows": 2}, "done"),
    ),
    Order(
        "POST /v1/pipelines/{name}/parked/drop",
        f"{PARKED}/drop",
        {"at": ["0:7"]},
        200,
        ("drop parked records", "orders-to-search", None, {"at": ["0:7"]}, "done"),
    ),
]
CHANGE_NOTHING = {
    "PUT /connector-plugins/{plugin}/config/validate",
    "POST /v1/links/{link}/switches/plan",
}


def contains(wanted: Entry, found: list[Entry]) -> bool:
    return wanted in found


@pytest.mark.proves("R12")
def test_every_route_that_changes_something_is_audited(tmp_path: Path):
    user, token = with_token("anna", "admin")
    save_user(tmp_path / "users", user)
    topic, file = PaperTopic(), tmp_path / "audit.log"
    service = PaperService(
        topic,
        http=HttpSettings(users_file=tmp_path / "users"),
        audit=file,
        app_state=lambda audit: AppState.of(PaperBackend(step_seconds=0.01, pipelines=paper_desk()), audit),
    )

    def entries() -> list[Entry]:
        found = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
        assert {(entry["name"], entry["role"]) for entry in found} <= {("anna", "admin")}
        return [(one["what"], one["thing"], one["before"], one["after"], one["outcome"]) for one in found]

    def fresh_entries(before: int) -> list[Entry]:
        return entries()[before:]

    with asked(service) as client:
        client.headers["authorization"] = f"Bearer {token}"
        assert client.get("/connectors").status_code == 200  # the login is an entry of its own
        for order in ORDERS:
            method = order.route.partition(" ")[0]
            before = len(entries())
            sent: dict[str, Any] = {} if order.body is None else {"json": order.body}
            if order.route == "DELETE /connectors/{name}/offsets" and order.status == 200:
                # The engine has come to its end by then.
                wait_until(lambda: service.runner.links, lambda links: not links, within_s=20, what="its end")
            answer = client.request(method, order.path or "/connectors", headers=order.headers, **sent)
            assert answer.status_code == order.status, (order.route, answer.text)
            told = partial(contains, order.told)
            fresh = wait_until(partial(fresh_entries, before), told, within_s=20, what=f"{order.route}: {order.told}")
            begun = [entry for entry in fresh if entry[0].startswith("begin ")]
            assert len(fresh) - len(begun) == 1, "each order once"
    described = service.app.openapi()["paths"].items()
    routes = {f"{way.upper()} {path}" for path, ways in described for way in ways if way not in {"get", "head"}}
    assert routes - CHANGE_NOTHING == {order.route for order in ORDERS}, "a route that nobody looked at"
    assert [json.loads(entry) for entry in topic.audited] == [
        json.loads(line) for line in file.read_text().splitlines()
    ]
    assert SECRET not in file.read_text() + b"".join(topic.audited).decode()


def test_the_same_key_again_is_no_second_order(tmp_path: Path):
    file = tmp_path / "audit.log"
    service = PaperService(PaperTopic(), audit=file, app_state=lambda audit: AppState.of(PaperBackend(), audit))
    with asked(service) as client:
        ids = {client.post(f"{LINK}/examinations", headers=KEY).json()["id"] for _ in range(3)}
        assert len(ids) == 1
        assert client.post(f"{LINK}/drills", headers=KEY, json={"kind": "paper"}).json()["code"] == "KEY_REUSED"
        wait_until(file.read_text, lambda text: '"end examination"' in text, within_s=20, what="its end")
    assert file.read_text().count('"begin examination"') == 1


def test_an_entry_that_the_topic_did_not_take_is_told(caplog: pytest.LogCaptureFixture):
    topic = PaperTopic()
    topic.audit_trouble = "Broker: Topic authorization failed"
    service = PaperService(topic)
    with asked(service) as client:
        assert client.post("/connectors", json={"name": "c", "config": CONFIG}).status_code == 201
    assert "the audit topic takes no entry: Broker: Topic authorization failed" in caplog.text
    assert service.control.audit.failures == 1


def test_no_order_is_carried_out_that_a_required_audit_cannot_keep(tmp_path: Path):
    topic = PaperTopic()
    without_file = PaperService(topic, http=HttpSettings(audit_required=True))
    with asked(without_file) as client:
        topic.audit_trouble = "no"
        answer = client.post("/connectors", json={"name": "c", "config": CONFIG})
        assert (answer.status_code, client.get("/connectors").json()) == (503, [])
        assert "http.audit.required" in answer.json()["message"]
        topic.audit_trouble = None
        assert client.post("/connectors", json={"name": "c", "config": CONFIG}).status_code == 201
    told = [(one["what"], one["thing"], one["outcome"]) for one in map(json.loads, topic.audited)]
    assert told == [("POST", "/connectors", "asked"), ("create", "c", "done")]
    with_file = PaperService(PaperTopic(), http=HttpSettings(audit_required=True), audit=tmp_path / "no" / "folder")
    with asked(with_file) as client:
        assert client.post("/connectors", json={"name": "c", "config": CONFIG}).status_code == 503
        assert client.get("/connectors").json() == []


def test_checking_settings_is_audited(tmp_path: Path):
    file = tmp_path / "audit.log"
    with asked(PaperService(PaperTopic(), audit=file)) as client:
        path = "/connector-plugins/MirrorSourceConnector/config/validate"
        assert client.put(path, json={"name": "c", **CONFIG}).status_code == 200
    entry = json.loads(file.read_text())
    assert (entry["what"], entry["thing"], entry["after"]) == ("validate", "c", sorted(NAMED))


def test_an_audit_that_takes_nothing_stops_nobody(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    service = PaperService(PaperTopic(), audit=tmp_path / "no" / "folder")
    with asked(service) as client:
        assert client.post("/connectors", json={"name": "c", "config": CONFIG}).status_code == 201
    assert "the audit file takes no entry" in caplog.text
    assert SECRET not in caplog.text
