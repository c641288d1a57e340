"""A source that does not answer is a state of its own, with the same word everywhere; what is seen now comes first."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Mapping

import pytest
from rich.console import Console
from tests.kit.paper_backend import PaperBackend

from twinlog.engine.rivals import HEARTBEAT_SECONDS
from twinlog.errors import AccessDenied, ClusterError, ClusterUnreachable
from twinlog.ledger.view import LedgerView
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.health.exposure import link_exposure
from twinlog.model.health.history import events_between, sample_of
from twinlog.model.health.objectives import Objectives
from twinlog.model.health.states import SOURCE_SILENT_MS, LinkStatus, PartitionStatus
from twinlog.model.ledger.records import ENGINE_SILENT_MS, Engine, Memo
from twinlog.model.ledger.source_ends import CHORE, SEEN, KnownEnd
from twinlog.model.names import TopicPartition
from twinlog.surface.answers.links import at_risk
from twinlog.surface.cli.commands.status import _UNBOUNDED, _print_details, summary
from twinlog.surface.metrics.prometheus import STATES
from twinlog.watch import observe
from twinlog.watch.observe import Observer
from twinlog.wire import protocol_errors as codes
from twinlog.wire.connection import TopicMetadata

NOW = 1_700_000_000_000
LINK = PaperBackend().links()[0]
AWAY = "east: no broker answers: 127.0.0.1:1: connection refused"


def status(**facts: object) -> LinkStatus:
    engine = Engine(engine_id="e", host="vm", pid=7, phase="running", at_ms=NOW - 2000)
    found = LinkStatus(LINK.name, engine, (), now_ms=NOW, source_seen_ms=NOW - 30_000)
    return dataclasses.replace(found, **facts)  # type: ignore[arg-type]


def shown(found: LinkStatus) -> list[str]:
    console = Console(width=500, no_color=True, force_terminal=False)
    with console.capture() as said:
        _print_details(console, LINK, found, partitions=False)
    return said.get().splitlines()


@pytest.mark.proves("R14")
def test_a_source_that_neither_we_nor_the_engine_reach_is_down() -> None:
    down = status(source_trouble=AWAY, source_unreachable=True)
    assert down.state == "SOURCE_DOWN"
    assert down.state in STATES
    heard_just_now = dataclasses.replace(down, source_seen_ms=NOW - 2000)
    assert heard_just_now.state != "SOURCE_DOWN"  # it is only cut off from here
    assert any("only from here: the engine heard east" in line for line in shown(heard_just_now))
    refused = status(source_trouble="east: access denied", source_unreachable=False)
    assert refused.state == "STALLED"


@pytest.mark.proves("R7", "R14")
def test_the_table_shows_a_loss_that_is_not_known_as_a_range() -> None:
    away = status(source_trouble=AWAY, source_unreachable=True)
    where = TopicPartition("orders", 0)
    part = PartitionStatus(where, "orders", 100, None, 100, newest_ms=NOW - 31_000, at_ms=NOW - 31_000)
    known = {where: KnownEnd(100, NOW - 30_000, NOW - 30_000, 10.0, -1, -1)}
    seen = dataclasses.replace(away, partitions=(part,))
    seen = dataclasses.replace(seen, exposure=link_exposure(seen, known, Objectives(), live=False))
    console = Console(width=500, no_color=True, force_terminal=False)
    with console.capture() as said:
        console.print(summary([(LINK, seen)], _UNBOUNDED))
    assert " 0..50 " in said.get()


@pytest.mark.proves("R14")
def test_a_chore_or_a_fault_does_not_hide_that_the_source_is_down() -> None:
    engine = Engine(engine_id="e", host="vm", pid=7, phase="running", at_ms=NOW - 2000, trouble="reading the topics")
    assert status(source_trouble=AWAY, source_unreachable=True, engine=engine).state == "SOURCE_DOWN"


def test_the_event_names_the_source_and_when_it_was_last_heard() -> None:
    events = list(events_between(status(), status(source_trouble=AWAY, source_unreachable=True)))
    says = {event.kind: (event.level, event.says) for event in events}
    assert says["state"] == ("bad", "SOURCE_DOWN, was RUNNING")
    assert says["source"][1].startswith("east does not answer: ")
    assert "the engine last heard it at" in says["source"][1]


@pytest.mark.proves("R14")
def test_status_says_first_what_it_sees_and_then_what_the_engine_said_and_when() -> None:
    engine = Engine(engine_id="e", host="vm", pid=7, phase="starting", at_ms=NOW - 2000, trouble="SASL: wrong password")
    lines = shown(status(source_trouble="east: certificate unknown", engine=engine))
    assert lines[0] == f"{LINK.name}: seen now: east: certificate unknown"
    assert "the engine said at" in lines[2]
    assert lines[2].endswith("SASL: wrong password")


@pytest.mark.proves("R14")
def test_a_link_that_never_ran_tells_its_own_trouble_before_that_no_engine_ran() -> None:
    def ends(_: list[TopicPartition]) -> Mapping[TopicPartition, int | ClusterError]:
        return {}

    def reach() -> None:
        raise AccessDenied("east", "wrong password")

    found = Observer(LINK, ends, None, reach)._judge(LedgerView({}), NOW)
    lines = shown(found)
    assert "wrong password" in lines[0]
    assert lines[1] == f"{LINK.name}: no engine has run this link yet. Start it with `twinlog run`."


def test_ages_count_from_the_moment_the_ledger_was_read() -> None:
    def away(_: list[TopicPartition]) -> Mapping[TopicPartition, int | ClusterError]:
        raise ClusterUnreachable("east", "no broker answers")

    view = LedgerView({})
    view.engine = Engine(engine_id="e", host="vm", pid=7, phase="running", at_ms=NOW - 2000)
    found = Observer(LINK, away, away, lambda: away([]))._judge(view, NOW)
    assert found.now_ms == NOW
    assert found.state == "SOURCE_DOWN"  # not STALLED: the engine is well


@pytest.mark.proves("R14")
def test_a_source_of_which_some_brokers_answer_is_degraded() -> None:
    partly = status(source_trouble="east: no broker answers as leader of 1 of 2 partitions", source_partly=True)
    assert partly.state == "DEGRADED"
    assert any("no broker answers as leader of 1 of 2" in line for line in shown(partly))
    (_, told) = [event for event in events_between(status(), partly) if event.kind in {"state", "source"}]
    assert told.says.startswith("east: no broker answers as leader of 1 of 2 partitions")


@pytest.mark.proves("R14")
@pytest.mark.parametrize(("silent_s", "state"), [(3, "RUNNING"), (6.9, "RUNNING"), (7.1, "STALLED"), (60, "STALLED")])
def test_an_engine_that_misses_three_records_is_reported(silent_s: float, state: str) -> None:
    """It writes one every two seconds: a dead engine is reported while the outage is young."""
    assert HEARTBEAT_SECONDS * 3 < ENGINE_SILENT_MS / 1000 < 8
    assert status(engine_age_s=silent_s).state == state


@pytest.mark.proves("R14")
def test_whoever_may_not_see_the_ledger_is_not_told_that_no_engine_ran(monkeypatch: pytest.MonkeyPatch) -> None:
    class Hiding:
        def __init__(self, *_: object) -> None: ...

        async def refresh(self, names: list[str]) -> dict[str, TopicMetadata]:
            return {name: TopicMetadata(name, "", codes.TOPIC_AUTHORIZATION_FAILED, {}) for name in names}

        async def close(self) -> None: ...

    monkeypatch.setattr("twinlog.watch.observe.Cluster", Hiding)
    with pytest.raises(AccessDenied, match=r"Read and Describe on .* are needed"):
        asyncio.run(Observer(LINK, lambda _: {}).look())


@pytest.mark.proves("R14")
@pytest.mark.parametrize(("heard_again", "state"), [(False, "SOURCE_DOWN"), (True, "STALLED")])
def test_a_source_that_was_heard_a_moment_ago_is_watched_until_it_is_certain(
    heard_again: bool, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next look would take as long as the first one: the operator would wait ten seconds for the right word."""
    began = SYSTEM_CLOCK.now_ms()
    reads = 0

    class Target:
        def __init__(self, *_: object) -> None: ...

        async def close(self) -> None: ...

    async def read(_: Observer, __: object) -> LedgerView:
        nonlocal reads
        reads += 1
        view, now = LedgerView({}), SYSTEM_CLOCK.now_ms()
        view.engine = Engine(engine_id="e", generation=1, phase="running", at_ms=now)
        seen = now if heard_again and reads > 2 else began - SOURCE_SILENT_MS + 300
        view.memos[CHORE] = {SEEN: Memo(chore=CHORE, name=SEEN, body={"at": seen})}
        return view

    async def ask_source(_: Observer, view: LedgerView, now_ms: int) -> LinkStatus:
        return status(engine=view.engine, now_ms=now_ms, source_trouble=AWAY, source_unreachable=True)

    monkeypatch.setattr(observe, "Cluster", Target)
    monkeypatch.setattr(Observer, "_read", read)
    monkeypatch.setattr(Observer, "_ask_source", ask_source)
    assert asyncio.run(Observer(LINK, lambda _: {}).look()).state == state
    assert reads == 3


def test_the_age_of_what_is_at_risk_stands_still_when_the_source_is_away() -> None:
    """Page and API say what `status` says. The objective goes on: producers may still write to a source cut off."""
    where = TopicPartition("orders", 0)
    part = PartitionStatus(where, "orders", 100, None, 100, newest_ms=NOW - 31_000, at_ms=NOW - 31_000)
    known = {where: KnownEnd(100, NOW - 32_000, NOW - 32_000, 10.0, -1, -1)}
    seen = status(source_trouble=AWAY, source_unreachable=True, partitions=(part,), source_seen_ms=NOW - 30_000)
    exposure = link_exposure(seen, known, Objectives(), live=False)
    shown_there = at_risk(exposure, exposure.total)
    assert shown_there.age_seconds == exposure.age_of(exposure.total)
    assert shown_there.age_seconds is not None
    assert shown_there.seconds is not None
    assert shown_there.age_seconds < 5 < shown_there.seconds
    assert sample_of(dataclasses.replace(seen, exposure=exposure)).rpo_seconds == shown_there.age_seconds


def test_a_link_that_was_switched_has_nothing_at_risk_in_the_table() -> None:
    engine = Engine(engine_id="e", host="vm", pid=7, phase="switched", at_ms=NOW - 1000)
    console = Console(width=500, no_color=True, force_terminal=False)
    with console.capture() as said:
        console.print(summary([(LINK, status(engine=engine))], _UNBOUNDED))
    (row,) = [line for line in said.get().splitlines() if "SWITCHED" in line]
    assert row.split()[:5] == [LINK.name, "SWITCHED", "-", "-", "-"]


@pytest.mark.proves("R14")
def test_a_link_that_rests_says_what_has_no_copy() -> None:
    engine = Engine(engine_id="e", host="vm", pid=7, phase="switched", at_ms=NOW - 90_000, trouble="west is active")
    line, *_ = shown(status(engine=engine, active="west"))
    assert line == (
        "east->west: west is active. New data on west has no copy, unless west->east copies it. "
        "When east is healthy again: `twinlog failback 'east->west' --dry-run`."
    )
    line, *_ = shown(status(engine=engine, active="east"))
    assert line.endswith("`twinlog switch status 'east->west'` shows how the switch stands.")


@pytest.mark.proves("R14")
def test_an_own_certificate_that_has_expired_is_the_cause_that_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: object) -> Mapping[TopicPartition, int | ClusterError]:
        raise ClusterUnreachable("east", "ssl://b:1: alert certificate unknown")

    says = "the certificate CN=mirror of this client expired at 2026-01-01 00:00+00:00"
    monkeypatch.setattr(observe, "own_expired", lambda *_: says)
    found = Observer(LINK, refused, reach=lambda: refused(None))._judge(LedgerView({}), NOW)
    assert found.source_trouble == f"{LINK.source}: {says}; ssl://b:1: alert certificate unknown"
    assert any("Renew the certificate" in line for line in shown(status(source_trouble=found.source_trouble)))
