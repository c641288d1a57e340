"""Every endpoint with its parameters, codes and corner cases, one story after the other.

The recorded answers of a Confluent registry cover a part of them; what stands here follows from its rules.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.unit.registry.asking import Answered, Asking


def avro(name: str, *fields: str, default: bool = True) -> str:
    made = [{"name": field, "type": "int", **({"default": 0} if default else {})} for field in fields]
    return json.dumps({"type": "record", "name": name, "fields": made})


HOLDER = '{"type":"record","name":"Holder","fields":[{"name":"held","type":"Held"}]}'
PROTO = 'syntax = "proto3"; message M { int32 a = 1; }'


@pytest.fixture
def ask() -> Asking:
    return Asking()


def put(ask: Asking, subject: str, schema: str, **more: Any) -> Answered:
    return ask("POST", f"/subjects/{subject}/versions", {"schema": schema, **more})


def code(answer: Answered) -> tuple[int, int]:
    return answer.status, answer.json()["error_code"]


# --- contexts --------------------------------------------------------------------------------------------------------


def test_ids_begin_anew_in_each_context_and_a_context_is_a_base_url(ask: Asking) -> None:
    assert put(ask, "s", avro("A")).json()["id"] == 1
    for base in ("/contexts/.c1", "/contexts/c1", "/contexts/:.c1:"):
        answer = ask("POST", f"{base}/subjects/s/versions", {"schema": avro("B")})
        assert (answer.json()["id"], answer.json()["version"]) == (1, 1)
    assert ask("GET", "/contexts").json() == [".", ".c1"]
    assert ask("GET", "/contexts?contextPrefix=.c").json() == [".c1"]
    assert ask("GET", "/contexts/c1/subjects").json() == [":.c1:s"]
    assert ask("GET", "/subjects?subjectPrefix=:*:s").json() == [":.c1:s", "s"]
    assert ask("GET", "/schemas").json()[0]["subject"] == "s"
    assert ask("GET", "/contexts/.c1/schemas/ids/1").json()["subject"] == ":.c1:s"
    assert ask("GET", "/schemas/ids/1").json()["subject"] == "s"


def test_a_subject_without_context_is_looked_for_in_all_contexts(ask: Asking) -> None:
    put(ask, ":.c1:t", avro("T"))
    assert ask("GET", "/subjects/t/versions/1").json()["subject"] == ":.c1:t"
    assert ask("GET", "/subjects/t/versions/latest").json()["subject"] == ":.c1:t"
    assert ask("POST", "/subjects/t", {"schema": avro("T")}).json()["subject"] == ":.c1:t"
    assert code(ask("GET", "/subjects/t/versions")) == (404, 40401)
    assert code(ask("POST", "/compatibility/subjects/t/versions/1", {"schema": avro("T")})) == (404, 40402)


def test_a_context_goes_when_it_is_empty(ask: Asking) -> None:
    put(ask, ":.c1:t", avro("T"))
    assert code(ask("DELETE", "/contexts/.c1")) == (422, 42211)
    ask("DELETE", "/subjects/:.c1:t")
    assert code(ask("DELETE", "/contexts/c1")) == (422, 42211)
    ask("DELETE", "/subjects/:.c1:t?permanent=true")
    assert ask("DELETE", "/contexts/.c1").status == 204
    assert ask("GET", "/contexts").json() == ["."]


def test_the_highest_id_is_that_of_the_context(ask: Asking) -> None:
    for name in ("A", "B", "C"):
        put(ask, f":.c1:{name}", avro(name))
    put(ask, "s", avro("S"))
    assert ask("GET", "/schemas/ids/1?subject=:.c1:&fetchMaxId=true").json()["maxId"] == 3
    assert ask("GET", "/schemas/ids/1?fetchMaxId=true").json()["maxId"] == 1


# --- references ------------------------------------------------------------------------------------------------------


def test_references_name_versions_and_keep_them_from_being_deleted(ask: Asking) -> None:
    put(ask, "held", avro("Held", "a"))
    first = put(ask, "holder", HOLDER, references=[{"name": "Held", "subject": "held", "version": 1}])
    newest = put(ask, "holder", HOLDER, references=[{"name": "Held", "subject": "held", "version": -1}])
    assert first.json()["references"] == newest.json()["references"]
    assert newest.json()["id"] == first.json()["id"]
    unknown = put(ask, "holder", HOLDER, references=[{"name": "Held", "subject": "held", "version": 9}])
    assert code(unknown) == (422, 42201)
    assert ask("GET", "/subjects/held/versions/1/referencedby").json() == [2]
    assert code(ask("DELETE", "/subjects/held/versions/1")) == (422, 42206)
    assert code(ask("DELETE", "/subjects/held")) == (422, 42206)
    ask("DELETE", "/subjects/holder")
    assert ask("DELETE", "/subjects/held").json() == [1]
    assert ask("DELETE", "/subjects/held?permanent=true").json() == [1]


def test_a_resolved_form_holds_what_it_refers_to(ask: Asking) -> None:
    put(ask, "held", avro("Held", "a"))
    made = put(ask, "holder", HOLDER, references=[{"name": "Held", "subject": "held", "version": 1}]).json()
    for path in (
        "/subjects/holder/versions/1",
        f"/schemas/ids/{made['id']}",
        f"/schemas/guids/{made['guid']}",
    ):
        assert '"name":"Held"' in ask("GET", f"{path}?format=resolved").json()["schema"]
        assert ask("GET", f"{path}?format=unknown").json()["schema"] == made["schema"]
    assert '"name":"Held"' in ask("GET", f"/schemas/ids/{made['id']}/schema?format=resolved").body
    written_out = ask("GET", "/subjects/holder/versions/1/schema?format=resolved").body
    assert ask("POST", "/subjects/holder", {"schema": written_out}).json()["version"] == 1


def test_references_can_be_written_with_their_context(ask: Asking) -> None:
    put(ask, ":.c1:held", avro("Held", "a"))
    put(ask, ":.c1:holder", HOLDER, references=[{"name": "Held", "subject": "held", "version": 1}])
    for path in ("/subjects/:.c1:holder/versions/1?", "/schemas/ids/2?subject=:.c1:&"):
        assert ask("GET", f"{path}referenceFormat=qualified").json()["references"][0]["subject"] == ":.c1:held"
        assert ask("GET", path).json()["references"][0]["subject"] == "held"


# --- modes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["READONLY", "READONLY_OVERRIDE"])
def test_a_read_only_subject_answers_what_it_knows_and_takes_nothing(ask: Asking, mode: str) -> None:
    put(ask, "s", avro("A"))
    assert ask("PUT", "/mode/s", {"mode": mode}).json() == {"mode": mode}
    assert put(ask, "s", avro("A")).json()["id"] == 1
    for answer in (
        put(ask, "s", avro("A", "b")),
        put(ask, "s", avro("A", "b"), id=5),
        ask("DELETE", "/subjects/s"),
        ask("DELETE", "/subjects/s/versions/1"),
        ask("PUT", "/config/s", {"compatibility": "NONE"}),
    ):
        assert code(answer) == (422, 42205)


def test_read_only_override_of_the_top_wins_over_all(ask: Asking) -> None:
    ask("PUT", "/mode/s", {"mode": "READWRITE"})
    ask("PUT", "/mode", {"mode": "READONLY_OVERRIDE"})
    assert ask("GET", "/mode/s").json() == {"mode": "READONLY_OVERRIDE"}
    assert ask("GET", "/mode/:.other:").json() == {"mode": "READONLY_OVERRIDE"}
    assert code(put(ask, ":.other:s", avro("A"))) == (422, 42205)
    ask("PUT", "/mode", {"mode": "READONLY"})
    assert put(ask, "s", avro("A")).status == 200


def test_an_import_keeps_ids_and_never_gives_one_to_two_schemas(ask: Asking) -> None:
    ask("PUT", "/mode/s", {"mode": "IMPORT"})
    assert put(ask, "s", avro("A"), id=77, version=5).json()["id"] == 77
    assert put(ask, "s", avro("A"), id=77, version=5).json()["version"] == 5
    assert code(put(ask, "s", avro("B"), id=77, version=6)) == (422, 42205)
    assert code(put(ask, "s", avro("B"))) == (422, 42205)
    assert put(ask, "s", avro("A"), id=78, version=8).json()["id"] == 78
    assert ask("GET", "/subjects/s/versions").json() == [5, 8]
    assert ask("GET", "/schemas/ids/78").json()["schema"] == ask("GET", "/schemas/ids/77").json()["schema"]
    ask("DELETE", "/mode/s")
    assert put(ask, "s", avro("A", "b")).json() | {"schema": "", "guid": ""} == {
        "id": 79,
        "version": 9,
        "guid": "",
        "schemaType": "AVRO",
        "schema": "",
    }


def test_an_import_begins_without_live_versions_unless_it_is_forced(ask: Asking) -> None:
    put(ask, "s", avro("A"))
    assert code(ask("PUT", "/mode/s", {"mode": "IMPORT"})) == (422, 42205)
    assert code(ask("PUT", "/mode", {"mode": "IMPORT"})) == (422, 42205)
    assert ask("PUT", "/mode/s?force=true", {"mode": "IMPORT"}).status == 200
    assert ask("GET", "/subjects/s/versions").json() == [1]
    ask("DELETE", "/mode/s")
    ask("DELETE", "/subjects/s")
    assert ask("PUT", "/mode/s", {"mode": "IMPORT"}).status == 200
    assert code(ask("GET", "/subjects/s/versions?deleted=true")) == (404, 40401)


def test_modes_are_set_removed_and_refused(ask: Asking) -> None:
    assert code(ask("PUT", "/mode/s", {"mode": "ALWAYS"})) == (422, 42204)
    assert code(ask("PUT", "/mode/s", {"mode": "FORWARD"})) == (422, 42204)
    assert ask("PUT", "/mode/:.__GLOBAL:", {"mode": "FORWARD"}).status == 200
    assert code(put(ask, "s", avro("A"))) == (422, 42205)
    ask("PUT", "/mode/:.__GLOBAL:", {"mode": None})
    assert code(ask("GET", "/mode/s")) == (404, 40409)
    assert code(ask("DELETE", "/mode/s")) == (404, 40401)
    ask("PUT", "/mode/:.c1:x", {"mode": "READONLY"})
    assert ask("DELETE", "/mode/:.c1:?recursive=true").json() == {}
    assert code(ask("GET", "/mode/:.c1:x")) == (404, 40409)
    assert ask("GET", "/mode/:.c1:x?defaultToGlobal=true").json() == {"mode": "READWRITE"}


# --- settings --------------------------------------------------------------------------------------------------------


def test_settings_keep_what_is_not_sent_and_lose_what_is_sent_as_null(ask: Asking) -> None:
    ask("PUT", "/config/s", {"compatibility": "FULL", "compatibilityGroup": "g"})
    assert ask("PUT", "/config/s", {"normalize": True}).json() == {
        "normalize": True,
        "compatibility": "FULL",
        "compatibilityGroup": "g",
    }
    ask("PUT", "/config/s", {"compatibility": None})
    assert ask("GET", "/config/s").json()["compatibilityLevel"] == "BACKWARD"
    assert code(ask("PUT", "/config/s", {"compatibility": "SOME"})) == (422, 42203)
    assert ask("DELETE", "/config/s").json()["compatibilityGroup"] == "g"
    assert code(ask("DELETE", "/config/s")) == (404, 40401)
    assert code(ask("GET", "/config/s")) == (404, 40408)


def test_a_scope_without_settings_has_those_above_it(ask: Asking) -> None:
    ask("PUT", "/config/:.__GLOBAL:", {"compatibility": "FORWARD"})
    ask("PUT", "/config/:.c1:", {"compatibility": "NONE"})
    for subject, level in (("s", "FORWARD"), (":.c1:s", "NONE"), (":.c2:s", "FORWARD")):
        assert ask("GET", f"/config/{subject}?defaultToGlobal=true").json() == {"compatibilityLevel": level}
    ask("PUT", "/config", {"compatibility": "FULL"})
    assert ask("GET", "/config/s?defaultToGlobal=true").json() == {"compatibilityLevel": "FULL"}


def test_an_alias_stands_for_another_subject(ask: Asking) -> None:
    put(ask, "s", avro("A"))
    ask("PUT", "/config/other", {"alias": "s"})
    assert ask("GET", "/subjects/other/versions").json() == [1]
    assert ask("POST", "/subjects/other", {"schema": avro("A")}).json()["subject"] == "s"
    assert put(ask, "other", avro("A", "b")).json()["version"] == 2
    assert ask("GET", "/schemas?aliases=true&latestOnly=true&subjectPrefix=").json()[0]["aliases"] == ["other"]
    assert ask("GET", "/config/other").json()["alias"] == "s"


def test_only_versions_of_one_group_are_compared(ask: Asking) -> None:
    ask("PUT", "/config/s", {"compatibilityGroup": "major"})
    one, two = ({"properties": {"major": number}} for number in ("1", "2"))
    put(ask, "s", avro("A", "a", default=False), metadata=one)
    assert put(ask, "s", avro("A", "b", default=False), metadata=two).status == 200
    assert code(put(ask, "s", avro("A", "a", "b", default=False), metadata=one)) == (409, 409)
    body = {"schema": avro("A", "a", "b", default=False), "metadata": one}
    verdict = ask("POST", "/compatibility/subjects/s/versions?verbose=true", body).json()
    assert (verdict["is_compatible"], verdict["messages"][-3]) == (False, "{oldSchemaVersion: 1}")


def test_metadata_is_inherited_merged_and_searched(ask: Asking) -> None:
    put(ask, "s", avro("A"), metadata={"properties": {"owner": "x"}, "tags": {"a": ["PII"]}, "sensitive": ["owner"]})
    assert put(ask, "s", avro("A", "b")).json()["metadata"]["properties"] == {"owner": "x"}
    ask("PUT", "/config/s", {"defaultMetadata": {"properties": {"a": "1", "b": "1"}}})
    ask("PUT", "/config/s", {"overrideMetadata": {"properties": {"b": "2"}}})
    made = put(ask, "s", avro("A", "c"), metadata={"properties": {"owner": "y"}})
    assert made.json()["metadata"]["properties"] == {"a": "1", "b": "2", "owner": "y"}
    assert ask("GET", "/subjects/s/metadata?key=owner&value=x").json()["version"] == 2
    assert ask("GET", "/subjects/s/metadata?key=owner&value=y&key=b&value=2").json()["version"] == 3
    assert code(ask("GET", "/subjects/s/metadata?key=owner&value=z")) == (404, 40403)
    assert code(ask("GET", "/subjects/nobody/metadata?key=owner&value=z")) == (404, 40401)


# --- versions --------------------------------------------------------------------------------------------------------


def test_deleted_versions_are_listed_where_they_are_asked_for(ask: Asking) -> None:
    for fields in ((), ("a",), ("a", "b")):
        put(ask, "s", avro("A", *fields))
    assert ask("DELETE", "/subjects/s/versions/2").json() == 2
    assert code(ask("DELETE", "/subjects/s/versions/2")) == (404, 40406)
    assert code(ask("DELETE", "/subjects/s/versions/1?permanent=true")) == (404, 40407)
    for query, versions in (
        ("", [1, 3]),
        ("?deleted=true", [1, 2, 3]),
        ("?deletedOnly=true", [2]),
        ("?deletedAsNegative=true", [1, -2, 3]),
        ("?limit=1&offset=1", [3]),
    ):
        assert ask("GET", f"/subjects/s/versions{query}").json() == versions
    assert code(ask("GET", "/subjects/s/versions/2")) == (404, 40402)
    assert ask("GET", "/subjects/s/versions/2?deleted=true").json()["deleted"] is True
    assert ask("GET", "/schemas/ids/2").json()["deleted"] is True
    assert ask("GET", "/schemas/ids/2/versions").json() == []
    assert ask("GET", "/schemas/ids/2/versions?deleted=true").json() == [{"subject": "s", "version": 2}]
    again = put(ask, "s", avro("A", "a"))
    assert (again.json()["id"], again.json()["version"]) == (2, 4)
    assert ask("GET", "/subjects/s/versions?deleted=true").json() == [1, 3, 4]


def test_subjects_are_deleted_softly_first(ask: Asking) -> None:
    put(ask, "s", avro("A"))
    assert code(ask("DELETE", "/subjects/s?permanent=true")) == (404, 40405)
    assert ask("DELETE", "/subjects/s").json() == [1]
    assert code(ask("DELETE", "/subjects/s")) == (404, 40404)
    assert ask("GET", "/subjects?deletedOnly=true").json() == ["s"]
    assert code(ask("POST", "/subjects/s", {"schema": avro("A")})) == (404, 40401)
    assert ask("POST", "/subjects/s?deleted=true", {"schema": avro("A")}).json()["version"] == 1
    assert ask("DELETE", "/subjects/s?permanent=true").json() == [1]
    assert code(ask("DELETE", "/subjects/s")) == (404, 40401)
    assert put(ask, "s", avro("B")).json()["id"] == 2


def test_versions_that_are_given_must_follow(ask: Asking) -> None:
    assert put(ask, "s", avro("A"), version=1).json()["version"] == 1
    assert code(put(ask, "s", avro("A", "b"), version=5)) == (422, 42201)
    assert put(ask, "s", avro("A", "b"), version=-1).json()["version"] == 2
    assert put(ask, "s", avro("A"), version=-1).json()["version"] == 3
    assert code(put(ask, "s", avro("A"), id=9)) == (422, 42205)


@pytest.mark.parametrize("version", ["0", "-2", "2147483648", "abc", "1.0"])
def test_a_version_that_is_none_is_refused_everywhere(ask: Asking, version: str) -> None:
    put(ask, "s", avro("A"))
    for method, path in (
        ("GET", f"/subjects/s/versions/{version}"),
        ("GET", f"/subjects/s/versions/{version}/schema"),
        ("GET", f"/subjects/s/versions/{version}/referencedby"),
        ("DELETE", f"/subjects/s/versions/{version}"),
        ("POST", f"/compatibility/subjects/s/versions/{version}"),
    ):
        body = {"schema": avro("A")} if method == "POST" else None
        assert code(ask(method, path, body)) == (422, 42202)


def test_compatibility_of_what_cannot_be_parsed(ask: Asking) -> None:
    put(ask, "s", avro("A"))
    assert code(ask("POST", "/compatibility/subjects/s/versions/1", {"schema": "{"})) == (422, 42201)
    told = ask("POST", "/compatibility/subjects/s/versions/1?verbose=true", {"schema": "{"}).json()
    assert (told["is_compatible"], len(told["messages"])) == (False, 1)
    assert ask("POST", "/compatibility/subjects/new/versions/latest", {"schema": avro("A")}).json() == {
        "is_compatible": True
    }
    assert code(ask("POST", "/compatibility/subjects/s/versions/2", {"schema": avro("A")})) == (404, 40402)


def test_a_schema_of_protobuf_is_given_as_a_descriptor(ask: Asking) -> None:
    made = ask("POST", "/subjects/p/versions?format=serialized", {"schemaType": "PROTOBUF", "schema": PROTO}).json()
    looked_up = ask("POST", "/subjects/p?format=serialized", {"schemaType": "PROTOBUF", "schema": PROTO}).json()
    assert made["schema"] == looked_up["schema"] == ask("GET", "/subjects/p/versions/1/schema?format=serialized").body
    assert ask("POST", "/subjects/p", {"schemaType": "PROTOBUF", "schema": made["schema"]}).json()["version"] == 1
    changed = put(ask, "p", avro("A"))
    assert code(changed) == (409, 409)


def test_lists_have_pages(ask: Asking) -> None:
    for name in ("a", "b", "c"):
        put(ask, name, avro("A"))
        put(ask, name, avro("A", "b"))
    assert ask("GET", "/subjects?offset=1&limit=1").json() == ["b"]
    assert [one["subject"] for one in ask("GET", "/schemas?latestOnly=true&offset=1").json()] == ["b", "c"]
    assert len(ask("GET", "/schemas?limit=4").json()) == 4
    assert len(ask("GET", "/schemas/ids/1/subjects?limit=2").json()) == 2
    assert sorted(ask("GET", "/schemas/ids/1/subjects").json()) == ["a", "b", "c"]
    assert ask("GET", "/schemas?subjectPrefix=b&latestOnly=true").json()[0]["version"] == 2
    assert ask("GET", "/subjects?limit=many").status == 404


def test_a_guid_leads_to_all_ids(ask: Asking) -> None:
    guid = put(ask, "s", avro("A")).json()["guid"]
    put(ask, ":.c1:first", avro("B"))
    assert put(ask, ":.c1:s", avro("A")).json()["guid"] == guid
    ids = ask("GET", f"/schemas/guids/{guid}/ids").json()
    assert ids == [{"context": ".", "id": 1}, {"context": ".c1", "id": 2}]
    assert "subject" not in ask("GET", f"/schemas/guids/{guid}").json()
    assert code(ask("GET", "/schemas/guids/no")) == (404, 40403)
    assert ask("GET", "/schemas/guids/no/ids").json() == []


@pytest.mark.parametrize(
    ("raw", "status", "error"),
    [
        (b"", 422, 422),
        (b"null", 422, 422),
        (b"{", 400, 400),
        (b"[1]", 400, 400),
        (b'"x"', 400, 400),
        (b'{"schema":{}}', 400, 400),
        (b'{"schema":"x","id":"y"}', 400, 400),
        (b"{}", 422, 42201),
        (b'{"schema":" "}', 422, 42201),
        (b'{"schema":"\\"int\\"","schemaType":"avro"}', 422, 42201),
        (b'{"schema":"\\"int\\"","references":[{"name":"x"}]}', 422, 42201),
        (b'{"schema":"\\"int\\"","references":{}}', 400, 400),
        (b'{"schema":"\\"int\\"","metadata":[]}', 400, 400),
        (b'{"schema":"\\"int\\"","unknown":1}', 200, 0),
    ],
)
def test_bodies_that_are_none_have_their_code(ask: Asking, raw: bytes, status: int, error: int) -> None:
    answer = ask("POST", "/subjects/s/versions", raw=raw)
    assert (answer.status, answer.json().get("error_code", 0)) == (status, error)


@pytest.mark.parametrize("name", ["__GLOBAL", "__EMPTY", "a%C2%85b"])
def test_names_that_no_subject_may_have(ask: Asking, name: str) -> None:
    assert code(put(ask, name, avro("A"))) == (422, 42208)


@pytest.mark.parametrize("name", ["a b", "a%2Fb", "100%25", "größe", "x" * 300, "*", ":.:plain"])
def test_names_that_a_subject_may_have(ask: Asking, name: str) -> None:
    assert put(ask, name, avro("A")).status == 200
    assert ask("GET", f"/subjects/{name}/versions").json() == [1]
