"""Links made over HTTP in a real topic: kept, read by all, and run by one service at a time."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from tests.kit.ends import Ends
from tests.kit.waiting import wait_until
from typer.testing import CliRunner

from twinlog.config.settings import ClientSettings
from twinlog.control.audit import Audit, Who
from twinlog.control.events_topic import EventsTopic
from twinlog.control.links_topic import LinksTopic, shared_place
from twinlog.errors import NotActive
from twinlog.kafka.client_options import client_options
from twinlog.model.connectors import GroupState, Leader
from twinlog.surface.cli.main import app

# A service of its own: it leads, says so, and is killed.
VICTIM = """
import sys
from twinlog.config.settings import ClientSettings
from twinlog.control.links_topic import LinksTopic, shared_place
from twinlog.model.connectors import Leader
from threading import Event
turn = Event()
store = ClientSettings(cluster="store", bootstrap_servers=(sys.argv[1],))
topic = LinksTopic(store, shared_place(sys.argv[2], 1), on_news=lambda _: None, on_turn=turn.set)
topic.open()
turn.wait()
group_state = topic.lead(Leader("victim", "http://victim:1"))
topic.append([group_state.config_record("c", {"a": "b"}), group_state.state_record("c", "PAUSED")])
print("leads", flush=True)
Event().wait()
"""


class Seat:
    """One service's view of the topic."""

    def __init__(self, store: ClientSettings, group: str) -> None:
        self.turn = Event()
        self.group_state = GroupState(group)
        self.topic = LinksTopic(store, shared_place(group, 1), on_news=self._hear, on_turn=self.turn.set)
        self.group_state = self.topic.open()

    def _hear(self, group_state: GroupState) -> None:
        self.group_state = group_state

    def await_turn(self, within_s: float) -> float:
        begun = time.monotonic()
        assert self.turn.wait(within_s), "it is still not our turn"
        return time.monotonic() - begun


@contextmanager
def seats(store: ClientSettings) -> Iterator[Callable[[], Seat]]:
    group = f"g{uuid.uuid4().hex[:6]}"
    with ExitStack() as stack:

        def take() -> Seat:
            seat = Seat(store, group)
            stack.callback(seat.topic.close)
            return seat

        yield take


@pytest.mark.proves("R10")
def test_one_leads_and_whoever_led_before_writes_nothing_more(make_ends: Callable[..., Ends]) -> None:
    store = make_ends().link.clients.target_admin
    with seats(store) as take:
        first = take()
        first.await_turn(30)
        with pytest.raises(NotActive):
            first.topic.append([first.group_state.config_record("early", {})])
        group_state = first.topic.lead(Leader("one", "http://one:1"))
        assert group_state.leader == Leader("one", "http://one:1")
        written = first.topic.append(
            [group_state.config_record("c", {"k": "v"}), group_state.state_record("c", "STOPPED")]
        )
        assert (written.configs, written.state_of("c")) == ({"c": {"k": "v"}}, "STOPPED")
        second = take()
        assert second.group_state.configs == {"c": {"k": "v"}}, "it is read by whoever comes"
        assert second.group_state.leader == group_state.leader
        assert not second.turn.is_set()
        second.topic.lead(Leader("two", None))
        with pytest.raises(NotActive):
            first.topic.append([first.group_state.config_record("zombie", {})])
        wait_until(
            lambda: first.group_state.leader,
            lambda seen: seen == Leader("two", None),
            within_s=60,
            what="the new leader",
        )
        assert "zombie" not in second.topic.append([second.group_state.config_record("c", None)]).configs


@pytest.mark.proves("R10")
def test_whoever_comes_later_waits_for_whoever_leads(make_ends: Callable[..., Ends]) -> None:
    ends = make_ends()
    admin = AdminClient({**client_options(ends.link.clients.target_admin)})
    with seats(ends.link.clients.target_admin) as take:
        first = take()
        first.await_turn(30)
        first.turn.clear()
        others = [take() for _ in range(4)]

        def members() -> tuple[str, int]:
            found = admin.describe_consumer_groups([first.group_state.group])[first.group_state.group].result(20)
            return found.state.name, sum(bool(one.assignment) for one in found.members)

        wait_until(members, lambda seen: seen == ("STABLE", 5), within_s=40, what="a line of five")
        assert [seat.turn.is_set() for seat in others] == [False] * 4, "links would be moved whenever a standby begins"
        first.topic.close()
        wait_until(
            lambda: [seat.turn.is_set() for seat in others], lambda turns: sum(turns) == 1, within_s=60, what="one heir"
        )


@pytest.mark.proves("R9")
def test_a_leader_that_is_killed_is_followed_within_seconds(make_ends: Callable[..., Ends]) -> None:
    store = make_ends().link.clients.target_admin
    group = f"g{uuid.uuid4().hex[:6]}"
    victim = subprocess.Popen(
        [sys.executable, "-c", VICTIM, ",".join(store.bootstrap_servers), group], stdout=subprocess.PIPE
    )
    try:
        assert victim.stdout is not None
        assert victim.stdout.readline() == b"leads\n"
        heir = Seat(store, group)
        try:
            assert heir.group_state.leader == Leader("victim", "http://victim:1")
            victim.kill()
            victim.wait(10)
            assert heir.await_turn(30) < 25
            group_state = heir.topic.lead(Leader("heir", None))
            assert group_state.state_of("c") == "PAUSED"
        finally:
            heir.topic.close()
    finally:
        victim.kill()
        victim.wait(10)


@pytest.mark.proves("R7")
def test_events_of_a_group_are_read_back_in_order_and_apart_from_those_of_others(
    make_ends: Callable[..., Ends],
) -> None:
    ends = make_ends()
    ours, others = (
        EventsTopic(ends.link.clients.target_admin, group, replication_factor=1)
        for group in (ends.alias, f"{ends.alias}-else")
    )
    assert ours.read(10) == []
    for number in range(5):
        ours.append(b"%d" % number)
        others.append(b"else")
    ours.close()
    others.close()
    again = EventsTopic(ends.link.clients.target_admin, ends.alias, replication_factor=1)
    assert again.read(10) == [b"0", b"1", b"2", b"3", b"4"]
    assert again.read(2) == [b"3", b"4"]


def test_the_audit_in_the_topic_is_verified_by_the_command_and_tells_what_a_file_lost(
    make_ends: Callable[..., Ends], tmp_path: Path
) -> None:
    ends = make_ends()
    file, settings = tmp_path / "audit.log", ends.write_file(tmp_path)
    seat = Seat(ends.link.clients.target_admin, uuid.uuid4().hex)
    try:
        audit = Audit(file, required=True)
        audit.to_topic = seat.topic.audit
        for what in ("pause", "resume", "delete"):
            audit.note(Who("anna", "admin"), what, "c")
    finally:
        seat.topic.close()

    def verified() -> tuple[int, dict[str, Any]]:
        said = CliRunner().invoke(app, ["audit", "verify", str(file), "--topic", "-c", str(settings), "-o", "json"])
        return said.exit_code, json.loads(said.stdout)

    chain = json.loads(file.read_text().splitlines()[0])["chain"]
    _, found = verified()
    (ours,) = [one for one in found["chains"] if one["chain"] == chain]
    assert (ours["entries"], ours["breaks"]) == (3, [])
    assert (found["missing_in_file"], found["missing_in_topic"]) == ([], [])
    file.write_text("".join(file.read_text().splitlines(keepends=True)[:2]))
    code, found = verified()
    assert (code, found["missing_in_file"]) == (1, ["entry 3 (delete c by anna)"])
