"""A link names the home in the target's topic before it copies; what the target registered itself forbids it."""

from __future__ import annotations

import asyncio
import json

import pytest

from twinlog.registry.memory import MemoryStore
from twinlog.registry.pair.home import Home
from twinlog.registry.pair.index import TopicIndex
from twinlog.registry.pair.orders import Claim
from twinlog.registry.parsing import Parser
from twinlog.registry.requests import SchemaRequest
from twinlog.registry.rules import Rules
from twinlog.registry.writes.register import Register

RULES, PARSER = Rules(default_level="NONE"), Parser()
A = Home("A", 0, 10)


def _registered(*schemas: tuple[str, int]) -> MemoryStore:
    store = MemoryStore()
    for subject, size in schemas:
        text = json.dumps({"type": "fixed", "name": "F", "size": size}, separators=(",", ":"))
        asyncio.run(store.submit(Register(SchemaRequest(subject, text), normalize=False, parser=PARSER, rules=RULES)))
    return store


def _index(store: MemoryStore) -> TopicIndex:
    index = TopicIndex()
    for offset, record in enumerate(store.log):
        index.apply(record.key, record.value, offset)
    return index


def _claimed(home: MemoryStore, copy: MemoryStore) -> str | None:
    answer = asyncio.run(copy.submit(Claim(_index(home), A))).plan.answer
    assert answer is None or isinstance(answer, str)
    return answer


@pytest.mark.proves("R25")
def test_an_empty_topic_gets_its_home_once() -> None:
    home, copy = _registered(("a", 1)), MemoryStore()
    assert _claimed(home, copy) is None
    assert copy.state.home == A
    written = len(copy.log)
    assert _claimed(home, copy) is None
    assert len(copy.log) == written


def test_a_part_of_the_home_is_no_schema_of_its_own() -> None:
    home = _registered(("a", 1), ("a", 2))
    copy = _registered(("a", 1))
    assert _claimed(home, copy) is None
    assert copy.state.home == A


@pytest.mark.proves("R27")
@pytest.mark.parametrize(
    "own",
    [
        pytest.param(("b", 1), id="another subject"),
        pytest.param(("a", 2), id="the same subject, version and id, another schema"),
    ],
)
def test_a_schema_of_its_own_is_named_and_nothing_is_written(own: tuple[str, int]) -> None:
    home, copy = _registered(("a", 1)), _registered(own)
    written = len(copy.log)
    problem = _claimed(home, copy)
    assert problem == f"{own[0]} version 1 (id 1) was registered there"
    assert (copy.state.home, len(copy.log)) == (None, written)
