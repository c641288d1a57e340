"""Twinlog's own API over links on paper: shapes, pages of rows, actions, errors."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from tests.kit.paper_backend import PaperBackend, everything
from tests.kit.waiting import wait_until

from twinlog.errors import UsageError
from twinlog.surface.answers.tables import Wish, part_of
from twinlog.surface.rest.v1.stream import _messages

LINK = "/v1/links/east-%3Ewest"


@pytest.fixture(scope="module")
def backend() -> PaperBackend:
    return PaperBackend(step_seconds=0.01)


@pytest.fixture(scope="module")
def api(backend: PaperBackend) -> Iterator[TestClient]:
    with TestClient(everything(backend)) as client:
        until(lambda: len(client.get(f"{LINK}/history").json()["samples"]) > 1, "two samples")
        until(lambda: client.get(f"{LINK}/groups").json()["total"] > 0, "groups")
        yield client


def until(look: Callable[[], object], what: str) -> None:
    wait_until(look, bool, within_s=20, what=what)


def done(api: TestClient, answer: Any) -> dict[str, Any]:
    assert answer.status_code == 202, answer.text
    where = answer.headers["location"]
    until(lambda: api.get(where).json()["status"] != "running", f"the end of {where}")
    found: dict[str, Any] = api.get(where).json()
    return found


def key(name: str) -> dict[str, str]:
    return {"Idempotency-Key": f"key-of-{name}"}


@pytest.mark.proves("R14")
def test_a_link_tells_its_state_and_the_reason(api: TestClient) -> None:
    links = {link["link"]: link for link in api.get("/v1/links").json()}
    assert links["east->west"]["state"] == "DEGRADED"
    assert "4100..4250" in links["east->west"]["reason"]
    assert links["west->east"]["state"] == "RUNNING"
    detail = api.get(LINK).json()
    assert detail["fault_list"][0]["remedy"].startswith("Raise retention")
    assert detail["rpo"]["seconds"] is not None


def test_the_topology_of_the_service_is_judged(api: TestClient) -> None:
    found = api.get("/v1/topology").json()
    assert {"east", "west"} <= set(found["clusters"])
    assert {loss["cluster"] for loss in found["losses"]} == set(found["clusters"])
    assert found["judgements"]


def test_what_does_not_exist_is_said_with_the_way_out(api: TestClient) -> None:
    answer = api.get("/v1/links/nope")
    assert answer.status_code == 404
    assert answer.json()["code"] == "LINK_UNKNOWN"
    assert "east->west" in answer.json()["message"]
    assert api.get("/v1/operations/none").status_code == 404
    unknown = api.get(f"{LINK}/translation", params={"topic": "x", "partition": 0, "offset": 1})
    assert (unknown.status_code, unknown.json()["code"]) == (404, "POSITION_UNKNOWN")


def test_topics_are_filtered_sorted_and_paged_here(api: TestClient) -> None:
    found = api.get(f"{LINK}/topics", params={"filter": "PAY"}).json()
    assert [row["topic"] for row in found["rows"]] == ["payments"]
    assert (found["matching"], found["total"]) == (1, 8)
    bad = api.get(f"{LINK}/topics", params={"state": "bad"}).json()
    assert [row["state"] for row in bad["rows"]] == ["FAULTED"]
    page = api.get(f"{LINK}/topics", params={"sort": "topic", "order": "desc", "offset": 2, "limit": 3}).json()
    assert [row["topic"] for row in page["rows"]] == ["payments", "orders", "inventory"]
    assert api.get(f"{LINK}/topics", params={"sort": "colour"}).status_code == 400


def test_partitions_and_groups_show_both_sides(api: TestClient) -> None:
    parts = api.get(f"{LINK}/partitions", params={"topic": "payments", "state": "FAULTED"}).json()["rows"]
    assert [(row["partition"], row["lag"], row["fault"]["code"]) for row in parts] == [(3, 151, "OFFSET_GAP")]
    groups = api.get(f"{LINK}/groups", params={"filter": "search"}).json()["rows"]
    assert {row["re_read"] for row in groups} == {7}
    lost = api.get(f"{LINK}/groups", params={"sort": "translation", "order": "desc", "limit": 1}).json()["rows"][0]
    assert (lost["translation"], lost["target_offset"]) == ("untranslatable", None)


def test_an_offset_is_translated_both_ways(api: TestClient) -> None:
    wish: dict[str, str | int | bool] = {"topic": "orders", "partition": 1, "offset": 5000}
    assert api.get(f"{LINK}/translation", params=wish).json()["offset"] == 4000
    assert api.get(f"{LINK}/translation", params={**wish, "reverse": True}).json()["offset"] == 6000


@pytest.mark.proves("R12")
def test_settings_tell_their_line_and_no_secret(api: TestClient) -> None:
    answer = api.get(f"{LINK}/settings")
    known = {one["name"]: one for one in answer.json()}
    assert any(one["line"] for one in known.values())
    assert any("sasl.jaas.config" in name and one["value"] == "***" for name, one in known.items())
    everything_told = [api.get(path).text for path in (f"{LINK}/settings", LINK, "/v1/links", "/metrics")]
    pages = [api.get(f"/ui/links/east-%3Ewest{path}").text for path in ("", "/settings", "/faults", "/switch")]
    assert not any("hush-8f3" in text for text in [*everything_told, *pages])


def test_a_switch_needs_the_typed_name_and_runs_once_for_a_key(api: TestClient, backend: PaperBackend) -> None:
    plan = api.post(f"{LINK}/switches/plan", json={"command": "failover-unplanned"}).json()
    assert plan["at_risk"]["records"] == 412
    assert plan["will_be_active"] == "west"
    before = len(backend.runs)
    wish = {"command": "failover-unplanned", "confirm": "east"}
    assert api.post(f"{LINK}/switches", json=wish, headers=key("switch")).status_code == 400
    assert api.post(f"{LINK}/switches", json={**wish, "confirm": "east->west"}).status_code == 422
    assert len(backend.runs) == before
    wish["confirm"] = "east->west"
    first = api.post(f"{LINK}/switches", json=wish, headers=key("switch"))
    again = api.post(f"{LINK}/switches", json=wish, headers=key("switch"))
    assert first.json()["id"] == again.json()["id"]
    found = done(api, first)
    assert found["result"]["active"] == "west"
    assert sum(line.startswith("step ") for line in found["lines"]) == len(found["result"]["steps"]) == 7
    assert len(backend.runs) == before + 1
    other = api.post(f"{LINK}/switches", json={**wish, "command": "failback-delta"}, headers=key("switch"))
    assert (other.status_code, other.json()["code"]) == (409, "KEY_REUSED")
    bands = lambda: [b for b in api.get(f"{LINK}/history").json()["bands"] if b["kind"] == "switch"]  # noqa: E731
    until(lambda: len(bands()) == 1, "one band")
    assert bands()[0]["from_ms"] < bands()[0]["until_ms"]
    standing = api.get(f"{LINK}/switches").json()
    assert standing["switches"][-1]["outcome"] == "done"


def test_a_refused_switch_says_why(api: TestClient, backend: PaperBackend) -> None:
    backend.active = "west"
    answer = api.post("/v1/links/west-%3Eeast/switches/plan", json={"command": "failback-full"})
    assert (answer.status_code, answer.json()["code"]) == (409, "SWITCH_REFUSED")
    assert answer.json()["remedy"]
    failed = api.post(f"{LINK}/switches/resume", json={"confirm": "east->west"}, headers=key("resume"))
    found = done(api, failed)
    assert (found["status"], found["error"]["remedy"]) == ("failed", "There is nothing to resume.")


def test_checks_are_operations_with_a_result(api: TestClient) -> None:
    found = done(api, api.post(f"{LINK}/verifications", json={"topics": "ord.*", "sample": 0.1}, headers=key("verify")))
    assert found["result"]["equal"] is True
    wrong = api.post(f"{LINK}/verifications", json={"topics": "("}, headers=key("wrong-one"))
    assert (wrong.status_code, wrong.json()["code"]) == (400, "USAGE")
    checks = done(api, api.post(f"{LINK}/examinations", headers=key("doctor")))["result"]["checks"]
    assert {one["verdict"] for one in checks} == {"ok", "fail"}
    assert done(api, api.post(f"{LINK}/drills", json={"kind": "paper"}, headers=key("drill")))["result"]["hash"]
    assert api.get(f"{LINK}/drills").json()[0]["kind"] == "paper"


def test_events_are_told_newest_first(api: TestClient) -> None:
    events = api.get("/v1/events", params={"level": "bad", "link": "east->west"}).json()
    assert {"fault", "state"} <= {event["kind"] for event in events}
    assert [event["at_ms"] for event in events] == sorted((event["at_ms"] for event in events), reverse=True)


def test_ready_means_that_data_moves(api: TestClient, backend: PaperBackend) -> None:
    assert api.get("/livez").status_code == 200
    assert api.get("/readyz").status_code == 200
    backend.looks["west->east"].away = True
    until(lambda: api.get("/readyz").status_code == 503, "not ready")
    assert api.get("/readyz").json() == {"status": "not ready"}
    assert api.get("/readyz", params={"link": "east->west"}).status_code == 200
    assert "no broker answers" in api.get("/v1/readiness").json()["west->east"][0]
    away = next(link for link in api.get("/v1/links").json() if link["link"] == "west->east")
    assert away["state"] == "UNKNOWN"
    backend.looks["west->east"].away = False
    until(lambda: api.get("/readyz").status_code == 200, "ready again")


def test_the_stream_begins_with_all_links(api: TestClient) -> None:
    messages = _messages(api.app.state.app_state, lambda: True)  # type: ignore[attr-defined]
    first = api.portal.call(messages.__anext__)  # type: ignore[union-attr]
    name, data = first.strip().split("\n")
    assert name == "event: links"
    assert {link["link"] for link in json.loads(data.removeprefix("data: "))} >= {"east->west", "west->east"}


def test_the_description_is_openapi_3_1(api: TestClient) -> None:
    said = api.get("/openapi.json").json()
    assert said["openapi"].startswith("3.1")
    assert not any(path.startswith("/ui") for path in said["paths"])


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/events",
        *(f"/links/east-%3Ewest{p}" for p in ("", "/groups", "/faults", "/switch", "/checks", "/settings")),
    ],
)
def test_pages_allow_no_foreign_and_no_inline_code(api: TestClient, path: str) -> None:
    answer = api.get(f"/ui{path}")
    assert answer.status_code == 200
    policy = answer.headers["content-security-policy"]
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy
    assert "http://" not in answer.text.replace("http://www.w3.org", "")
    assert "https://" not in answer.text
    assert " style=" not in answer.text
    assert "onclick" not in answer.text


def test_a_page_of_nothing_is_a_page_that_says_so(api: TestClient) -> None:
    answer = api.get("/ui/links/nope")
    assert answer.status_code == 404
    assert "no such enabled link" in answer.text


class Row(BaseModel):
    name: str
    lag: int | None
    state: str = "OK"


rows = st.lists(st.builds(Row, name=st.text("abcXYZ", max_size=4), lag=st.none() | st.integers(0, 50)), max_size=40)


@given(rows, st.text("abcxyz", max_size=2), st.sampled_from(["asc", "desc"]), st.integers(1, 7))
def test_pages_together_are_the_whole_list_in_order(found: list[Row], needle: str, order: Any, limit: int) -> None:
    read: list[Row] = []
    while True:
        wish = Wish(filter=needle, sort="lag", order=order, offset=len(read), limit=limit)
        part = part_of(found, wish, lambda row: row.name, lambda row: row.state, ("lag",))
        read += part.rows
        if not part.rows:
            break
    wanted = [row for row in found if needle in row.name.casefold()]
    assert part.matching == len(read) == len(wanted)
    assert sorted(map(repr, read)) == sorted(map(repr, wanted))
    ranks = [51 if row.lag is None else row.lag for row in read]
    assert ranks == sorted(ranks, reverse=order == "desc")


def test_rows_are_sorted_by_known_fields_only() -> None:
    with pytest.raises(UsageError):
        part_of([Row(name="a", lag=1)], Wish(sort="__class__"), lambda row: row.name, lambda row: row.state, ("lag",))


def test_limits_priorities_and_pauses_are_ordered_with_their_cost(api: TestClient, backend: PaperBackend) -> None:
    where = f"{LINK}/control"
    assert api.get(where).json()["now"] == {"bytes_per_second": 0, "records_per_second": 0}
    cost = api.patch(where, json={"records_per_second": 10, "dry_run": True}).json()
    assert (cost["changed"], backend.ordered.records_per_second) == (False, None)
    assert cost["cost"]["falls_behind_records_per_second"] > 0
    assert "falls behind" in cost["cost"]["says"]
    wish = {"bytes_per_second": 5_000_000, "schedule": "22:00-06:00=none", "first": ["pay.*"]}
    told = api.patch(where, json=wish | {"pause": [{"topic": "clicks"}, {"topic": "orders", "partition": 2}]}).json()
    assert told["changed"]
    assert (told["first_now"], told["by"]) == (["pay.*"], "ada")
    assert told["paused"] == [{"topic": "clicks", "partition": None}, {"topic": "orders", "partition": 2}]
    left = api.patch(where, json={"resume": [{"topic": "clicks"}], "first": None}).json()
    assert [one["topic"] for one in left["paused"]] == ["orders"]
    assert left["bytes_per_second"] == 5_000_000, "what is not named stays"
    until(lambda: api.get(where).json()["bytes_per_second"] == 5_000_000, "the order in the next look")
    page = api.get("/ui/links/east-%3Ewest/control").text
    assert "Resume orders" in page
    api.patch(where, json={"bytes_per_second": None, "schedule": "", "resume": [{"topic": "orders", "partition": 2}]})


@pytest.mark.parametrize(
    ("wish", "status", "part"),
    [
        ({"pause": [{"topic": "nope"}]}, 404, "nope"),
        ({"pause": [{"topic": "orders", "partition": 99}]}, 400, "there is no 99"),
        ({"first": ["nope.*"]}, 404, "nope"),
        ({"first": ["orders["]}, 400, "never closed"),
        ({"schedule": "at night"}, 400, "at night"),
        ({"bytes_per_second": -1}, 422, "greater than or equal"),
        ({"limit": 1}, 422, "limit"),
    ],
)
def test_an_order_that_cannot_be_meant_changes_nothing(
    api: TestClient, backend: PaperBackend, wish: dict[str, Any], status: int, part: str
) -> None:
    before = backend.ordered
    answer = api.patch(f"{LINK}/control", json=wish)
    assert (answer.status_code, part in answer.text) == (status, True), answer.text
    assert backend.ordered == before


def test_conflicts_of_both_sides_are_searched_as_an_operation(api: TestClient) -> None:
    found = done(api, api.post(f"{LINK}/conflicts", json={"window_seconds": 5}, headers=key("conflicts")))
    assert (found["result"]["conflicts"], found["result"]["not_sticky"]) == (5, 21 / 400)
    page = api.get(f"/ui/operations/{found['id']}").text
    assert "5 conflicts: 2 of 400 keys" in page
    assert "5.2% of all keys are not sticky" in page
    assert api.get(f"{LINK}/conflicts").json()[0]["id"] == found["id"]
    assert api.post(f"{LINK}/conflicts", json={"window_seconds": 0}, headers=key("wrong")).status_code == 422


def test_clusters_proofs_and_records_are_told(api: TestClient) -> None:
    until(lambda: len(api.get("/v1/clusters").json()) == 3, "all clusters")
    cards = {card["alias"]: card for card in api.get("/v1/clusters").json()}
    assert (cards["east"]["brokers"], cards["west"]["under_replicated"]) == (3, 4)
    assert cards["archive"]["disk_total"] is None, "unknown is not 0"
    page = api.get("/ui/").text
    assert "4 of 1,024 partitions lack a replica" in page
    assert "disks: archive: access denied" in page
    done(api, api.post(f"{LINK}/examinations", headers=key("proofs")))
    proofs = api.get(f"{LINK}/proofs").json()
    assert proofs["readiness_percent"] == 50, "one of two checks passed"
    assert "50 %" in api.get("/ui/").text
    found = api.get(f"{LINK}/records", params={"topic": "orders", "partition": 1, "offset": 5000}).json()
    assert (found["equal"], found["source"]["value"]["form"], found["target"]["offset"]) == (True, "JSON", 4000)
    topic = api.get("/ui/links/east-%3Ewest/topics/orders").text
    assert "Groups that read it" in topic
    assert "billing" in topic
    assert "mirrored" in api.get("/ui/links/east-%3Ewest/parts/configs", params={"topic": "orders"}).text.lower()
    assert "If a cluster is lost" in api.get("/ui/topology").text
    assert "<svg" in api.get("/ui/topology").text
