import asyncio
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from twinlog.surface.cli.notify import Supervisor, known_phases


@pytest.fixture
def listener(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.bind(str(tmp_path / "notify"))
        sock.settimeout(5)
        yield sock


def heard(sock: socket.socket) -> str:
    return sock.recv(4096).decode()


def test_nobody_is_told_unless_somebody_wants_to_know():
    assert Supervisor.of({}) is None
    assert Supervisor.of({"NOTIFY_SOCKET": "vsock:2:1234"}) is None


def test_the_watchdog_is_for_the_process_that_it_names():
    wanted = {"NOTIFY_SOCKET": "/s", "WATCHDOG_USEC": "30000000"}
    assert Supervisor.of(wanted) == Supervisor("/s", 30.0)
    assert Supervisor.of({**wanted, "WATCHDOG_PID": str(os.getpid())}) == Supervisor("/s", 30.0)
    assert Supervisor.of({**wanted, "WATCHDOG_PID": "1"}) == Supervisor("/s", None)


@pytest.mark.parametrize(
    ("phases", "to_run", "waited_s", "known"),
    [
        (["starting"], ["a->b"], 1, ["starting"]),
        ([], ["a->b"], 60, None),
        ([], [], 1, []),
        ([], None, 1, None),
        ([], None, 60, []),
    ],
    ids=["links run", "links are to come", "there are none", "whose they are is open", "another service has them"],
)
def test_a_service_is_not_ready_before_it_is_known_which_links_it_runs(phases, to_run, waited_s, known):
    assert known_phases(phases, to_run, waited_s) == known


def test_ready_is_said_once_and_only_when_no_link_is_starting(listener: socket.socket):
    supervisor = Supervisor(listener.getsockname())
    supervisor.look(None)
    supervisor.look(["running", "starting"])
    supervisor.look(["running", "waiting"])
    assert heard(listener) == "READY=1\nSTATUS=links: 1 running, 1 waiting"
    supervisor.look(["running", "waiting"])
    supervisor.look(["running", "running"])
    assert heard(listener) == "STATUS=links: 2 running"


def test_the_loop_says_that_it_lives_and_when_it_ends(listener: socket.socket):
    async def story() -> list[str]:
        task = asyncio.create_task(Supervisor(listener.getsockname(), 0.03).follow(list))
        said = [await asyncio.to_thread(heard, listener) for _ in range(3)]
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        while said[-1] != "STOPPING=1":
            said.append(await asyncio.to_thread(heard, listener))
        return said

    assert asyncio.run(story())[:3] == ["READY=1\nSTATUS=links: no links", "WATCHDOG=1", "WATCHDOG=1"]


def test_a_file_that_is_read_anew_is_told_and_when_that_is_over(listener: socket.socket):
    supervisor = Supervisor(listener.getsockname())
    with supervisor.reloading():
        pass
    supervisor.look(["running"])
    assert heard(listener).startswith("READY=1\nSTATUS=")
    with supervisor.reloading():
        kind, _, since = heard(listener).partition("\nMONOTONIC_USEC=")
        assert kind == "RELOADING=1"
        assert 0 <= time.monotonic_ns() // 1000 - int(since) < 60_000_000
    assert heard(listener) == "READY=1"


def test_a_vanished_listener_disturbs_nobody_and_one_that_returns_hears_what_is_new(tmp_path: Path):
    address = str(tmp_path / "gone")
    supervisor = Supervisor(address)
    supervisor.look(["running"])
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as returned:
        returned.bind(address)
        returned.settimeout(5)
        supervisor.look(["running", "running"])
        assert heard(returned) == "STATUS=links: 2 running"
