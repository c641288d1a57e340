"""The records that requests leave in the topic are those that a Confluent registry 8.1.1 left, byte by byte."""

from __future__ import annotations

import json
import re

import pytest
from tests.unit.registry.asking import Asking
from tests.unit.registry.recorded import FOLDER


@pytest.mark.proves("R22")
def test_the_same_requests_leave_the_same_bytes_in_the_topic() -> None:
    ask, asked = Asking(), set[str]()
    for line in (FOLDER / "confluent-registry-answers.jsonl").open():
        one = json.loads(line)
        sent = one["request"]
        raw = None if sent is None else sent.encode() if isinstance(sent, str) else json.dumps(sent).encode()
        given = {name: value for name, value in (one.get("headers") or {}).items() if value is not None}
        ask(one["method"], one["path"], raw=raw, headers=given)
        if one["path"].startswith("/subjects/"):
            asked.add(one["path"].split("/")[2])
    ours = {written.key: written.value for written in ask.store.log}
    different, compared = [], 0
    for line in (FOLDER / "confluent-schemas-topic.jsonl").open():
        one = json.loads(line)
        subject = json.loads(one["key"]).get("subject")
        if subject == "canonn7" or (subject is not None and subject not in asked):
            continue  # normalized otherwise on purpose; both recordings are parts of a longer one
        compared += 1
        value = ours.get(one["key"].encode(), b"no such key")
        expected, found = one["value"], None if value is None else value.decode()
        if expected is not None and found is not None:  # ids behind the one that we do not give are one lower
            expected, found = (re.sub(r'"id":\d+', '"id":0', text) for text in (expected, found))
        if expected != found:
            different.append((one["key"], expected, found))
    assert not different
    assert compared > 50
