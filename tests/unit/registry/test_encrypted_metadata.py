"""Metadata that Confluent encrypts: what is stored keeps its identity, and nothing sensitive is written in plain."""

from __future__ import annotations

import base64
import json

import pytest
from tests.unit.registry.asking import Asking

from twinlog.registry.content import Content, metadata_of
from twinlog.registry.records import SchemaValue, decode_schema, schema_record
from twinlog.registry.rules import Rules
from twinlog.registry.state import State

SENSITIVE = {"properties": {"secret": "s"}, "sensitive": ["secret"]}
PLAIN = Content("AVRO", '"int"', (), metadata_of(SENSITIVE))


def _encrypted() -> bytes:
    document = {
        "subject": "s",
        "version": 1,
        "id": 1,
        "md5": base64.b64encode(PLAIN.digest).decode(),
        "schemaType": "AVRO",
        "metadata": {"properties": {"__enc__": "true", "secret": "AXsF"}, "sensitive": ["secret"]},
        "schema": '"int"',
        "deleted": False,
    }
    return json.dumps(document, separators=(",", ":")).encode()


def test_the_identity_is_that_of_the_plain_text() -> None:
    assert decode_schema(_encrypted()).content.guid == PLAIN.guid


def test_a_record_is_written_again_byte_by_byte() -> None:
    assert schema_record(decode_schema(_encrypted())).value == _encrypted()


@pytest.mark.parametrize("digest", ["no base64!", "eA=="])
def test_an_identity_that_is_none_is_a_named_fault(digest: str) -> None:
    value = json.dumps({**json.loads(_encrypted()), "md5": digest}).encode()
    record = schema_record(SchemaValue("s", 1, 1, PLAIN, deleted=False))
    fault = State().apply(record.key, value, 0, 0)
    assert fault is not None
    assert "md5" in fault.reason


@pytest.mark.parametrize("mode", ["READWRITE", "IMPORT"])
def test_sensitive_metadata_is_refused_where_the_file_wants_it_encrypted(mode: str) -> None:
    ask = Asking(rules=Rules(encrypts=True))
    ask("PUT", "/mode/s", {"mode": mode})
    more = {"id": 7, "version": 1} if mode == "IMPORT" else {}
    refused = ask.register("s", '"int"', metadata=SENSITIVE, **more)
    assert (refused.status, refused.json()["error_code"]) == (422, 42205)
    assert "metadata.encoder.secret" in refused.json()["message"]
    assert ask.register("s", '"int"', metadata={"properties": {"open": "o"}}, **more).status == 200


def test_it_is_stored_as_sent_where_the_file_does_not() -> None:
    assert Asking().register("s", '"int"', metadata=SENSITIVE).json()["guid"] == PLAIN.guid
