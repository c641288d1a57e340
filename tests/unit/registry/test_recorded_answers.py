"""The answers that a Confluent registry 8.1.1 gave are given again, byte by byte.

Ids are compared by what they mean: where one schema is deliberately another one here, later ids are shifted.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from tests.unit.registry.asking import Asking
from tests.unit.registry.recorded import FOLDER

LEAST_EQUAL = 0.98
DIFFERENT = {
    "GET /v1/metadata/id": "the id of another cluster",
    "GET /v1/metadata/version": "the recorded build had no version",
    "GET /schemas/ids/999/schema": "Confluent answers 500 for an unknown id; the right answer is 404",
    "POST /subjects/canonn7/versions?normalize=true": "Confluent moves a type into another namespace; here it stays",
    "GET /subjects/canonn7/versions/latest": "the same type",
}
"""Deliberate differences with their reasons."""

HEADERS = {406: {"accept": "text/html"}, 415: {"content-type": "text/plain"}}
"""Headers of requests were not recorded; these two statuses say what they were."""


class Ids:
    """Which id here means the same as an id there."""

    def __init__(self) -> None:
        self._own: dict[int, int] = {}

    def learn(self, theirs: Any, ours: Any) -> None:
        if isinstance(theirs, dict) and isinstance(ours, dict) and isinstance(theirs.get("id"), int):
            self._own[theirs["id"]] = ours.get("id", -1)

    def translated(self, answer: str) -> str:
        return re.sub(r'"id":(\d+)', lambda found: f'"id":{self._own.get(int(found[1]), int(found[1]))}', answer)


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _masked(text: str) -> str:
    return re.sub(r'"ts":\d+', '"ts":0', text)


@pytest.fixture(scope="module")
def played() -> list[tuple[str, bool]]:
    """Each request with whether the answer was equal."""
    ask, ids, results = Asking(), Ids(), []
    for line in (FOLDER / "confluent-registry-answers.jsonl").read_text("utf-8").strip().split("\n"):
        recorded = json.loads(line)
        body = recorded["request"]
        raw = body.encode() if isinstance(body, str) else None
        headers = HEADERS.get(recorded["status"], {})
        answer = ask(recorded["method"], recorded["path"], body, headers, raw)
        if recorded["method"] == "POST" and recorded["path"].partition("?")[0].endswith("/versions"):
            ids.learn(_loaded(recorded["answer"]), _loaded(answer.body))
        expected = ids.translated(_masked(recorded["answer"]))
        equal = (answer.status, _masked(answer.body)) == (recorded["status"], expected)
        results.append((f"{recorded['method']} {recorded['path']}", equal))
    return results


@pytest.mark.proves("R23")
def test_nearly_all_answers_are_equal(played: list[tuple[str, bool]]) -> None:
    assert len(played) > 200
    assert sum(equal for _, equal in played) / len(played) >= LEAST_EQUAL - len(DIFFERENT) / len(played)


def test_every_difference_has_a_reason(played: list[tuple[str, bool]]) -> None:
    assert sorted({name for name, equal in played if not equal}) == sorted(DIFFERENT)
