"""A real switch on real brokers, followed through the API and the page: both show every step as it happens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.kit.ends import Ends
from tests.kit.paper_backend import PaperBackend, everything
from tests.kit.switches import IDENTITY, produce, service_running, switching
from tests.kit.waiting import wait_until

from twinlog.config.settings import LinkSettings
from twinlog.errors import SwitchStopped
from twinlog.model.switch.events import OnSwitchEvent
from twinlog.model.switch.log import Command
from twinlog.model.switch.plan import Plan
from twinlog.recovery.report import Report
from twinlog.surface.http.operations import Operation

SETTINGS = {"replication_policy_class": IDENTITY, "switch_grace_seconds": "0"}


@dataclass
class RealSwitches(PaperBackend):
    """Everything on paper but the switch, which is real."""

    ends: Ends | None = None
    folder: Path = Path()

    def links(self) -> list[LinkSettings]:
        assert self.ends is not None
        return [self.ends.link]

    async def switch(self, link: LinkSettings, command: Command, on_event: OnSwitchEvent) -> Report:
        del link
        assert self.ends is not None
        one = switching(self.ends, self.folder, on_event)
        _, plan = await one.plan(command)
        return await one.execute(plan)


@pytest.mark.proves("R14")
def test_the_page_and_the_api_follow_the_steps_of_a_real_switch(make_ends: Callable[..., Ends], tmp_path: Path) -> None:
    ends = make_ends(**SETTINGS)
    topic = ends.create("orders")
    produce(ends.source_cluster.bootstrap_servers, topic, range(50))
    name = ends.link.name
    with (
        service_running(ends, tmp_path) as engine,
        TestClient(everything(RealSwitches(ends=ends, folder=tmp_path))) as client,
    ):
        engine.await_running()
        ends.await_copied(topic)
        _, plan = asyncio.run(switching(ends, tmp_path).plan("failover-planned"))
        wish = {"command": "failover-planned", "confirm": name}
        begun = client.post(f"/v1/links/{name}/switches", json=wish, headers={"Idempotency-Key": "the-only-one"})
        assert begun.status_code == 202, begun.text
        operation = begun.json()["id"]

        def seen() -> dict[str, Any]:
            found: dict[str, Any] = client.get(f"/v1/operations/{operation}").json()
            return found

        def in_the_midst(found: dict[str, Any]) -> bool:
            return any(step["status"] == "running" and step["number"] > 1 for step in found["steps"])

        midst = wait_until(seen, in_the_midst, within_s=60, what="the second step, or a later one")
        shown = unescape(client.get(f"/ui/parts/operations/{operation}").text)
        check_steps(midst, plan)
        assert all(step.title in shown for step in plan.steps)
        assert f"of {len(plan.steps)} steps done" in shown
        ended = wait_until(seen, lambda found: found["status"] != "running", within_s=120, what="the end of the switch")
    assert ended["status"] == "done", ended["error"]
    check_steps(ended, plan)
    assert {step["status"] for step in ended["steps"]} == {"done"}
    # What the page showed of each step is what its journal says.
    assert [step["says"] for step in ended["steps"]] == [step["says"] for step in ended["result"]["steps"]]


def check_steps(operation: dict[str, Any], plan: Plan) -> None:
    """All steps of the plan are there, in order, and are done up to the one that runs."""
    steps = operation["steps"]
    assert [(step["name"], step["title"]) for step in steps] == [(step.id, step.title) for step in plan.steps]
    order = ["done", "running", "to come"]
    places = [order.index(step["status"]) for step in steps]
    assert places == sorted(places)
    assert places.count(1) <= 1


def test_a_switch_that_stops_shows_at_which_step_and_why(make_ends: Callable[..., Ends], tmp_path: Path) -> None:
    """No engine runs the link: a planned failover cannot drain it."""
    ends = make_ends(**SETTINGS)
    topic = ends.create("orders")
    produce(ends.source_cluster.bootstrap_servers, topic, range(5))
    operation = Operation("switch", ends.link.name, {})

    async def run() -> None:
        one = switching(ends, tmp_path, operation.on_switch_event)
        _, plan = await one.plan("failover-planned")
        engine.stop()
        await one.execute(plan)

    with service_running(ends, tmp_path) as engine:
        engine.await_running()
        ends.await_copied(topic)
        with pytest.raises(SwitchStopped):
            asyncio.run(run())
        asyncio.run(switching(ends, tmp_path).abort())
    (failed,) = [step for step in operation.switch.steps if step.status == "failed"]
    assert (failed.name, failed.says) == ("freeze", "no engine runs the link")
    assert {step.status for step in operation.switch.steps if step is not failed} == {"to come"}
