"""The schemas on the page: who leads where, versions side by side, what a pasted schema would be answered."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.paper_backend import PaperBackend, everything
from tests.kit.paper_registry import PaperRegistry, add_registry, record_of

from twinlog.registry.identity import Identity, elect
from twinlog.registry.pair.site import Instance, Site, instances_of
from twinlog.surface.http.rights import right_of
from twinlog.surface.page.schema_diff import readable, side_by_side

LINES = st.lists(st.sampled_from("abcdef"), max_size=30)


class Shown:
    def __init__(self) -> None:
        self.backend = PaperBackend()
        app = everything(self.backend)
        self.registry: PaperRegistry = add_registry(self.backend, app.state.app_state)
        self.client = TestClient(app)


@pytest.fixture
def shown() -> Shown:
    return Shown()


def test_the_page_says_who_leads_and_where_schemas_are_missing(shown: Shown) -> None:
    page = shown.client.get("/ui/schemas").text
    assert "http://reg-1.west:8081" in page
    assert "copy of east" in page
    assert page.count("1 missing in west") == 1
    assert page.count("the same") == 2


def test_a_topic_that_does_not_say_whose_it_is_is_not_called_home(shown: Shown) -> None:
    shown.backend.sites = [replace(site, home=None) for site in shown.backend.sites]
    page = shown.client.get("/ui/schemas").text
    assert page.count("not told yet") == 2
    assert ">home<" not in page


def test_a_cluster_that_does_not_answer_is_unknown_and_not_empty(shown: Shown) -> None:
    shown.backend.sites[1] = Site("west", "_schemas", trouble="west: no broker answers")
    page = shown.client.get("/ui/schemas").text
    assert "west: no broker answers" in page
    assert "missing in west" not in page
    assert page.count("not known") == 3


def test_a_registry_that_still_loads_shows_no_list(shown: Shown) -> None:
    shown.registry.status.loading = {"read": 10, "of": 500}
    page = shown.client.get("/ui/schemas").text
    assert "10 of 500 records" in page
    assert "orders-value" not in page


def test_without_a_registry_the_page_says_how_to_start_one(shown: Shown) -> None:
    app_state = shown.client.app.state.app_state  # type: ignore[attr-defined]
    app_state.registry = None
    page = shown.client.get("/ui/schemas").text
    assert "registry.listeners" in page
    assert "http://reg-1.west:8081" in page


def test_two_versions_stand_side_by_side(shown: Shown) -> None:
    newest = shown.client.get("/ui/schemas/subject", params={"name": "orders-value"}).text
    assert "&#34;coupon&#34;" in newest
    assert "Version 2, id 2" in newest
    assert "Version 3, id 5" in newest
    first = shown.client.get("/ui/schemas/subject", params={"name": "orders-value", "left": 1, "right": 1}).text
    assert "The texts are equal." in first
    assert shown.client.get("/ui/schemas/subject", params={"name": "nosuch"}).status_code == 404
    assert shown.client.get("/ui/schemas/subject", params={"name": "orders-value", "right": 9}).status_code == 404


def test_a_pasted_schema_gets_the_answer_of_the_registry(shown: Shown) -> None:
    def check(schema: object) -> str:
        text = schema if isinstance(schema, str) else json.dumps(schema)
        sent = {"subject": "orders-value", "type": "AVRO", "schema": text}
        return shown.client.post("/ui/schemas/check", data=sent).text

    versions = len(shown.registry.store.log)
    assert "would refuse it" in check(record_of("Order", ("id", "string"), ("new", "int")))
    assert "READER_FIELD_MISSING_DEFAULT_VALUE" in check(record_of("Order", ("id", "string"), ("new", "int")))
    assert "would take this schema" in check(record_of("Order", ("id", "string")))
    assert "<script>" not in check('{"type": "<script>alert(1)</script>"}')
    assert "Empty schema" in check(" ")
    assert len(shown.registry.store.log) == versions


def test_asking_for_a_verdict_needs_no_more_than_reading() -> None:
    assert right_of("POST", "/ui/schemas/check").role == "viewer"
    assert right_of("POST", "/ui/schemas/other").role == "admin"


@given(LINES, LINES)
def test_no_line_is_lost_side_by_side(old: list[str], new: list[str]) -> None:
    rows = side_by_side("\n".join(old), "\n".join(new))
    folded = sum(row.folded for row in rows)
    assert sum(row.left is not None for row in rows) + folded == len(old)
    assert sum(row.right is not None for row in rows) + folded == len(new)
    assert all(row.left == row.right for row in rows if row.kind == "same")
    for row in rows:
        assert row.left is None or old[(row.left_number or 0) - 1] == row.left
        assert row.right is None or new[(row.right_number or 0) - 1] == row.right


def test_text_that_is_no_json_is_shown_as_it_is() -> None:
    assert readable("AVRO", "{") == "{"
    assert readable("AVRO", '"int"') == '"int"'


def test_instances_are_read_from_the_group() -> None:
    one, two = Identity("a", 1), Identity("b", 2, eligible=False)
    said = {"m1": one.metadata(leader=False), "m2": two.metadata(leader=False)}
    given_to_all = elect(said)
    members = {name: (data, given_to_all) for name, data in said.items()} | {"m3": (b"junk", b"")}
    assert instances_of(members) == (Instance("http://a:1", True, True), Instance("http://b:2", False, False))
