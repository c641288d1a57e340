"""A decision that the owner of the standby plants there: with switch.secret it stops nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Producer
from tests.kit.ends import Ends
from tests.kit.switches import switching
from tests.kit.threads import ThreadedEngine, engine_running
from tests.kit.waiting import wait_until
from typer.testing import CliRunner

from twinlog.kafka.client_options import client_options
from twinlog.ledger.switch_log import ensure_switch_topic
from twinlog.model.names import LinkName
from twinlog.model.naming import SWITCH_TOPIC
from twinlog.model.switch.log import StateEntry, pair_of
from twinlog.surface.cli.main import app


def plant(ends: Ends) -> None:
    """Hold the link and have the source shut, by a record that nobody signed."""
    entry = StateEntry(
        pair=pair_of(LinkName(ends.alias, "T")),
        generation=99,
        active="T",
        links={ends.link.name: "held"},
        fence_on_return={ends.alias: "topic-config"},
        why="planted",
    )
    producer = Producer({**client_options(ends.link.clients.target_admin)})
    producer.produce(SWITCH_TOPIC, entry.value(), entry.pair)
    assert producer.flush(30) == 0


@pytest.mark.proves("R8")
def test_a_planted_decision_holds_no_link_whose_log_is_signed(
    make_ends: Callable[..., Ends], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ends = make_ends(switch_secret="shared by both sites")
    topic = ends.create("orders")
    load = ends.load(topic)
    load.produce(20)
    assert asyncio.run(switching(ends, tmp_path).sign()).active == ends.alias
    with engine_running(ends.link, tmp_path) as engine:
        ends.await_copied(topic)
        plant(ends)
        wait_until(lambda: caplog.text, lambda text: "does not count: state planted" in text, within_s=30, what="it")
        load.produce(20)
        ends.await_copied(topic)
        assert engine.engine.phase == "running"
    ends.check(topic)


@pytest.mark.proves("R14")
def test_a_link_with_a_secret_stands_still_while_no_decision_is_signed(
    make_ends: Callable[..., Ends], tmp_path: Path
) -> None:
    """A failover may have been done before the secret was set: whoever copies then writes into the active side."""
    ends = make_ends(switch_secret="set after a failover")
    ends.create("orders")
    ensure_switch_topic(ends.target, 1)
    plant(ends)
    engine = ThreadedEngine(ends.link, tmp_path)

    def trouble() -> str:
        return engine.engine.trouble or ""

    try:
        wait_until(trouble, lambda told: "is signed with switch.secret" in told, within_s=30, what="the reason")
        assert f"twinlog switch sign '{ends.link.name}'" in trouble()
        words = ["switch", "sign", ends.link.name, "-c", str(ends.write_file(tmp_path)), "--yes"]
        signed = CliRunner().invoke(app, words)
        assert (signed.exit_code, "T is the active side" in signed.output) == (0, True), signed.output
        wait_until(trouble, lambda told: "T is the active side (planted)" in told, within_s=30, what="the decision")
    finally:
        engine.stop()
