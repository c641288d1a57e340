"""Services of one group share the pipelines: each runs some, and every service tells the state of all."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.kit.connect_paper import PaperService, PaperTopic, asked
from tests.kit.waiting import wait_until

from twinlog.config.security.secrets import Secret
from twinlog.config.service_settings import HttpSettings
from twinlog.control.group_trust import GroupTrust
from twinlog.control.states import EngineView
from twinlog.control.worker_reports import WorkerReport
from twinlog.errors import AccessDenied
from twinlog.model.connectors import GroupState, Leader, Share
from twinlog.pipelines.spec import PipelineSpec
from twinlog.pipelines.worker_settings import read_worker

SINK = {"connector.class": "FileStreamSink", "file": "/data/out", "topics": "t"}
FILES = """
store.bootstrap.servers = store:9092
connector.allowed.paths = /data
"""
NAMES = ("a", "b", "c", "d")


def service_of(topic: PaperTopic, instance: str, **more: Any) -> PaperService:
    worker = read_worker({"bootstrap.servers": "nowhere:1"})
    return PaperService(topic, **{"text": FILES, **more}, worker=worker, instance=instance, shares=True)


def runs(service: PaperService) -> set[str]:
    return {spec.connector_name for spec in service.runner.others if isinstance(spec, PipelineSpec)}


def await_split(*services: PaperService, names: tuple[str, ...] = NAMES) -> list[set[str]]:
    """Every pipeline runs at one service, and the services have equally many."""

    def even(split: list[set[str]]) -> bool:
        sizes = [len(its) for its in split]
        return set().union(*split) == set(names) and sum(sizes) == len(names) and max(sizes) - min(sizes) <= 1

    return wait_until(lambda: [runs(service) for service in services], even, within_s=20, what="an even split")


def report_of(topic: PaperTopic, instance: str) -> WorkerReport | None:
    row = topic.reports.get(f"twinlog-worker-{instance}".encode())
    return None if row is None else WorkerReport.parse(json.loads(row)["report"])


def create(client: TestClient, *names: str) -> None:
    for name in names:
        answer = client.put(f"/connectors/{name}/config", json={**SINK, "file": f"/data/{name}"})
        assert answer.status_code == 201, answer.text


@contextmanager
def group(topic: PaperTopic, *instances: str) -> Iterator[list[tuple[PaperService, TestClient]]]:
    with ExitStack() as stack:
        services = [service_of(topic, instance) for instance in instances]
        yield [
            (service, stack.enter_context(asked(service, active=number == 0)))
            for number, service in enumerate(services)
        ]


def test_a_service_that_is_alone_runs_all_and_tells_nobody() -> None:
    topic = PaperTopic()
    with group(topic, "one") as [(one, client)]:
        create(client, *NAMES)
        await_split(one)
        assert topic.reports == {}
        assert topic.group_state.leader == Leader("one", "http://one:8083"), "nothing was dealt"
        assert sum(key == b"g/leader" for key, _ in topic.written) == 1


def test_pipelines_are_dealt_evenly_and_every_service_says_who_runs_which() -> None:
    topic = PaperTopic()
    with group(topic, "one", "two") as [(one, client), (two, other)]:
        create(client, *NAMES)
        split = await_split(one, two)
        two.runner.pipelines = {f"pipeline {name}": EngineView("waiting", "the disk is full") for name in split[1]}
        for name in NAMES:
            state, host = ("RUNNING", "one:8083") if name in split[0] else ("FAILED", "two:8083")
            for asked_one in (client, other):
                status = wait_until(
                    lambda at=asked_one, of=name: at.get(f"/connectors/{of}/status").json(),  # type: ignore[misc]
                    lambda told, want=state: told["connector"]["state"] == want,  # type: ignore[misc]
                    within_s=20,
                    what=f"{name} {state}",
                )
                assert status["connector"]["worker_id"] == host
                assert [task["worker_id"] for task in status["tasks"]] in ([host], [host] * 2)
                assert status["connector"].get("trace") == (None if state == "RUNNING" else "the disk is full")
        assert "and runs 2 pipelines of the group" in other.get("/health").json()["message"]


@pytest.mark.proves("R9")
def test_a_service_that_is_gone_leaves_its_pipelines_to_the_others_and_no_other_moves() -> None:
    topic = PaperTopic()
    with group(topic, "one", "two", "three") as [(one, client), (two, _), (three, _)]:
        create(client, *NAMES, "e", "f")
        before = await_split(one, two, three, names=(*NAMES, "e", "f"))
        topic.drop(topic.stores[1])  # killed: it tells nobody anything
        left = await_split(one, three, names=(*NAMES, "e", "f"))
        assert left[0] > before[0]
        assert left[1] > before[2]


@pytest.mark.proves("R9", "R10")
def test_a_new_leader_keeps_what_was_dealt_and_deals_what_the_dead_one_ran() -> None:
    topic = PaperTopic()
    with group(topic, "one", "two", "three") as [(one, client), (two, other), (three, _)]:
        create(client, *NAMES)
        before = await_split(one, two, three)
        topic.drop(topic.stores[0])
        after = await_split(two, three)
        assert (after[0] >= before[1], after[1] >= before[2]) == (True, True)
        assert other.get(f"/connectors/{min(after[1])}/status").json()["connector"]["worker_id"] == "three:8083"


@pytest.mark.proves("R10")
def test_a_service_that_was_away_ends_what_others_got_and_starts_again_what_it_gets_back() -> None:
    topic = PaperTopic()
    with group(topic, "one", "two") as [(one, client), (two, _)]:
        create(client, *NAMES)
        await_split(one, two)
        frozen = topic.stores[1]
        late: list[GroupState] = []
        tell, frozen.on_news = frozen.on_news, late.append
        topic.away.append(frozen)
        topic.changed()
        await_split(one)
        ran = runs(two)
        assert len(ran) == 2, "it does not know yet"
        begun: list[set[str]] = []
        become = two.runner.become

        async def noted(specs: Any, heartbeats: Any) -> Any:
            begun.append({spec.connector_name for spec in specs})
            return await become(specs, heartbeats)

        two.runner.become = noted  # type: ignore[method-assign]
        topic.away.remove(frozen)  # Kafka hears of it again before it hears that it was replaced
        topic.changed()
        wait_until(lambda: len(runs(one)), lambda size: size == 2, within_s=20, what="the first to let go")
        frozen.on_news = tell
        tell(late[-1])  # many records later
        await_split(one, two)
        assert not begun[0] & ran, "what ran through the absence is ended before it runs again"


def test_a_pipeline_moves_when_its_former_service_has_stopped_it() -> None:
    topic = PaperTopic()
    with group(topic, "one") as [(one, client)]:
        create(client, *NAMES)
        await_split(one)
        become, stopped = one.runner.become, threading.Event()

        async def slow(specs: Any, heartbeats: Any) -> Any:
            await asyncio.to_thread(stopped.wait, 60)
            return await become(specs, heartbeats)

        two = service_of(topic, "two")
        one.runner.become = slow  # type: ignore[method-assign]
        with asked(two, active=False):
            told = wait_until(
                lambda: report_of(topic, "two"),
                lambda report: report is not None and len(report.pipelines) == 2,
                within_s=20,
                what="the second to hear of its share",
            )
            assert (told and told.holds, runs(two)) == (frozenset(), set()), "they still run at the first"
            name = min(told.pipelines) if told is not None else ""
            assert client.get(f"/connectors/{name}/status").json()["connector"]["state"] == "RUNNING"
            stopped.set()
            await_split(one, two)


def test_a_restart_reaches_the_service_that_runs_the_pipeline() -> None:
    topic = PaperTopic()
    with group(topic, "one", "two") as [(one, client), (two, _)]:
        create(client, *NAMES)
        split = await_split(one, two)
        there = min(split[1])
        wait_until(
            lambda: client.get(f"/connectors/{there}/status").json()["connector"]["state"],
            lambda state: state == "RUNNING",
            within_s=20,
            what="its state",
        )
        assert client.post(f"/connectors/{there}/restart").status_code == 204
        wait_until(lambda: two.runner.restarted, bool, within_s=20, what="the restart")
        assert (one.runner.restarted, two.runner.restarted) == ([], [f"pipeline {there}"])


def test_a_stopped_pipeline_is_at_nobody_and_one_that_is_deleted_ends() -> None:
    topic = PaperTopic()
    with group(topic, "one", "two") as [(one, client), (two, _)]:
        create(client, *NAMES)
        await_split(one, two)
        assert client.put("/connectors/a/stop").status_code == 204
        await_split(one, two, names=("b", "c", "d"))
        assert client.get("/connectors/a/status").json()["connector"]["state"] == "STOPPED"
        assert client.delete("/connectors/b").status_code == 204
        await_split(one, two, names=("c", "d"))
        assert client.put("/connectors/a/resume").status_code == 202
        await_split(one, two, names=("a", "c", "d"))


def test_a_service_that_lacks_what_a_connector_needs_says_so_and_the_others_continue() -> None:
    topic = PaperTopic()
    one = service_of(topic, "one")
    two = service_of(topic, "two", text=FILES.replace("/data", "/elsewhere"))
    with asked(one) as client, asked(two, active=False):
        create(client, *NAMES)
        wait_until(lambda: len(runs(one)), lambda size: size == 2, within_s=20, what="the share of the first")
        for name in sorted(set(NAMES) - runs(one)):
            status = wait_until(
                lambda of=name: client.get(f"/connectors/{of}/status").json()["connector"],  # type: ignore[misc]
                lambda told: told["state"] == "FAILED",
                within_s=20,
                what=name,
            )
            assert status["worker_id"] == "two:8083"
            assert "connector.allowed.paths" in status["trace"]
        assert runs(two) == set()


@pytest.mark.proves("R8", "R14")
def test_services_that_cannot_tell_each_other_anything_leave_all_to_the_leader_and_say_why() -> None:
    topic = PaperTopic()
    topic.reports_trouble = AccessDenied("store", "Write on the status topic is needed")
    with group(topic, "one", "two") as [(one, client), (two, _)]:
        create(client, *NAMES)
        wait_until(lambda: runs(one), lambda its: its == set(NAMES), within_s=20, what="the leader to run all")
        told = wait_until(
            lambda: client.get("/health").json(),
            lambda health: "cannot be dealt" in health["message"],
            within_s=20,
            what="why nothing is shared",
        )
        assert (told["status"], runs(two)) == ("healthy", set())
        assert "Write on the status topic is needed" in told["message"]
        topic.reports_trouble = None
        await_split(one, two)


def test_only_services_of_the_group_are_dealt_anything() -> None:
    topic = PaperTopic()
    settings = HttpSettings(group_secret=Secret("a secret of this group, long enough"))
    one, two = (service_of(topic, name, http=settings) for name in ("one", "two"))
    with asked(one) as client, asked(two, active=False):
        create(client, *NAMES)
        await_split(one, two)
        stranger = service_of(topic, "three")
        with asked(stranger, active=False):
            assert len(topic.stores) == 3
            create(client, "e")
            await_split(one, two, names=(*NAMES, "e"))
            assert runs(stranger) == set()


def test_an_announcement_and_a_report_need_the_secret_of_the_group() -> None:
    trust, other = (GroupTrust("g", Secret(text)) for text in ("right and long enough", "wrong and long enough"))
    text = trust.announcement("i", "http://i:1")
    assert trust.announced(text) == ("i", "http://i:1")
    assert trust.announced(trust.announcement("i", None)) == ("i", None)
    assert other.announced(text) is None
    assert trust.announced("rdkafka") is None
    assert trust.announced(text.replace("http://i:1", "http://evil:1")) is None
    assert trust.proves_report("i", "{}", trust.sign_report("i", "{}"))
    assert not trust.proves_report("j", "{}", trust.sign_report("i", "{}"))


def dealt(instance: str, **work: tuple[str, ...]) -> Leader:
    return Leader(instance, None, (), {name: Share(None, its) for name, its in work.items()})


def test_a_pipeline_that_was_elsewhere_between_two_looks_has_another_tenure() -> None:
    state = GroupState("g")
    for name in ("x", "y"):
        state = state.take(*state.config_record(name, {}))
    state = state.take(*state.leader_record(dealt("A")))
    alone = state.tenure_of("x")
    state = state.take(*state.leader_record(dealt("A", A=("x",), B=("y",))))
    assert state.tenure_of("x") == alone, "the leader ran it before"
    first = state.tenure_of("y")
    assert first != alone
    state = state.take(*state.leader_record(dealt("A", A=("x", "y"))))
    state = state.take(*state.leader_record(dealt("A", A=("x",), B=("y",))))
    assert (state.tenure_of("x"), state.tenure_of("y") > first) == (alone, True)
    state = state.take(*state.leader_record(dealt("B", A=("x",), B=("y",))))
    assert state.tenure_of("x") == alone, "another leader, the same service"
    state = state.take(*state.leader_record(dealt("B")))
    assert state.tenure_of("x") > first


def test_the_record_of_a_leader_of_an_earlier_version_deals_nothing() -> None:
    state = GroupState("g")
    state = state.take(b"g/leader", b'{"instance": "A", "url": null, "links": []}')
    assert state.leader is not None
    assert state.leader.owner_of("x") == "A"
    record = b'{"instance": "A", "url": null, "links": [], "work": {"B": 7, "C": {"connectors": ["x"]}}}'
    state = state.take(b"g/leader", record)
    assert state.leader is not None
    assert (state.leader.owner_of("x"), state.leader.work) == ("C", {"C": Share(None, ("x",))})
