"""Pipelines that never run, with whatever progress a test gives them, and a desk over them for the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from twinlog.control.kind import Offset
from twinlog.control.states import ConnectorStatus, EngineView, State, judge
from twinlog.errors import ConnectorUnknown, ParkedRefused
from twinlog.pipelines.connector import read_connector
from twinlog.pipelines.engine import Engine
from twinlog.pipelines.parked import Parked, Place
from twinlog.pipelines.preview_rows import Preview, StepView
from twinlog.service.pipeline_queries import PipelineView, chosen_of

SINK: Mapping[str, str] = MappingProxyType({"connector.class": "FileStreamSink", "file": "/x", "topics": "t"})


class PaperPlanner:
    """Plans nothing."""

    def plan(self, *_: Any) -> Any: ...

    def heard(self, _: Any) -> None: ...

    def broke(self) -> None: ...

    def has_news(self) -> bool:
        return False

    def again(self) -> None: ...


def paper_engine(config: Mapping[str, str] = SINK, planner: Any = None, name: str = "orders", **counts: int) -> Engine:
    """A pipeline that counted so much in epochs that ended."""
    connector = read_connector(name, dict(config), {})
    engine = Engine(connector, planner or PaperPlanner(), None)  # type: ignore[arg-type]
    engine.progress.counts.update(counts)
    return engine


def letter(place: str, value: bytes, reason: str = "not JSON") -> Parked:
    """A dead letter of orders-0."""
    told = {
        "topic": "orders", "partition": "0", "offset": "17", "stage": "VALUE_CONVERTER",
        "exception.class.name": "org.apache.kafka.connect.errors.DataException", "exception.message": reason,
    }  # fmt: skip
    return Parked(Place.parse(place), b"k-17", value, (), 1_700_000_000_000, told)


@dataclass
class PaperPipelines:
    """The engines of a test, and letters that can be replayed once."""

    running: list[Any] = field(default_factory=list)
    standing: dict[str, State] = field(default_factory=dict)  # pipelines that do not run
    letters: list[Parked] = field(default_factory=list)
    ordered: list[tuple[str, str, list[str], dict[str, bytes]]] = field(default_factory=list)

    def names(self) -> list[str]:
        return sorted([*(one.connector.name for one in self.running), *self.standing])

    def engines(self) -> list[Any]:
        return self.running

    def view(self, name: str) -> PipelineView:
        if name in self.standing:
            status = ConnectorStatus(self.standing[name])
            return PipelineView(name, "sink", "FileStreamSinkConnector", SINK, status, (), None)
        engine = next((one for one in self.running if one.connector.name == name), None)
        if engine is None:
            raise ConnectorUnknown(name, f"Connector {name} not found")
        progress, connector = engine.progress, engine.connector
        phase = {"RUNNING": "running", "FAILED": "waiting"}.get(progress.state, "starting")
        view = EngineView(phase, progress.trace or None, max(1, progress.tasks), progress.troubles())
        status = judge("STARTED", None, view, copies=True)
        class_name = connector.config["connector.class"]
        return PipelineView(name, connector.kind, class_name, connector.config, status, ("t",), engine)

    async def offsets(self, name: str) -> list[Offset]:
        del name
        return [Offset({"kafka_topic": "orders", "kafka_partition": n}, {"kafka_offset": 4711 + n}) for n in range(3)]

    async def parked(self, name: str) -> list[Parked]:
        del name
        return self.letters

    async def replay(self, name: str, at: Sequence[str], repaired: Mapping[str, bytes], to: str | None) -> int:
        del to
        return self._close("replayed", name, at, repaired)

    async def drop(self, name: str, at: Sequence[str]) -> int:
        return self._close("dropped", name, at, {})

    def _close(self, action: Any, name: str, at: Sequence[str], repaired: Mapping[str, bytes]) -> int:
        chosen = chosen_of("orders-dlq", self.letters, at)
        closed = next((one for one in chosen if one.action != "open"), None)
        if closed is not None:
            raise ParkedRefused("orders-dlq", str(closed.place), f"is not open: {closed.action}")
        self.ordered.append((action, name, list(at), dict(repaired)))
        self.letters = [replace(one, action=action) if one in chosen else one for one in self.letters]
        return len(chosen)

    async def preview(self, name: str, rows: int) -> Preview:
        del name
        records = [{"topic": "orders", "key": f"k-{n}", "value": '{"id": "7"}'} for n in range(rows)]
        cast = [{"topic": "orders", "key": f"k-{n}", "value": {"id": 7}} for n in range(rows)]
        steps = [StepView("record", records), StepView("toNumber", cast)]
        return Preview(steps, ["value: JSON without a schema"], ['INSERT INTO "orders" ("id") VALUES (7)'])


def paper_desk() -> PaperPipelines:
    """A sink that lost its database, one that parks, a source that runs, and one that was paused."""
    parks = {**SINK, "tasks.max": "3", "errors.tolerance": "all", "errors.deadletterqueue.topic.name": "orders-dlq"}
    orders = paper_engine(parks, name="orders-to-search", put=1_204_331, failed=3, parked=3)
    orders.progress.state, orders.progress.tasks = "RUNNING", 3
    orders.progress.by_task = {n: {"put": 400 + n} for n in range(3)}
    orders.progress.failed = [
        {"topic": "orders", "partition": 0, "offset": 17, "stage": "VALUE_CONVERTER", "message": "not JSON"}
    ]
    lost = paper_engine(name="payments-to-table", put=90_411)
    lost.progress.fail("ConnectionRefused: the JVM ended")
    lost.progress.restarts, lost.progress.tasks = 1, 2
    lost.progress.sound()
    down = "jdbc:postgresql://db:5432/shop: connection refused"
    lost.progress.take({"task": 1, "end_of": "writer", "waiting": down})
    source = {"connector.class": "FileStreamSource", "file": "/x", "topic": "t"}
    table = paper_engine(source, name="customers", written=18_200)
    table.progress.state, table.progress.tasks = "RUNNING", 1
    letters = [letter(f"0:{n}", b'{"id": "x%d"' % n, f"line 1: the object is not closed ({n})") for n in (7, 8, 9)]
    return PaperPipelines([orders, lost, table], {"old-export": "PAUSED"}, letters)
