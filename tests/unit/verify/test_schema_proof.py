"""Sampled records against both registries: planted faults are found, and none is invented."""

from __future__ import annotations

import asyncio
import io
import json
import struct
from typing import Any

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.model.verify.report import VerifyReport
from twinlog.model.verify.schemas import SchemaProof
from twinlog.registry.memory import MemoryStore
from twinlog.registry.pair.sampling import Sample
from twinlog.registry.protobuf_messages import class_of, file_of, message_at
from twinlog.surface.registry.exchange import Request
from twinlog.surface.registry.registry import Registry
from twinlog.surface.registry.writing import register
from twinlog.verify.schema_proof import Schemas, proof_of
from twinlog.wire.codec import PlainRecord

ORDER = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "string"}, {"name": "n", "type": "long"}]}
PAYMENT = 'syntax = "proto3"; message A { int32 x = 1; } message Payment { string id = 1; fixed64 cents = 2; }'


def _registered(*schemas: tuple[str, Any, str]) -> Schemas:
    store = MemoryStore()
    for subject, schema, kind in schemas:
        text = schema if isinstance(schema, str) else json.dumps(schema)
        body = json.dumps({"schema": text, "schemaType": kind}).encode()
        asyncio.run(register(Registry(store), Request("POST", ["subjects", subject, "versions"], {}, {}, body)))
    found = Schemas()
    for offset, record in enumerate(store.log):
        found.take(record.key, record.value, offset)
    return found


def _sample(topic: str, *values: bytes) -> Sample:
    sample = Sample(topic)
    for offset, value in enumerate(values):
        sample.take(PlainRecord(offset, 0, None, value, []))
    return sample


def _avro(number: int, **fields: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(ORDER, _force=True), fields)
    return struct.pack(">bI", 0, number) + out.getvalue()


BOTH = (
    ("orders-value", ORDER, "AVRO"),
    ("clicks-value", {"type": "object"}, "JSON"),
    ("pay-value", PAYMENT, "PROTOBUF"),
)


@given(st.lists(st.tuples(st.text(max_size=20), st.integers(-(2**63), 2**63 - 1)), min_size=1, max_size=10))
def test_what_a_serializer_wrote_is_decoded(rows: list[tuple[str, int]]) -> None:
    schemas = _registered(*BOTH)
    proof = proof_of([_sample("orders", *(_avro(1, id=name, n=n) for name, n in rows))], schemas, schemas, "west")
    assert proof == SchemaProof(1, len(rows), 1, len(rows), 0)


def test_json_and_protobuf_are_decoded() -> None:
    schemas = _registered(*BOTH)
    message = class_of(message_at(file_of(PAYMENT, ()), (1,)))(id="p", cents=5).SerializeToString()
    click, payment = b"\0\0\0\0\2" + b'{"a": 1}', b"\0\0\0\0\3" + b"\x02\x02" + message
    proof = proof_of([_sample("clicks", click), _sample("pay", payment)], schemas, schemas, "west")
    assert (proof.decoded, proof.problems) == (2, ())
    cut = proof_of([_sample("clicks", click[:-1]), _sample("pay", payment[:-3])], schemas, schemas, "west")
    assert cut.decoded == 0
    assert len(cut.problems) == 2


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (_avro(77, id="a", n=1), "id 77 in 1 sampled records is known on neither side"),
        (_avro(1, id="abc", n=1)[:-2], "1 of 1 records with id 1 are not what its schema says"),
        (_avro(1, id="abc", n=1) + b"x", "1 bytes are left over"),
    ],
)
def test_planted_faults_are_found(value: bytes, says: str) -> None:
    schemas = _registered(*BOTH)
    proof = proof_of([_sample("orders", value)], schemas, schemas, "west")
    assert any(says in problem for problem in proof.problems), proof.problems


def test_one_id_with_two_schemas_and_one_that_did_not_arrive() -> None:
    home = _registered(*BOTH, ("late-value", '"long"', "AVRO"))
    copy = _registered(("orders-value", '"string"', "AVRO"), *BOTH[1:])
    sample = _sample("orders", b"\0\0\0\0\1\2a"), _sample("clicks", b"\0\0\0\0\4\2")
    proof = proof_of(list(sample), home, copy, "west")
    assert "id 1 in 1 sampled records stands for another schema on west" in proof.problems[0]
    assert "id 4 in 1 sampled records is not known on west" in proof.problems[1]


def test_bytes_that_only_look_like_an_id_are_no_problem() -> None:
    schemas = _registered(*BOTH)
    proof = proof_of([_sample("pictures", b"\0\1\2\3\4\5", b"plain")], schemas, schemas, "west")
    assert proof == SchemaProof(0, 2, 0, 0, 0)
    assert proof.sentence() == "2 sampled records carry no schema id"


def test_a_schema_that_the_decoder_cannot_read_is_said_and_is_no_problem() -> None:
    """Its reference leads nowhere."""
    key = b'{"keytype":"SCHEMA","subject":"odd-value","version":1,"magic":1}'
    schemas = Schemas()
    value = {"subject": "odd-value", "version": 1, "id": 1, "schema": '{"type":"array","items":"Gone"}'}
    value |= {"references": [{"name": "Gone", "subject": "gone", "version": 1}], "deleted": False}
    schemas.take(key, json.dumps(value).encode(), 0)
    proof = proof_of([_sample("odd", b"\0\0\0\0\1")], schemas, schemas, "west")
    assert (proof.decoded, proof.unchecked, proof.problems) == (0, 1, ())


def test_a_report_with_unreadable_records_is_not_equal() -> None:
    report = VerifyReport("a->b", "all topics", 0, chunks=1, totals={"equal": 5})
    assert report.equal
    report.schemas = SchemaProof(1, 1, 1, 0, 0, ("orders: id 7 is not known on b",))
    assert not report.equal
    assert "id 7 is not known" in report.verdict()
    assert "id 7 is not known" in report.as_markdown()
    assert report.as_json()["schemas"]["problems"] == ["orders: id 7 is not known on b"]
