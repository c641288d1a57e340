"""Bad input to the registry: the right code, nothing lost, nothing hangs, and never a 500."""

from __future__ import annotations

import contextlib
import json
import time
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.unit.registry.asking import Asking, record

KEPT = Asking()
KEPT.register("s", record("R", a="int"))
_json: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
_fields = st.sampled_from(
    ["schema", "schemaType", "references", "metadata", "ruleSet", "id", "version", "compatibility", "mode", "alias"]
)
_names = st.text(max_size=12).map(lambda text: quote(text, safe="")) | st.sampled_from(
    ["s", "latest", "1", ":.x:", ":*:"]
)
_paths = st.one_of(
    st.builds(lambda a: f"/subjects/{a}/versions", _names),
    st.builds(lambda a, b: f"/subjects/{a}/versions/{b}", _names, _names),
    st.builds(lambda a: f"/subjects/{a}", _names),
    st.builds(lambda a: f"/config/{a}", _names),
    st.builds(lambda a: f"/mode/{a}", _names),
    st.builds(lambda a, b: f"/contexts/{a}/subjects/{b}/versions", _names, _names),
    st.builds(lambda a: f"/compatibility/subjects/{a}/versions/latest", _names),
    st.builds(lambda a: f"/schemas/ids/{a}?subject={a}&format={a}&limit={a}", _names),
    st.builds(lambda a: f"/schemas/guids/{a}", _names),
)


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(["GET", "POST", "PUT", "DELETE", "HEAD"]),
    _paths,
    st.dictionaries(_fields, _json, max_size=4) | _json,
)
def test_no_request_is_answered_with_an_internal_error(method: str, path: str, body: object) -> None:
    answer = KEPT(method, path, body)
    assert answer.status < 500, answer


@given(st.binary(max_size=80))
@settings(deadline=None)
def test_bytes_that_are_no_json_are_refused(raw: bytes) -> None:
    with contextlib.suppress(ValueError):
        assume(not isinstance(json.loads(raw), dict))  # an object without a schema asks for the newest version
    assert KEPT("POST", "/subjects/s/versions", raw=raw).status in {400, 422}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('"' + "x" * 10_000_000 + '"', 42209),
        ("[" * 200_000, 42201),
        (json.dumps({"type": "record", "name": "B", "doc": "x" * 1_500_000, "fields": []}), 42209),
    ],
)
def test_a_schema_that_is_too_large_or_too_deep_is_refused_soon(text: str, code: int) -> None:
    began = time.monotonic()
    answer = KEPT("POST", "/subjects/big/versions", {"schema": text})
    assert answer.json()["error_code"] == code
    assert time.monotonic() - began < 10
    assert KEPT("GET", "/subjects/big/versions").status == 404


def test_a_body_beyond_the_limit_is_not_read() -> None:
    assert KEPT("POST", "/subjects/s/versions", raw=b"x" * (17 << 20)).status == 413
