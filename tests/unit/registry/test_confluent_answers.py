"""Answers as a Confluent registry 8.1.1 gave them to the same requests."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.registry.asking import Asking, record

pytestmark = pytest.mark.proves("R23")


@pytest.fixture
def ask() -> Asking:
    return Asking()


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ('{"type":"record","name":"1a","fields":[]}', "Illegal initial character: 1a"),
        ('{"type":"record","name":"","fields":[]}', "Empty name"),
        ('{"type":"record","name":"a..b","fields":[]}', 'Namespace part "" is invalid: Empty name'),
        ('{"type":"enum","name":"E","symbols":["A-B"]}', "Illegal character in: A-B"),
        (
            '{"type":"record","name":"A","fields":[{"name":"a","type":"int","default":1.0}]}',
            'Invalid default for field a: 1.0 not a "int"',
        ),
    ],
)
def test_names_and_defaults_are_checked_when_a_new_schema_is_normalized(ask: Asking, schema: str, reason: str) -> None:
    refused = ask("POST", "/subjects/s/versions?normalize=true", {"schema": schema})
    assert (refused.status, refused.json()["error_code"]) == (422, 42201)
    assert refused.json()["message"].endswith(f"of type AVRO, details: {reason}")
    assert ask.register("s", schema).status == 200
    assert ask("POST", "/subjects/s?normalize=true", {"schema": schema}).status == 200  # a lookup registers nothing


def test_a_new_schema_cannot_refer_to_a_deleted_version(ask: Asking) -> None:
    ask.register("a", record("A", x="int"))
    ask("DELETE", "/subjects/a/versions/1")
    reference = {"name": "A", "subject": "a", "version": 1}
    refused = ask.register("b", {"type": "array", "items": "A"}, references=[reference])
    assert refused.status == 422
    assert 'No schema reference found for subject "a" and version 1' in refused.json()["message"]


def test_letters_beyond_the_first_plane_are_written_as_two_halves(ask: Asking) -> None:
    made = ask.register("s", '{"type":"string","doc2":"ä😀"}')
    assert r"\"doc2\":\"ä\uD83D\uDE00\"" in made.body
    _, value = ask.store.log[-1]
    assert rb"\uD83D\uDE00" in (value or b"")
    assert ask("GET", "/schemas/ids/1/schema").body == '{"type":"string","doc2":"ä😀"}'


VALUES = "(JSON String, Number (or 'NaN'/'+INF'/'-INF'), Array, Object or token 'null', 'true' or 'false')"
NO_TEXT = "no String-argument constructor/factory method to deserialize from String value ('x')"
NO_NUMBER = "no int/Int-argument constructor/factory method to deserialize from Number value (1)"


def instance(kind: str, why: str) -> str:
    return f"Cannot construct instance of `{kind}` (although at least one Creator exists): {why}"


def value(kind: str, shape: str, token: str) -> str:
    return f"Cannot deserialize value of type `{kind}` from {shape} value (token `JsonToken.{token}`)"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("1", instance("RegisterSchemaRequest", NO_NUMBER)),
        ('{"schema":', "Unexpected end-of-input within/between Object entries"),
        ("nonsense", f"Unrecognized token 'nonsense': was expecting {VALUES}"),
        ('{"a":1}x', f"Unrecognized token 'x': was expecting {VALUES}"),
        ("{'a':1}", "Unexpected character (''' (code 39)): was expecting double-quote to start field name"),
        ('{"schema":"x",}', "Unexpected character ('}' (code 125)): was expecting double-quote to start field name"),
        ('{"schema":"x","references":{}}', value("SchemaReference>", "Object", "START_OBJECT")),
        ('{"schema":"x","metadata":"x"}', instance("Metadata", NO_TEXT)),
        ('{"schema":"x","metadata":[]}', value("Metadata", "Array", "START_ARRAY")),
        ('{"schema":"x","metadata":{"tags":{"a":"x"}}}', instance("HashSet", NO_TEXT)),
        ('{"schema":"x","ruleSet":[]}', value("RuleSet", "Array", "START_ARRAY")),
    ],
)
def test_bodies_that_do_not_fit_are_refused_in_the_words_of_jackson(ask: Asking, body: str, message: str) -> None:
    refused = ask("POST", "/subjects/s/versions", raw=body.encode())
    assert (refused.status, refused.json()) == (400, {"error_code": 400, "message": message})


@pytest.mark.parametrize(
    ("schema", "details"),
    [
        ('{"type":"string",}', "Unexpected character ('}' (code 125)): was expecting double-quote to start field name"),
        ('"int" "long"', 'dangling content after end of schema: "long"'),
    ],
)
def test_texts_that_are_no_json(ask: Asking, schema: str, details: str) -> None:
    assert details in ask.register("s", schema).json()["message"]


@pytest.mark.parametrize(("sent", "status"), [({"mode": "x"}, 422), ("x", 422), ("READONLY", 200)])
def test_a_mode_may_be_a_bare_text(ask: Asking, sent: Any, status: int) -> None:
    answer = ask("PUT", "/mode/s", sent)
    assert answer.status == status
    if status == 422:
        told = "Invalid mode. Valid values are READWRITE, READONLY, IMPORT and FORWARD."
        assert answer.json() == {"error_code": 42204, "message": told}


def test_settings_keep_their_order_and_know_only_their_own_names(ask: Asking) -> None:
    ask("PUT", "/config/s", {"validateFields": True, "compatibilityGroup": "g"})
    told = '{"validateFields":true,"compatibilityLevel":"BACKWARD","compatibilityGroup":"g"}'
    assert ask("GET", "/config/s").body == told
    assert ask("PUT", "/config/s", {"compatibilityLevel": "NONE"}).json() == {
        "validateFields": True,
        "compatibilityGroup": "g",
    }
    refused = ask("PUT", "/config/s", {"normalize": "x"})
    assert refused.status == 400
    assert refused.json()["message"].endswith('`Boolean` from String "x": only "true" or "false" recognized')
    assert ask("PUT", "/config/s", {"alias": ""}).json()["alias"] == ""
    assert "alias" not in ask("PUT", "/config/s", {"normalize": True}).json()


def test_deleting_modes_of_a_subject_that_has_none_answers_nothing(ask: Asking) -> None:
    assert ask("DELETE", "/mode/s?recursive=true").body == "{}"


def test_the_prefix_of_the_default_context_means_its_subjects(ask: Asking) -> None:
    for subject in ("a", "b", ":.x:a"):
        ask.register(subject, '"int"')
    assert ask("GET", "/subjects?subjectPrefix=:.:").json() == ["a", "b"]
    assert ask("GET", "/subjects?subjectPrefix=:.:b").json() == ["b"]
    assert [row["subject"] for row in ask("GET", "/schemas?subjectPrefix=:.:b").json()] == ["b"]


def test_aliases_are_found_by_their_own_names(ask: Asking) -> None:
    ask.register("cs", '"int"')
    ask("PUT", "/config/al", {"alias": "cs"})
    (row,) = ask("GET", "/schemas?subjectPrefix=al&aliases=true").json()
    assert (row["subject"], row["aliases"]) == ("cs", ["al"])
    (row,) = ask("GET", "/schemas?subjectPrefix=cs&aliases=true").json()
    assert "aliases" not in row


def test_ids_and_versions_end_where_four_bytes_end(ask: Asking) -> None:
    ask("PUT", "/mode/s", {"mode": "IMPORT"})
    last = 2**31 - 1
    assert ask.register("s", '"int"', id=last, version=last).status == 200
    ask("PUT", "/mode/s", {"mode": "READWRITE"})
    ask("PUT", "/config", {"compatibility": "NONE"})
    for subject in ("s", "other"):
        refused = ask.register(subject, '"long"')
        assert (refused.status, refused.json()["error_code"]) == (422, 42205)


def test_a_full_check_tells_first_why_the_old_schema_cannot_read_the_new_one(ask: Asking) -> None:
    ask("PUT", "/config/s", {"compatibility": "FULL"})
    ask.register("s", record("R", a="int"))
    check = "/compatibility/subjects/s/versions/latest?verbose=true"
    both = ask("POST", check, {"schema": '{"type":"record","name":"R","fields":[{"name":"a","type":"string"}]}'}).json()
    assert ["in the old schema" in told for told in both["messages"][:2]] == [True, False]
    assert [told.split(":")[0] for told in both["messages"][2:]] == [
        "{oldSchemaVersion",
        "{oldSchema",
        "{validateFields",
    ]
    forward = ask("POST", check, {"schema": '{"type":"record","name":"R","fields":[]}'}).json()
    assert len(forward["messages"]) == 2
    assert "in the old schema has no default value" in forward["messages"][0]
    assert forward["messages"][1] == "{validateFields: 'false', compatibility: 'FULL'}"


def test_a_default_of_bytes_that_could_not_be_read_again_is_refused(ask: Asking) -> None:
    text = r'message A { optional bytes b = 1 [default = "\001\xff"]; }'
    refused = ask.register("s", text, schemaType="PROTOBUF")
    assert (refused.status, refused.json()["error_code"]) == (422, 42201)
    assert "details: Could not parse Protobuf - Syntax error in" in refused.json()["message"]
    kept = ask.register("s", text.replace("bytes", "string").replace(r"\001\xff", "x"), schemaType="PROTOBUF")
    assert kept.status == 200


def test_a_body_without_a_mode_changes_nothing(ask: Asking) -> None:
    ask("PUT", "/mode/s", {"mode": "READONLY"})
    written = len(ask.store.log)
    assert ask("PUT", "/mode/s", {}).body == "{}"
    assert len(ask.store.log) == written
    assert ask("GET", "/mode/s").json() == {"mode": "READONLY"}


def test_a_reference_that_lacks_a_part_is_named_with_the_request(ask: Asking) -> None:
    refused = ask.register("s", "int", references=[{"name": "n", "subject": "x"}]).json()
    shown = "{name='n', subject='x', version=null}"
    inner = (
        f"{{subject=s,version=null,id=null,schemaType=AVRO,references=[{shown}],metadata=null,ruleSet=null,schema=int"
    )
    assert refused["message"].startswith(f"Invalid schema of type AVRO, details: Invalid schema {inner},")
    assert refused["message"].endswith(f"with refs [{shown}] of type AVRO, details: Invalid reference: {shown}")
