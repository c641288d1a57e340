"""Kinds of connectors: one entry in one list, and everything else finds it there; one plan per order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from tests.kit.connect_paper import PaperService, PaperTopic, asked
from tests.kit.waiting import wait_until

from twinlog.config.resolve import Resolved
from twinlog.control import kinds
from twinlog.control.grounds import Grounds
from twinlog.control.kind import (
    ConnectorType,
    Definition,
    Kind,
    Offset,
    OffsetsChange,
    OtherPlugin,
    Part,
    Role,
    StateOf,
    Subject,
)
from twinlog.control.states import ConnectorStatus, judge
from twinlog.errors import Finding
from twinlog.model.connectors import Connector

LINK = {
    "connector.class": "MirrorSourceConnector",
    "source.cluster.alias": "A",
    "target.cluster.alias": "B",
    "source.cluster.bootstrap.servers": "a:9092",
    "target.cluster.bootstrap.servers": "b:9092",
}


@dataclass(frozen=True)
class Tap:
    """What the job of a sink of this test runs."""

    name: str
    litres: str


@dataclass(frozen=True)
class SinkKind:
    """A kind that is no link: it writes water."""

    class_name: str = "org.example.WaterSinkConnector"
    type: ConnectorType = "sink"
    role: Role = "pipeline"
    may_come_first: bool = False

    def is_called(self, name: str) -> bool:
        return name in {self.class_name, "WaterSink"}

    def try_out(self, connector: Connector, grounds: Grounds) -> tuple[Finding, ...]:
        del connector, grounds
        return ()

    def about(self, connector: Connector) -> str:
        return connector.name

    def job(self, connector: Connector) -> str:
        return f"pipeline {connector.name}"

    def definitions(self) -> Sequence[Definition]:
        return [Definition("topics", "LIST", required=True), Definition("litres", "INT", "1", "How much.")]

    def check(self, connector: Connector, grounds: Grounds) -> tuple[Finding, ...]:
        del grounds
        good = connector.config.get("litres", "1").isdecimal()
        return () if good else (Finding("error", "", None, "litres", "is no number"),)

    def status(self, subject: Subject) -> ConnectorStatus:
        snapshot = subject.runner.snapshot(self.job(subject.connector)) if subject.active else None
        return judge(subject.connector.state, subject.plan.troubles.get(subject.name), snapshot, copies=True)

    async def topics(self, subject: Subject) -> list[str]:
        return subject.connector.config["topics"].split(",")

    async def offsets(self, subject: Subject) -> list[Offset]:
        return [
            Offset({"kafka_topic": topic, "kafka_partition": 0}, {"kafka_offset": 7})
            for topic in await self.topics(subject)
        ]

    async def change_offsets(self, subject: Subject, wanted: Sequence[Offset] | None) -> OffsetsChange | None:
        del subject, wanted
        return None


@dataclass(frozen=True)
class SinkFamily:
    def kinds(self) -> Sequence[Kind]:
        return [SinkKind()]

    def other_plugins(self) -> Sequence[OtherPlugin]:
        return []

    def in_file(self, file: Resolved) -> list[Connector]:
        del file
        return []

    def plan(self, file: Resolved | None, stored: Sequence[Connector], state_of: StateOf, grounds: Grounds) -> Part:
        del file, state_of, grounds
        specs = {f"pipeline {one.name}": Tap(f"pipeline {one.name}", one.config.get("litres", "1")) for one in stored}
        running = [specs[f"pipeline {one.name}"] for one in stored if one.state == "STARTED"]
        return Part(tuple(running), specs)


@pytest.fixture
def with_sinks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(kinds, "FAMILIES", (*kinds.FAMILIES, SinkFamily()))
    kinds.all_kinds.cache_clear()
    yield
    kinds.all_kinds.cache_clear()


@pytest.mark.usefixtures("with_sinks")
def test_a_kind_is_one_entry_in_one_list() -> None:
    service = PaperService(PaperTopic())
    with asked(service) as client:
        plugins = {one["class"]: one["type"] for one in client.get("/connector-plugins").json()}
        assert plugins["org.example.WaterSinkConnector"] == "sink"
        assert plugins["org.apache.kafka.connect.mirror.MirrorSourceConnector"] == "source"
        listed = client.get("/connector-plugins/WaterSink/config").json()
        assert [(one["name"], one["type"], one["required"]) for one in listed] == [
            ("topics", "LIST", True),
            ("litres", "INT", False),
        ]
        wrong = {"name": "w", "connector.class": "WaterSink", "litres": "much"}
        checked = client.put("/connector-plugins/WaterSink/config/validate", json=wrong).json()
        assert checked["error_count"] == 1
        assert [one["value"]["errors"] for one in checked["configs"] if one["value"]["name"] == "litres"] == [
            ["is no number"]
        ]
        assert client.post("/connectors", json={"name": "w", "config": wrong}).status_code == 400
        right = {"connector.class": "WaterSink", "litres": "3", "topics": "rain,snow"}
        assert client.post("/connectors", json={"name": "w", "config": right}).status_code == 201
        assert client.get("/connectors/w").json()["type"] == "sink"
        assert client.get("/connectors/w/status").json()["type"] == "sink"
        assert client.get("/connectors/w/topics").json() == {"w": {"topics": ["rain", "snow"]}}
        assert client.get("/connectors/w/offsets").json()["offsets"][1] == {
            "partition": {"kafka_topic": "snow", "kafka_partition": 0},
            "offset": {"kafka_offset": 7},
        }
        wait_until(
            lambda: service.runner.others, lambda found: found == [Tap("pipeline w", "3")], within_s=10, what="a job"
        )
        assert client.put("/connectors/w/stop").status_code == 204
        assert client.delete("/connectors/w/offsets").status_code == 200
        wait_until(lambda: service.runner.others, lambda found: found == [], within_s=10, what="the end of the job")


def test_a_connector_of_a_class_that_nobody_has_stops_only_itself() -> None:
    """A later version wrote it, and this one reads it."""
    topic = PaperTopic()
    topic.plant(*topic.group_state.config_record("new", {"name": "new", "connector.class": "org.example.Later"}))
    service = PaperService(topic)
    with asked(service) as client:
        assert client.post("/connectors", json={"name": "c", "config": LINK}).status_code == 201
        wait_until(lambda: list(service.runner.links), lambda names: names == ["A->B"], within_s=10, what="the link")
        found = client.get("/connectors/new/status").json()
        assert (found["type"], found["connector"]["state"]) == ("unknown", "FAILED")
        assert "org.example.Later" in found["connector"]["trace"]
        assert client.get("/connectors/c/status").json()["connector"]["state"] == "RUNNING"
        assert client.delete("/connectors/new").status_code == 204


def test_one_plan_is_made_per_order() -> None:
    service = PaperService(PaperTopic())
    planning = service.control.planning

    def made_by(order: Any, *, links: list[str]) -> int:
        before = planning.made
        assert order().status_code < 300
        wait_until(lambda: list(service.runner.links), lambda names: names == links, within_s=10, what="it is in force")
        return planning.made - before

    with asked(service) as client:
        wait_until(lambda: planning.made, lambda made: made >= 2, within_s=10, what="the plan of the start")
        assert made_by(lambda: client.post("/connectors", json={"name": "c", "config": LINK}), links=["A->B"]) == 1
        changed = {**LINK, "target.cluster.alias": "C", "topics": "orders"}
        assert made_by(lambda: client.put("/connectors/c/config", json=changed), links=["A->C"]) == 1
        assert made_by(lambda: client.put("/connectors/c/pause"), links=[]) == 1
        assert made_by(lambda: client.put("/connectors/c/resume"), links=["A->C"]) == 1
        assert made_by(lambda: client.delete("/connectors/c"), links=[]) == 1
