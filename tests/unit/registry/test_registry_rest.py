"""The registry over HTTP: conventions, contexts, aliases, modes, deletes, references."""

from __future__ import annotations

import json

import pytest
from tests.unit.registry.asking import Asking, record

R1, R2 = record("R", a="int"), record("R", a="long")


@pytest.fixture
def ask() -> Asking:
    return Asking()


def test_a_registered_schema_is_found_by_id_version_text_and_guid(ask: Asking) -> None:
    made = ask.register("s", R1).json()
    assert (made["id"], made["version"]) == (1, 1)
    by_id = ask("GET", "/schemas/ids/1").json()
    assert list(by_id) == ["subject", "version", "guid", "schemaType", "schema", "ts", "deleted"]
    assert by_id["schema"] == ask("GET", "/subjects/s/versions/latest/schema").body
    assert ask("GET", f"/schemas/guids/{made['guid']}").json()["schema"] == by_id["schema"]
    assert ask("GET", f"/schemas/guids/{made['guid']}/ids").json() == [{"context": ".", "id": 1}]
    assert ask("POST", "/subjects/s", {"schema": json.dumps(R1)}).json()["version"] == 1


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("GET", "/nosuch", None, 404, 404),
        ("PUT", "/subjects", {}, 405, 405),
        ("GET", "/schemas/ids/x", None, 404, 404),
        ("GET", "/schemas/ids/99", None, 404, 40403),
        ("GET", "/schemas/ids/99/schema", None, 404, 40403),
        ("GET", "/subjects/none/versions", None, 404, 40401),
        ("GET", "/subjects/none/versions/0", None, 422, 42202),
        ("PUT", "/config", {"compatibility": "SOMETIMES"}, 422, 42203),
        ("PUT", "/mode", {"mode": "SOMETIMES"}, 422, 42204),
        ("PUT", "/mode/s", {"mode": "FORWARD"}, 422, 42204),
        ("GET", "/config/s", None, 404, 40408),
        ("GET", "/mode/s", None, 404, 40409),
        ("DELETE", "/config/s", None, 404, 40401),
        ("DELETE", "/mode/s", None, 404, 40401),
        ("POST", "/subjects/s/versions", {"schema": "nonsense"}, 422, 42201),
        ("POST", "/subjects/s/versions", {"schema": '"int"', "id": 5}, 422, 42205),
        ("POST", "/subjects/s/versions", {"schema": '"int"', "version": 3}, 422, 42201),
        ("POST", "/subjects/__GLOBAL/versions", {"schema": '"int"'}, 422, 42208),
        ("POST", "/compatibility/subjects/s/versions/1", {"schema": '"int"'}, 404, 40402),
        ("POST", "/contexts/a:b/subjects/s/versions", {"schema": '"int"'}, 400, 400),
    ],
)
def test_what_cannot_be_done_has_confluents_code(
    ask: Asking, *, method: str, path: str, body: object, status: int, code: int
) -> None:
    answer = ask(method, path, body)
    assert (answer.status, answer.json()["error_code"]) == (status, code)


def test_an_incompatible_version_is_refused_with_its_reason(ask: Asking) -> None:
    ask.register("s", R2)
    answer = ask.register("s", R1)
    assert answer.status == 409
    assert answer.json()["error_code"] == 409
    assert "reader type: INT not compatible with writer type: LONG" in answer.json()["message"]
    checked = ask("POST", "/compatibility/subjects/s/versions/latest?verbose=true", {"schema": json.dumps(R1)}).json()
    assert checked["is_compatible"] is False
    assert checked["messages"]


def test_a_context_has_ids_of_its_own_and_works_as_a_base_url(ask: Asking) -> None:
    ask.register("s", R1)
    assert ask("POST", "/contexts/.east/subjects/s/versions", {"schema": json.dumps(R2)}).json()["id"] == 1
    assert ask("GET", "/contexts/.east/schemas/ids/1").json()["subject"] == ":.east:s"
    assert ask("GET", "/schemas/ids/1").json()["subject"] == "s"
    assert ask("GET", "/subjects").json() == [":.east:s", "s"]
    assert ask("GET", "/contexts").json() == [".", ".east"]
    assert ask("PUT", "/contexts/east/config", {"compatibility": "FULL"}).status == 200
    assert ask("GET", "/config/:.east:s?defaultToGlobal=true").json() == {"compatibilityLevel": "FULL"}
    assert ask("DELETE", "/contexts/.east").json()["error_code"] == 42211


def test_an_alias_leads_to_its_subject(ask: Asking) -> None:
    ask.register("orders-value", R1)
    ask("PUT", "/config/east.orders-value", {"alias": "orders-value"})
    assert ask("GET", "/subjects/east.orders-value/versions/latest").json()["subject"] == "orders-value"
    assert ask("GET", "/config/east.orders-value").json()["alias"] == "orders-value"


def test_read_only_refuses_what_is_new_and_answers_what_is_known(ask: Asking) -> None:
    ask.register("s", R1)
    ask("PUT", "/mode", {"mode": "READONLY"})
    assert ask.register("s", R1).json()["id"] == 1
    assert ask.register("s", R2).json()["error_code"] == 42205
    assert ask("DELETE", "/subjects/s").json()["error_code"] == 42205
    assert ask("PUT", "/config/s", {"compatibility": "NONE"}).json()["error_code"] == 42205


def test_an_import_keeps_ids_and_never_gives_one_to_two_schemas(ask: Asking) -> None:
    ask("PUT", "/mode", {"mode": "IMPORT"})
    assert ask.register("s", R1, id=40, version=7).json()["id"] == 40
    assert ask.register("t", R2, id=40).json()["error_code"] == 42205
    assert ask.register("s", R2, id=41, version=7).json()["error_code"] == 42205  # its id would lead to nothing
    assert ask.register("t", R2).json()["error_code"] == 42205
    ask("PUT", "/mode", {"mode": "READWRITE"})
    assert ask.register("t", R2).json()["id"] == 41


def test_a_soft_delete_keeps_the_id_readable_and_a_hard_one_never_frees_it(ask: Asking) -> None:
    ask.register("s", R1)
    assert ask("DELETE", "/subjects/s/versions/1?permanent=true").json()["error_code"] == 40407
    assert ask("DELETE", "/subjects/s").json() == [1]
    assert ask("GET", "/schemas/ids/1").status == 200
    assert ask("DELETE", "/subjects/s").json()["error_code"] == 40404
    assert ask("DELETE", "/subjects/s?permanent=true").json() == [1]
    assert ask("GET", "/schemas/ids/1").status == 404
    assert ask.register("s", R2).json()["id"] == 2


def test_a_version_that_is_referred_to_cannot_be_deleted(ask: Asking) -> None:
    ask.register("inner", record("Inner", a="int"))
    outer = {"type": "record", "name": "Outer", "fields": [{"name": "i", "type": "Inner"}]}
    refer = [{"name": "Inner", "subject": "inner", "version": -1}]
    assert ask.register("outer", outer, references=refer).json()["references"][0]["version"] == 1
    assert ask("GET", "/subjects/inner/versions/1/referencedby").json() == [2]
    assert ask("DELETE", "/subjects/inner/versions/1").json()["error_code"] == 42206
    assert '"fields":[{"name":"a"' in ask("GET", "/schemas/ids/2/schema?format=resolved").body
    assert ask("DELETE", "/subjects/outer").json() == [1]
    assert ask("DELETE", "/subjects/inner").json() == [1]


def test_metadata_is_part_of_the_identity_and_is_inherited(ask: Asking) -> None:
    first = ask.register("s", R1, metadata={"properties": {"owner": "a"}}).json()
    second = ask.register("s", R2).json()
    assert second["metadata"] == {"properties": {"owner": "a"}}
    assert second["id"] == first["id"] + 1
    assert ask.register("t", R1).json()["id"] == first["id"] + 2
    assert ask("GET", "/subjects/s/metadata?key=owner&value=a").json()["version"] == 2


def test_settings_that_are_not_sent_stay_and_null_removes(ask: Asking) -> None:
    ask("PUT", "/config/s", {"compatibility": "FULL", "normalize": True})
    assert ask("PUT", "/config/s", {"compatibilityGroup": "g"}).json() == {
        "normalize": True,
        "compatibility": "FULL",
        "compatibilityGroup": "g",
    }
    assert ask("PUT", "/config/s", {"normalize": None}).json() == {"compatibility": "FULL", "compatibilityGroup": "g"}
    assert ask("DELETE", "/config/s").json() == {"compatibilityLevel": "FULL", "compatibilityGroup": "g"}


def test_answers_that_are_prepared_follow_every_change(ask: Asking) -> None:
    ask.register("s", R1)
    assert ask("GET", "/subjects").json() == ask("GET", "/subjects").json() == ["s"]
    assert ask("GET", "/subjects", headers={"Accept": "application/json"}).type == "application/json"
    ask.register("t", R1)
    assert ask("GET", "/subjects").json() == ["s", "t"]


def test_a_policy_that_nobody_knows_is_none(ask: Asking) -> None:
    assert ask("PUT", "/config/s", {"compatibilityPolicy": "lenient"}).json() == {"compatibilityPolicy": "LENIENT"}
    assert ask("PUT", "/config/s", {"compatibilityPolicy": "sometimes"}).json() == {}
