"""Links made over HTTP in a real topic: kept, read by all, and run by one service at a time."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from threading import Event
from typing import Any, cast

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from tests.kit.ends import Ends
from tests.kit.waiting import wait_until
from typer.testing import CliRunner

from twinlog.config.security.secrets import Secret
from twinlog.config.settings import ClientSettings, HeartbeatPair
from twinlog.control.audit import Audit, Who
from twinlog.control.connector_service import ConnectorService
from twinlog.control.events_topic import EventsTopic
from twinlog.control.group_trust import GroupTrust
from twinlog.control.links_topic import LinksTopic, shared_place
from twinlog.engine.spec_changes import Change, Spec
from twinlog.errors import NotActive
from twinlog.kafka.client_options import client_options
from twinlog.model.connectors import LINKS_TOPIC, GroupState, Leader, Prove
from twinlog.surface.cli.main import app

# A service of its own: it leads, says so, and is killed.
VICTIM = """
import sys
from twinlog.config.settings import ClientSettings
from twinlog.control.links_topic import LinksTopic, shared_place
from twinlog.model.connectors import GroupState, Leader
from threading import Event
elected = Event()
store = ClientSettings(cluster="store", bootstrap_servers=(sys.argv[1],))
topic = LinksTopic(store, shared_place(sys.argv[2], 1), on_news=lambda _: None, on_elected=elected.set)
topic.open()
elected.wait()
group_state = topic.lead([GroupState(sys.argv[2]).leader_record(Leader("victim", "http://victim:1"))])
topic.append([group_state.config_record("c", {"a": "b"}), group_state.state_record("c", "PAUSED")])
print("leads", flush=True)
Event().wait()
"""


class Seat:
    """One service's view of the topic."""

    def __init__(self, store: ClientSettings, group: str, prove: Prove | None = None) -> None:
        self.elected, self.changed = Event(), Event()
        self.group_state = GroupState(group)
        self.topic = LinksTopic(
            store,
            shared_place(group, 1),
            prove,
            on_news=self._hear,
            on_elected=self.elected.set,
            on_members=self.changed.set,
        )
        self.group_state = self.topic.open()

    def _hear(self, group_state: GroupState) -> None:
        self.group_state = group_state

    def lead(self, leader: Leader) -> GroupState:
        return self.topic.lead([self.group_state.leader_record(leader)])

    def await_turn(self, within_s: float) -> float:
        begun = time.monotonic()
        assert self.elected.wait(within_s), "it is still not elected"
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
        group_state = first.lead(Leader("one", "http://one:1"))
        assert group_state.leader == Leader("one", "http://one:1")
        written = first.topic.append(
            [group_state.config_record("c", {"k": "v"}), group_state.state_record("c", "STOPPED")]
        )
        assert (written.configs, written.state_of("c")) == ({"c": {"k": "v"}}, "STOPPED")
        second = take()
        assert second.group_state.configs == {"c": {"k": "v"}}, "it is read by whoever comes"
        assert second.group_state.leader == group_state.leader
        assert not second.elected.is_set()
        second.lead(Leader("two", None))
        with pytest.raises(NotActive):
            first.topic.append([first.group_state.config_record("zombie", {})])
        wait_until(
            lambda: first.group_state.leader,
            lambda seen: seen == Leader("two", None),
            within_s=60,
            what="the new leader",
        )
        assert "zombie" not in second.topic.append([second.group_state.config_record("c", None)]).configs


@pytest.mark.proves("R9")
def test_the_leader_hears_who_comes_and_goes_and_reads_what_they_announced(make_ends: Callable[..., Ends]) -> None:
    with seats(make_ends().link.clients.target_admin) as take:
        first = take()
        first.await_turn(30)
        second = take()
        wait_until(
            first.topic.members, lambda seen: seen is not None and len(seen) == 2, within_s=30, what="both members"
        )
        first.changed.clear()
        second.topic.announce("I can run connectors")
        assert first.changed.wait(30), "nobody told that members changed"
        first.topic.announce("whoever was elected need not say so")
        wait_until(
            first.topic.members,
            lambda seen: seen is not None and len(seen) == 2 and "I can run connectors" in seen,
            within_s=30,
            what="what the second announced",
        )
        assert not second.elected.is_set(), "to announce something moves no leadership"
        first.changed.clear()
        second.topic.close()
        assert first.changed.wait(30), "nobody told that one left"
        wait_until(
            first.topic.members, lambda seen: seen is not None and len(seen) == 1, within_s=30, what="one member"
        )


@pytest.mark.proves("R10")
def test_whoever_comes_later_waits_for_whoever_leads(make_ends: Callable[..., Ends]) -> None:
    ends = make_ends()
    admin = AdminClient({**client_options(ends.link.clients.target_admin)})
    with seats(ends.link.clients.target_admin) as take:
        first = take()
        first.await_turn(30)
        first.elected.clear()
        others = [take() for _ in range(4)]

        def members() -> tuple[str, int]:
            found = admin.describe_consumer_groups([first.group_state.group])[first.group_state.group].result(20)
            return found.state.name, sum(bool(one.assignment) for one in found.members)

        wait_until(members, lambda seen: seen == ("STABLE", 5), within_s=40, what="a line of five")
        assert [seat.elected.is_set() for seat in others] == [False] * 4, (
            "links would be moved whenever a standby begins"
        )
        first.topic.close()
        wait_until(
            lambda: [seat.elected.is_set() for seat in others],
            lambda turns: sum(turns) == 1,
            within_s=60,
            what="one heir",
        )


class NoLinks:
    """Runs nothing: what is told of connectors is all that this is about."""

    async def become(self, specs: Sequence[Spec], heartbeats: Sequence[HeartbeatPair]) -> tuple[Change, ...]:
        del specs, heartbeats
        return ()

    def check(self, spec: Spec) -> None:
        del spec


@asynccontextmanager
async def led(store: ClientSettings, group: str, secret: Secret) -> AsyncIterator[ConnectorService]:
    """A service that leads its group."""
    service = ConnectorService(
        cast("Any", NoLinks()),
        lambda prove, on_news, on_elected, on_members: LinksTopic(
            store, shared_place(group, 1), prove, on_news=on_news, on_elected=on_elected, on_members=on_members
        ),
        group=group,
        instance=uuid.uuid4().hex,
        url=None,
        environment={},
        trust=GroupTrust(group, secret),
    )
    running = asyncio.create_task(service.run())
    try:
        await until(lambda: service.leadership.active, "a leader")
        yield service
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def until(look: Callable[[], object], what: str) -> None:
    await asyncio.to_thread(wait_until, look, bool, within_s=60, what=what)


@pytest.mark.proves("R8")
def test_whoever_may_write_to_the_topic_pauses_and_deletes_nothing_of_a_group_with_a_secret(
    make_ends: Callable[..., Ends],
) -> None:
    ends = make_ends()
    store, group, anna = ends.link.clients.target_admin, f"g{uuid.uuid4().hex[:6]}", Who("anna", "admin")
    config = {"connector.class": "MirrorSource", "source.cluster.alias": "a", "target.cluster.alias": "b"}
    config |= {f"{end}.cluster.bootstrap.servers": "127.0.0.1:1" for end in ("source", "target")}
    stranger, plain = Producer({**client_options(store)}), GroupState(group)
    foreign = [
        plain.state_record("c", "STOPPED"),
        plain.config_record("c", None),
        plain.leader_record(Leader("evil", "http://evil:1")),
    ]

    def plant() -> None:
        for key, value in foreign:
            stranger.produce(LINKS_TOPIC, value, key)
        assert stranger.flush(30) == 0

    async def story() -> None:
        async with led(store, group, Secret("of the group")) as service:
            await service.orders.create(anna, "c", config, "STARTED")
            before = service.leadership.group_state.records
            plant()
            # Three of the stranger and three that the leader writes over them.
            await until(lambda: service.leadership.group_state.records >= before + 6, "the leader's answer")
            assert service.leadership.active
            assert service.connectors.connector("c").state == "STARTED"
            numbered = {what: held.number for what, held in service.leadership.group_state.held.items()}
        plant()  # while no service runs
        async with led(store, group, Secret("of the group")) as service:
            assert service.connectors.connector("c").state == "STARTED"
            held = service.leadership.group_state.held
            await until(lambda: not service.leadership.group_state.refused, "the leader's answer")
            assert all(service.leadership.group_state.held[what].number > number for what, number in numbered.items())
            assert held.keys() == numbered.keys()
        async with led(store, group, Secret("another secret")) as service:
            assert "was not signed" in service.planning.plan.troubles["c"]

    asyncio.run(story())


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
            group_state = heir.lead(Leader("heir", None))
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
