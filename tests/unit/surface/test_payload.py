"""Keys and values as people read them: text, JSON, Avro by its schema, bytes; whatever a producer wrote."""

from __future__ import annotations

import io
import json

import fastavro
from hypothesis import given
from hypothesis import strategies as st

from twinlog.sync.answers.payload import SHOWN_BYTES, Schema, framed_id, readable

ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": "id", "type": "long"}, {"name": "raw", "type": "bytes"}],
}


def none(_: int) -> None:
    return None


def test_avro_is_decoded_by_the_schema_that_the_frame_names():
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(ORDER), {"id": 7, "raw": b"\x01"})
    data = b"\x00" + (42).to_bytes(4, "big") + out.getvalue()
    assert framed_id(data) == 42
    found = readable(data, {42: Schema("AVRO", json.dumps(ORDER))}.get)
    assert (found.form, json.loads(found.text)) == ("Avro, schema 42", {"id": 7, "raw": "01"})
    assert readable(data, none).form == "bytes", "without a registry it is what it is"
    assert "does not fit" in readable(data[:5] + b"\xff", {42: Schema("AVRO", json.dumps(ORDER))}.get).form


def test_json_text_null_and_bytes():
    assert readable(b'{"a": 1}', none)[1:3] == ("JSON", '{\n  "a": 1\n}')
    assert readable(b"plain", none)[1:3] == ("text", "plain")
    assert readable(None, none).size is None
    assert readable(b"\x00\xff", none)[1:4] == ("bytes", "", "00 ff")
    assert readable(b"", none)[:3] == (0, "text", "")


@given(
    st.binary(max_size=3 * SHOWN_BYTES),
    st.sampled_from([None, Schema("AVRO", json.dumps(ORDER)), Schema("JSON", "{}"), Schema("AVRO", "?")]),
)
def test_any_bytes_get_an_answer_of_bounded_size(data: bytes, schema: Schema | None):
    found = readable(data, lambda _: schema)
    assert found.size == len(data)
    assert len(found.text) <= SHOWN_BYTES
    assert len(found.hex) <= 3 * SHOWN_BYTES
