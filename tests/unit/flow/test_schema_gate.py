"""Records wait for the schemas that were registered before them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest
from tests.kit.waiting import rounds_of_the_loop, until

from twinlog.config.registry_mirror import RegistryMirror
from twinlog.flow import schema_gate
from twinlog.flow.parcel import FLUSH, Parcel
from twinlog.flow.parcel_queue import ParcelQueue
from twinlog.flow.schema_copies import MirroredSchemas, SchemasBroughtAhead
from twinlog.flow.schema_gate import SchemaGate
from twinlog.ledger.view import LedgerView
from twinlog.model.ledger.records import SCHEMAS_AHEAD, FaultEntry, Memo, PartitionState, RosterTopic
from twinlog.model.names import TopicPartition

SCHEMAS = TopicPartition("_schemas", 0)
ROSTER = {"_schemas": RosterTopic(topic="_schemas", source_id="s", remote="_schemas", target_id="t", origins=[0])}


class Sent:
    """Takes the place of the queue to Spark."""

    limit = 1000

    def __init__(self) -> None:
        self.items: list[Any] = []

    def put(self, item: Any) -> None:
        self.items.append(item)

    @property
    def records(self) -> list[int]:
        return [item.first for item in self.items if item is not FLUSH]


class Source:
    """A source whose topic of schemas ends somewhere."""

    def __init__(self, end: int) -> None:
        self.end = end
        self.topics: dict[str, object] = {}

    def leader(self, _topic: str, _partition: int) -> object:
        return self

    async def ask(self, *_: object) -> int:
        await asyncio.sleep(0)
        return self.end


def data(first: int, topic: str = "orders") -> Parcel:
    return Parcel(TopicPartition(topic, 0), first, first + 1, "data", b"x" * 10)


def mirrored(gate: SchemaGate) -> MirroredSchemas:
    assert isinstance(gate.copy, MirroredSchemas)
    return gate.copy


def copied(gate: SchemaGate, upto: int) -> None:
    view = mirrored(gate).ledger
    entry = ROSTER["_schemas"]
    view.states[SCHEMAS] = PartitionState(
        topic="_schemas",
        partition=0,
        incarnation=entry.incarnation,
        source_first=0,
        source_next=upto,
        target_first=0,
        target_next=upto,
        producer_id=1,
        phase="copying",
    )


def play(
    story: Callable[[SchemaGate, Sent, Source], Any],
    monkeypatch: pytest.MonkeyPatch,
    *,
    pauses: bool = False,
    **settings: Any,
) -> None:
    """Without pauses the gate looks in every round of the loop."""
    if not pauses:
        monkeypatch.setattr(schema_gate, "_LOOK_S", 0.0)
        monkeypatch.setattr(schema_gate, "_AGAIN_S", 0.0)

    async def main() -> None:
        source, sent = Source(5), Sent()
        monkeypatch.setattr(schema_gate, "fetch_offset", source.ask)
        registry = RegistryMirror(mirrored=True, **settings)
        copy = MirroredSchemas(registry, dict(ROSTER), LedgerView({}))
        gate = SchemaGate(registry, cast("Any", source), cast("ParcelQueue", sent), copy)
        running = asyncio.create_task(gate.run())
        try:
            await story(gate, sent, source)
        finally:
            running.cancel()

    asyncio.run(main())


def test_a_record_goes_on_when_the_schemas_before_it_are_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(gate: SchemaGate, sent: Sent, _source: Source) -> None:
        copied(gate, 4)
        gate.put(data(1))
        gate.put(data(2))
        await rounds_of_the_loop()
        assert sent.records == []
        copied(gate, 5)
        await rounds_of_the_loop()
        assert sent.records == [1, 2]
        assert sent.items[-1] is FLUSH

    play(story, monkeypatch)


def test_a_record_that_came_after_the_question_waits_for_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(gate: SchemaGate, sent: Sent, source: Source) -> None:
        copied(gate, 4)
        gate.put(data(1))
        await rounds_of_the_loop()
        source.end = 7  # a schema is registered, then the second record is written
        gate.put(data(2))
        copied(gate, 5)
        await rounds_of_the_loop()
        assert sent.records == [1]
        copied(gate, 7)
        await rounds_of_the_loop()
        assert sent.records == [1, 2]

    play(story, monkeypatch)


def test_many_fetches_share_one_question(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(gate: SchemaGate, sent: Sent, _source: Source) -> None:
        copied(gate, 5)
        for number in range(1000):
            gate.put(data(number))
            await asyncio.sleep(0)
        await until(lambda: sent.records == list(range(1000)))
        assert gate.looks < 30

    play(story, monkeypatch, pauses=True)


def test_schemas_and_what_pushes_them_wait_for_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(gate: SchemaGate, sent: Sent, _source: Source) -> None:
        gate.put(data(1))
        gate.put(data(9, "_schemas"))
        gate.put(FLUSH)
        assert sent.items == [data(9, "_schemas"), FLUSH]

    play(story, monkeypatch)


def test_without_a_mirrored_registry_nothing_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(gate: SchemaGate, sent: Sent, _source: Source) -> None:
        problem = FaultEntry(code="REGISTRY_NOT_MIRRORED", says="", remedy="", since_ms=0)
        mirrored(gate).roster["_schemas"] = ROSTER["_schemas"].model_copy(update={"problem": problem})
        gate.put(data(1))
        assert sent.records == [1]
        mirrored(gate).roster.clear()
        gate.put(data(2))
        assert sent.records == [1, 2]

    play(story, monkeypatch)


def test_records_go_on_after_the_limit_and_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(gate: SchemaGate, sent: Sent, _source: Source) -> None:
        copied(gate, 3)
        gate.put(data(1))
        await until(lambda: sent.records == [1])
        (said,) = gate.says(1e12)
        assert "3 of 5" in said
        assert "continue without them" in said
        gate.put(data(2))
        await rounds_of_the_loop()
        assert sent.records == [1, 2]
        copied(gate, 5)
        gate.put(data(3))
        await rounds_of_the_loop()
        assert gate.says(1e12) == []

    play(story, monkeypatch, gate_ms=200)


def test_what_waits_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(gate: SchemaGate, _sent: Sent, _source: Source) -> None:
        for number in range(101):
            gate.put(data(number))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await gate.wait_for_room()

    play(story, monkeypatch)


@pytest.mark.proves("R26")
def test_on_a_way_back_records_wait_until_new_schemas_are_at_the_old_home(monkeypatch: pytest.MonkeyPatch) -> None:
    view = LedgerView({})

    def brought(position: int) -> None:
        memo = Memo(chore=SCHEMAS_AHEAD, name="brought", body={"position": position})
        view.memos[SCHEMAS_AHEAD] = {memo.name: memo}

    async def story(gate: SchemaGate, sent: Sent, _source: Source) -> None:
        gate.copy = SchemasBroughtAhead(view)
        gate.put(data(1))  # nobody brings schemas: nothing waits
        assert sent.records == [1]
        brought(4)
        gate.put(data(2))
        await rounds_of_the_loop()
        assert sent.records == [1]
        brought(5)
        await rounds_of_the_loop()
        assert sent.records == [1, 2]
        view.memos[SCHEMAS_AHEAD].clear()  # the failback has merged everything
        gate.put(data(3))
        assert sent.records == [1, 2, 3]

    play(story, monkeypatch)
