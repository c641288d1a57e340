"""Disaster recovery as an operator does it: processes and commands, clusters of three brokers, real applications."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.kit.applications import Reader, Writer, console_read, wait_for_progress
from tests.kit.ends import Ends
from tests.kit.engine import TWINLOG, EngineProcess, twinlog, twinlog_run
from tests.kit.switches import IDENTITY, commit_at, log_numbers, produce
from tests.kit.waiting import wait_until

from twinlog.ledger.reading import look_at_ledger
from twinlog.local.cluster import LocalCluster
from twinlog.sync.checkpoints import Checkpoints
from twinlog.sync.internal_topics import InternalLog
from twinlog.wire.connection import Cluster

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(900)]

MakeCluster = Callable[..., LocalCluster]
SETTINGS = {
    "replication_policy_class": IDENTITY,
    "emit_checkpoints_interval_seconds": "1",
    "sync_group_offsets_interval_seconds": "1",
    "refresh_groups_interval_seconds": "1",
    "switch_grace_seconds": "5",
    "replication_factor": "3",
}


def ends_with_address(make_cluster: MakeCluster, folder: Path, *, pause: str = "") -> tuple[Ends, Path]:
    """Two clusters of three brokers, and a file that the redirect hook keeps up to date."""
    source, target = make_cluster("primary", brokers=3), make_cluster("standby", brokers=3)
    address, hook = folder / "address", folder / "move.sh"
    address.write_text(source.bootstrap_servers)
    hook.write_text(
        f'#!/bin/sh\n{pause}\nprintf %s "$TWINLOG_BOOTSTRAP" > {address}.new && mv {address}.new {address}\n'
    )
    hook.chmod(0o755)
    hooks = {"redirects": "clients", "redirects_clients_type": "command", "redirects_clients_command": str(hook)}
    return Ends(source, target, **SETTINGS, **hooks), address


def command(engine: EngineProcess, folder: Path, *words: str) -> dict[str, Any]:
    """One command to its end, as JSON."""
    more = ["-c", str(engine.file), "--folder", str(folder / "switch"), "-o", "json"]
    done = subprocess.run([*TWINLOG, *words, *more], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@contextmanager
def applications(address: Path, topic: str, group: str) -> Iterator[tuple[Writer, Reader]]:
    writer, reader = Writer(address, topic, rate=300), Reader(address, topic, group)
    writer.start()
    reader.start()
    try:
        yield writer, reader
    finally:
        writer.finish()
        reader.finish()


@pytest.mark.proves("R1", "R2", "R3", "R5")
def test_a_planned_switch_under_load_and_back_loses_nothing_and_reads_nothing_twice(
    make_cluster: MakeCluster, tmp_path: Path
) -> None:
    ends, address = ends_with_address(make_cluster, tmp_path)
    topic, group = ends.create("orders"), f"g{ends.alias}"
    with twinlog_run(ends, tmp_path) as engine, applications(address, topic, group) as (writer, reader):
        wait_for_progress(reader, 500)
        report = command(engine, tmp_path, "failover", f"{ends.alias}->T", "--planned", "--yes")
        assert report["active"] == "T"
        assert address.read_text() == ends.target_cluster.bootstrap_servers
        wait_for_progress(reader, 500)
        report = command(engine, tmp_path, "failback", f"{ends.alias}->T", "--delta", "--yes")
        assert report["active"] == ends.alias
        assert report["tail"]["records"] == 0
        wait_for_progress(reader, 500)
        writer.finish()
        wanted = sorted(writer.acknowledged)
        wait_until(lambda: len(set(reader.read)), lambda count: count >= len(wanted), within_s=60, what="all records")
        assert writer.once(reader.read) == wanted, "a record was lost or read twice"
        here, there = ends.source_cluster.bootstrap_servers, ends.target_cluster.bootstrap_servers
        wait_until(
            lambda: log_numbers(there, topic),
            lambda log: log == log_numbers(here, topic),
            within_s=60,
            what="equal logs",
        )
        assert writer.once(log_numbers(here, topic)) == wanted
        assert set(writer.acknowledged.values()) == {here, there}


@pytest.mark.proves("R1", "R2", "R5", "R7", "R9")
def test_the_loss_of_a_whole_cluster_with_the_switch_itself_killed_on_the_way(
    make_cluster: MakeCluster, tmp_path: Path
) -> None:
    ends, address = ends_with_address(make_cluster, tmp_path, pause=f"while [ -e {tmp_path}/wait ]; do sleep 0.1; done")
    here, there = ends.source_cluster.bootstrap_servers, ends.target_cluster.bootstrap_servers
    topic, group = ends.create("payments"), f"g{ends.alias}"
    produce(here, topic, range(9_998))
    commit_at(here, group, topic, 8_000)
    with twinlog_run(ends, tmp_path) as engine:
        ends.await_copied(topic)
        # A look at groups in the midst of the copying tells what is copied by then; the next one tells the rest.
        wait_until(lambda: told_position(ends, group), lambda at: at == 8_000, within_s=60, what="a checkpoint")
        for worker in wait_until(lambda: engine.workers("reader"), bool, within_s=30, what="readers"):
            worker.suspend()  # the last two are produced, and known, but not copied
        produce(here, topic, range(9_998, 10_000))
        wait_until(lambda: known_end(ends, topic), lambda end: end == 10_000, within_s=60, what="a known end")
        ends.source_cluster.kill()

        (tmp_path / "wait").touch()
        link = f"{ends.alias}->T"
        words = ["failover", link, "--unplanned", "--yes", "-c", str(engine.file), "--folder", str(tmp_path / "switch")]
        with (tmp_path / "failover.out").open("wb") as out:
            doomed = subprocess.Popen([*TWINLOG, *words], stdout=out, stderr=out, start_new_session=True)
        journal = tmp_path / "switch"
        wait_until(lambda: steps_begun(journal), lambda seen: "redirect" in seen, within_s=120, what="the redirect")
        os.killpg(doomed.pid, signal.SIGKILL)
        doomed.wait(20)
        refused = twinlog("failover", link, "--planned", "--yes", "-c", str(engine.file))
        assert refused.returncode == 1
        assert "already running" in refused.stderr
        (tmp_path / "wait").unlink()
        report = command(engine, tmp_path, "switch", "resume", link)
        assert report["outcome"] == "done"
        assert report["lost"]["lost"] == {f"{topic}-0": [9_998, 10_000]}
        assert address.read_text() == there
        assert console_read(there, topic, group) == list(range(8_000, 9_998))
        produce(there, topic, range(10_000, 10_100))

        ends.source_cluster.start()
        back = command(engine, tmp_path, "failback", f"{ends.alias}->T", "--delta", "--yes")
        assert back["tail"]["records"] == 2
        assert log_numbers(here, topic) == list(range(10_100))
        assert sorted(log_numbers(there, topic)) == list(range(10_100))
        assert address.read_text() == here
        # The two were read on neither side, so the group begins there again.
        assert console_read(here, topic, group) == list(range(9_998, 10_100))


def told_position(ends: Ends, group: str) -> int | None:
    """Where a group stands on the source, as the last checkpoint tells."""

    async def read() -> int | None:
        target = Cluster(ends.link.clients.target_producer, "test")
        try:
            topic = ends.link.naming.checkpoints_topic(ends.link.source)
            checkpoints = Checkpoints(InternalLog(target, topic))
            await checkpoints.load()
            return next((told.upstream for (name, _), told in checkpoints.told.items() if name == group), None)
        finally:
            await target.close()

    return asyncio.run(read())


def known_end(ends: Ends, topic: str) -> int | None:
    """How far the source goes by the ledger."""
    view = asyncio.run(look_at_ledger(ends.link.clients.target_producer, ends.alias, within_s=20))
    memo = view.memos.get("source-ends", {}).get(topic) if view else None
    return None if memo is None else int(memo.body["ends"][0])


def steps_begun(folder: Path) -> set[str]:
    """Steps that the local journals tell of."""
    lines = [line for file in folder.glob("*.jsonl") for line in file.read_text().splitlines()]
    return {entry["step"] for line in lines if (entry := json.loads(line)).get("event") == "begun"}
