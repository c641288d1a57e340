"""How Confluent's web server treats media types, methods, paths and broken bodies: as a real 8.1.1 answered."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.registry.asking import Asking, record

from twinlog.registry.json_mistakes import first_mistake
from twinlog.registry.schemas.avro.equality import is_equal
from twinlog.surface.registry.paths import segments_of

V1 = "application/vnd.schemaregistry.v1+json"
SUBJECT = "/subjects/s/versions"


@pytest.fixture
def ask() -> Asking:
    asking = Asking()
    assert asking.register("s", record("R", a="string")).status == 200
    return asking


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("*", V1),
        ("application", V1),
        ("application/json; charset=utf-8", "application/json;charset=utf-8"),
        ("application/json;charset=iso-8859-1", "application/json"),
        ("application/json;foo=bar", "application/json;foo=bar"),
        ("application/json;q=0.1, */*;q=0.01", "application/json"),
    ],
)
def test_the_type_that_a_client_prefers(ask: Asking, accept: str, kind: str) -> None:
    assert ask("GET", SUBJECT, headers={"accept": accept})[:2] == (200, kind)


@pytest.mark.parametrize("accept", ["/", "application/", "application/json;q=2", "application/json,,text/html", ","])
def test_an_accept_that_cannot_be_read(ask: Asking, accept: str) -> None:
    assert ask("GET", SUBJECT, headers={"accept": accept})[:2] == (400, "application/json")
    assert ask("GET", "/nosuch", headers={"accept": accept}).status == 404


@pytest.mark.parametrize(
    ("kind", "get", "post"),
    [
        ("text/plain", 415, 415),
        ("*/*", 200, 415),
        ("json", 400, 400),
        ("application/json; charset", 400, 400),
        ("application/json;", 200, 200),
        ("APPLICATION/JSON", 200, 200),
    ],
)
def test_the_type_of_a_body_counts_for_every_method(ask: Asking, kind: str, get: int, post: int) -> None:
    headers = {"content-type": kind}
    assert ask("GET", SUBJECT, headers=headers).status == get
    assert ask("POST", SUBJECT, {"schema": '"int"'} if post != 200 else {}, headers).status == post


def test_options_lists_the_methods_of_a_path(ask: Asking) -> None:
    assert ask("OPTIONS", SUBJECT) == (200, "text/plain", "HEAD, POST, GET, OPTIONS")
    assert ask("OPTIONS", "/config/s").body == "HEAD, DELETE, GET, OPTIONS, PUT"
    assert ask("OPTIONS", SUBJECT, headers={"accept": "application/json"}) == (200, "application/json", "")
    assert ask("OPTIONS", "/nosuch").status == 404


@pytest.mark.parametrize("path", ["//subjects", "/subjects//versions", "/subjects/%2E%2E/versions", "/subjects/%FF"])
def test_paths_that_the_web_server_refuses(ask: Asking, path: str) -> None:
    assert ask("GET", path).status == 400


@pytest.mark.parametrize("name", ["a%00b", "a%0Ab", "%7F", "a%5Cb"])
def test_characters_that_no_path_may_have(ask: Asking, name: str) -> None:
    assert ask.register(name, '"int"').status == 400
    assert ask("GET", "/subjects").json() == ["s"]


def test_an_empty_context_registers_nothing(ask: Asking) -> None:
    assert ask("POST", "/contexts//compatibility/subjects/s/versions", {"schema": '"int"'}).status == 400
    assert ask("GET", "/contexts").json() == ["."]


def test_what_follows_a_semicolon_is_no_part_of_a_name() -> None:
    assert segments_of(b"/subjects/s;a=b/versions;c") == ["subjects", "s", "versions"]
    assert segments_of(b"/subjects/s%3Ba") == ["subjects", "s;a"]


def test_numbers_may_be_blank_and_versions_have_blanks_around_them(ask: Asking) -> None:
    assert ask("GET", f"{SUBJECT}?offset=%20").json() == [1]
    assert ask("GET", f"{SUBJECT}/latest%20").json()["version"] == 1
    assert ask("GET", "/subjects/nosuch/versions?limit=x").json()["error_code"] == 404


def test_an_answer_by_id_has_the_text_before_the_references(ask: Asking) -> None:
    text = '{"type":"record","name":"U","fields":[{"name":"r","type":"R"}]}'
    made = ask.register("u", text, references=[{"name": "R", "subject": "s", "version": 1}]).json()
    for path in (f"/schemas/ids/{made['id']}", f"/schemas/guids/{made['guid']}"):
        parts = list(ask("GET", path).json())
        assert parts.index("schema") < parts.index("references")


def test_a_reference_to_the_newest_version_is_looked_up_each_time(ask: Asking) -> None:
    body: Any = {
        "schema": '{"type":"record","name":"U","fields":[{"name":"r","type":"R"}]}',
        "references": [{"name": "R", "subject": "s", "version": -1}],
    }
    assert ask("POST", "/subjects/u/versions", body).status == 200
    ask("PUT", "/config/s", {"compatibility": "NONE"})
    assert ask.register("s", '"int"').status == 200
    refused = ask("POST", "/subjects/u/versions", body)
    assert refused.status == 422
    assert "version=2" in refused.json()["message"]


def test_order_of_properties_and_aliases_makes_no_other_avro_schema(ask: Asking) -> None:
    text = '{"type":"record","name":"P","fields":[],"x":1,"y":{"b":1,"a":2},"aliases":["A","B"]}'
    other = '{"type":"record","name":"P","fields":[],"y":{"a":2,"b":1},"x":1,"aliases":["B","A"]}'
    assert ask.register("p", text).json()["id"] == ask.register("p", other).json()["id"]
    assert ask("GET", "/subjects/p/versions").json() == [1]


@pytest.mark.parametrize(
    ("one", "other"), [('{"a":1}', '{"a":true}'), ("[1.0]", "[0.1]"), ('["1"]', "[1]"), ("[1,2]", "[2,1]")]
)
def test_values_that_are_not_equal_for_java(one: str, other: str) -> None:
    assert not is_equal(one, other)


def test_metadata_without_properties_has_none_of_them(ask: Asking) -> None:
    assert ask.register("m", '"int"', metadata={}).status == 200
    assert ask("GET", "/subjects/m/metadata").json()["version"] == 1
    assert ask("GET", "/subjects/m/metadata?key=a&value=1").status == 404


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ({"id": True}, 400),
        ({"version": False}, 400),
        ({"schemaType": ""}, 422),
        ({"metadata": {"properties": {"a": None}}}, 400),
        ({"metadata": {"properties": []}}, 400),
        ({"metadata": {"tags": {"a": None}}}, 400),
        ({"metadata": {"sensitive": {}}}, 400),
        ({"metadata": {"sensitive": [None]}}, 400),
    ],
)
def test_parts_of_another_type(ask: Asking, more: dict[str, Any], status: int) -> None:
    assert ask.register("n", '"int"', **more).status == status


def test_a_number_in_metadata_stays_as_it_is_written(ask: Asking) -> None:
    raw = b'{"schema":"\\"int\\"","metadata":{"properties":{"a":1.50}}}'
    assert ask("POST", "/subjects/n/versions", raw=raw).json()["metadata"] == {"properties": {"a": "1.50"}}


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-32"])
def test_a_body_may_have_any_encoding_of_json(ask: Asking, encoding: str) -> None:
    assert ask("POST", "/subjects/n/versions", raw='{"schema":"\\"int\\""}'.encode(encoding)).status == 200


def test_empty_aliases_and_groups_are_answered_once(ask: Asking) -> None:
    assert ask("PUT", "/config/s", {"alias": "", "compatibilityGroup": ""}).json()["compatibilityGroup"] == ""
    assert ask("GET", "/config/s").json() == {"compatibilityLevel": "BACKWARD"}


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("}", "Unexpected close marker '}': no open Object to close"),
        ('{"', "Unexpected end-of-input: was expecting closing '\"' for name"),
        ('{"a"', "Unexpected end-of-input within/between Object entries"),
        ('{"a":}', "Unexpected character ('}' (code 125)): expected a value"),
        ('{"a":"', "Unexpected end-of-input in VALUE_STRING"),
        ('{"a":01}', "Invalid numeric value: Leading zeroes not allowed"),
        ('{"a":1.}', "Unexpected character ('}' (code 125)) in numeric value: Decimal point not followed by a digit"),
        ('"\\x"', "Unrecognized character escape 'x' (code 120)"),
        ("-", "Unexpected end-of-input in null"),
        ('{"a":1 "b":2}', "Unexpected character ('\"' (code 34)): was expecting comma to separate Object entries"),
    ],
)
def test_mistakes_have_the_words_of_jackson(text: str, mistake: str) -> None:
    assert first_mistake(text) == mistake


@pytest.mark.parametrize(
    "text", ["{}", '[1,{"a":[]},-0.5e+3,"\\u00e4\\n"]', ' {"a" : null , "b" : [ true ] } ', '"x"', "0"]
)
def test_what_is_json_has_no_mistake(text: str) -> None:
    assert first_mistake(text) is None
