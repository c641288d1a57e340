"""Notification hooks: one outage is one message, the end of it is sent, and a hook that fails is called again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.waiting import wait_until

from twinlog.config.notifications import NotificationHook
from twinlog.config.resolve import examine, resolve
from twinlog.config.security.secrets import Secret
from twinlog.control.notifier import Notifier
from twinlog.model.health.history import Event
from twinlog.model.health.notifications import Grouping, bodies

FILE = "clusters = a, b\na.bootstrap.servers = a:1\nb.bootstrap.servers = b:1\na->b.enabled = true\n"


def event(
    thing: str = "state", *, link: str = "a->b", kind: Any = "fault", level: Any = "bad", ended: bool = False
) -> Event:
    return Event(1, link, kind, level, thing, f"{thing} happened", "do this", ended)


def grouping(seconds: float = 10) -> Grouping:
    return Grouping(frozenset({"fault", "state", "source"}), "warning", seconds)


def test_everything_of_one_outage_is_one_message() -> None:
    group = grouping()
    group.add([event("orders-0"), event("orders-1"), event("away", kind="source", link="a->c")], 100)
    group.add([event("orders-2")], 105)
    assert group.due(109) is None
    message = group.due(110)
    assert message is not None
    assert len(message.events) == 4
    assert message.title == "Twinlog: a->b: orders-0 happened (and 3 more)"
    assert group.due(200) is None


def test_the_end_is_sent_when_its_beginning_was() -> None:
    group = grouping(0)
    group.add([event("unknown", ended=True), event("low", level="info"), event("x", kind="chore")], 1)
    assert group.due(2) is None
    group.add([event("orders-0")], 3)
    assert group.due(3) is not None
    group.add([event("orders-0", level="good", ended=True)], 4)
    message = group.due(4)
    assert message is not None
    assert message.title == "Twinlog: a->b: ended"
    (body,) = bodies("pagerduty", message, "key")
    assert (body["event_action"], body["dedup_key"]) == ("resolve", "twinlog/a->b")


@given(st.lists(st.tuples(st.sampled_from("pqr"), st.booleans()), max_size=30))
def test_pagerduty_resolves_exactly_when_nothing_lasts(history: list[tuple[str, bool]]) -> None:
    group = grouping(0)
    lasting: set[str] = set()
    for thing, ended in history:
        group.add([event(thing, ended=ended)], 1)
        known = thing in lasting
        lasting = lasting - {thing} if ended else lasting | {thing}
        message = group.due(1)
        assert (message is None) == (ended and not known)
        if message is not None:
            (body,) = bodies("pagerduty", message, "k")
            assert body["event_action"] == ("trigger" if lasting else "resolve")


def test_bodies_are_those_of_the_receivers() -> None:
    group = grouping(0)
    group.add([event("orders-0")], 1)
    message = group.due(1)
    assert message is not None
    (slack,) = bodies("slack", message, "")
    assert slack["text"].splitlines()[0] == "*Twinlog: a->b: orders-0 happened*"
    (web,) = bodies("webhook", message, "")
    assert web["events"][0]["thing"] == "orders-0"
    (pager,) = bodies("pagerduty", message, "key")
    assert (pager["routing_key"], pager["event_action"], pager["payload"]["severity"]) == ("key", "trigger", "critical")


def everything() -> Grouping:
    return Grouping(frozenset({"fault", "switch", "operation", "objective"}), "warning", 0)


def test_the_end_of_a_switch_is_posted_with_the_card_and_leaves_no_incident_open() -> None:
    group = everything()
    begun = Event(1, "a->b", "switch", "warning", "a->b", "planned failover started by ada")
    group.add([begun], 1)
    message = group.due(1)
    assert message is not None
    (pager,) = bodies("pagerduty", message, "k")
    assert pager["event_action"] == "trigger"
    card = "**b is active: planned failover of a->b done**\n\n- Connect to: b:1\n"
    group.add([Event(2, "a->b", "switch", "good", "a->b", "planned failover done", ended=True, card=card)], 2)
    message = group.due(2)
    assert message is not None, "the end of a switch is what the incident channel waits for"
    assert message.title == "Twinlog: a->b: planned failover done"
    (slack,) = bodies("slack", message, "")
    assert "*b is active: planned failover of a->b done*\n" in slack["text"]
    assert "- Connect to: b:1" in slack["text"]
    (web,) = bodies("webhook", message, "")
    assert web["card"] == card
    (pager,) = bodies("pagerduty", message, "k")
    assert (pager["event_action"], pager["payload"]["custom_details"]["card"]) == ("resolve", card)


def test_a_message_with_the_end_of_a_switch_is_called_by_its_end() -> None:
    group = everything()
    group.add([Event(1, "a->b", "switch", "warning", "a->b", "planned failover started by ada")], 1)
    done = Event(2, "a->b", "switch", "good", "a->b", "planned failover done; b is active", ended=True, card="card")
    group.add([done], 1)
    message = group.due(1)
    assert message is not None
    assert message.title == "Twinlog: a->b: planned failover done; b is active (and 1 more)"
    group.add([done, Event(3, "a->b", "fault", "bad", "orders-0", "a gap")], 3)
    message = group.due(3)
    assert message is not None
    assert message.title == "Twinlog: a->b: a gap (and 1 more)"


def test_a_drill_that_failed_is_sent_and_one_that_passed_is_not() -> None:
    group = everything()
    group.add([event("drill", kind="operation", level="good", ended=True)], 1)
    assert group.due(1) is None
    group.add([event("drill", kind="operation", level="bad", ended=True)], 2)
    message = group.due(2)
    assert message is not None
    assert message.title == "Twinlog: a->b: drill happened"
    (pager,) = bodies("pagerduty", message, "k")
    assert pager["event_action"] == "trigger"


@contextmanager
def receiver(answers: list[int]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A real HTTP server: answers with the next code of the list, 200 when it is empty."""
    taken: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            code = answers.pop(0) if answers else 200
            if code == 200:
                taken.append(body)
            self.send_response(code)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/hook", taken
    finally:
        server.shutdown()
        thread.join()


def test_a_hook_that_refuses_is_called_again_and_its_failures_are_counted() -> None:
    async def scene(url: str, taken: list[dict[str, Any]]) -> None:
        hook = NotificationHook(name="ops", type="slack", url=Secret(url), group_seconds=0)
        notifier = Notifier([hook])
        running = asyncio.create_task(notifier.run())
        notifier.take([event("orders-0")])
        await asyncio.to_thread(wait_until, lambda: notifier.failures["ops"], bool, within_s=20, what="a failure")
        await asyncio.to_thread(wait_until, lambda: len(taken), lambda n: n == 1, within_s=20, what="the message")
        await asyncio.to_thread(
            wait_until, lambda: notifier.sent["ops"], lambda n: n == 1, within_s=20, what="the count"
        )
        assert notifier.failures == {"ops": 0}
        running.cancel()

    with receiver([503]) as (url, taken):
        asyncio.run(scene(url, taken))
        assert "orders-0 happened" in taken[0]["text"]


def test_hooks_are_read_from_the_file() -> None:
    text = FILE + "notifications = ops, pager\nnotifications.ops.type = slack\nnotifications.ops.url = https://h/x\n"
    text += (
        "notifications.pager.type = pagerduty\nnotifications.pager.routing.key = k\nnotifications.pager.level = bad\n"
    )
    ops, pager = resolve(text.encode(), "f", (), {}).service.notifications
    assert (ops.type, ops.group_seconds, ops.level) == ("slack", 10, "warning")
    assert (pager.type, pager.level) == ("pagerduty", "bad")
    assert "https://h/x" not in repr(ops)


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ("notifications = x\n", "no valid type"),
        ("notifications = x\nnotifications.x.type = slack\n", "needs notifications.x.url"),
        ("notifications = x\nnotifications.x.type = slack\nnotifications.x.url = http://h/\n", "needs https"),
        ("notifications = x\nnotifications.x.type = pagerduty\n", "routing.key"),
        ("notifications.x.type = slack\n", "does not list x"),
        ("notifications = x\nnotifications.x.typ = slack\n", "unknown and ignored"),
    ],
)
def test_a_wrong_hook_is_named(lines: str, problem: str) -> None:
    findings = examine((FILE + lines).encode(), "f", (), {}).findings
    assert any(problem in str(finding) for finding in findings)
