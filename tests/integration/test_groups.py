"""Consumer groups switched from one real cluster to another: they read on exactly where they stopped."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Final, get_args

import pytest
from tests.kit.ends import Ends, numbers
from tests.kit.groups import Protocol, member, position, read_on, set_positions
from tests.kit.load import Ending
from tests.kit.logs import read_logs
from tests.kit.threads import ThreadedEngine, engine_running
from tests.kit.waiting import wait_until
from typer.testing import CliRunner, Result

from twinlog.config.resolve import resolve
from twinlog.errors import PositionUnknown, SelectionEmpty
from twinlog.kafka.admin import TopicOrder
from twinlog.local.cluster import LocalCluster
from twinlog.model.ledger.records import ChoreNote
from twinlog.model.mirrormaker.records import Checkpoint, OffsetSync
from twinlog.surface.cli.main import app
from twinlog.wire.connection import Cluster
from twinlog.wire.frames import compact_string

MakeEnds = Callable[..., Ends]

EVERY_SECOND: Final = {
    "refresh_groups_interval_seconds": "1",
    "emit_checkpoints_interval_seconds": "1",
    "sync_group_offsets_interval_seconds": "1",
}
ALL: Final = 1_000_000


def ends_with_groups(make_ends: MakeEnds, **settings: str) -> Ends:
    """A link that looks at the groups of its own test only."""
    ends = make_ends(**EVERY_SECOND, **settings)
    ends.set(groups=f"{ends.prefix}.*")
    return ends


def on_target(ends: Ends, group: str, topic: str) -> int | None:
    """Where a group stands in the copy of a topic with one partition."""
    return position(ends.target_logs, group, ends.remote(topic))


def await_on_target(ends: Ends, group: str, topic: str, offset: int) -> None:
    wait_until(lambda: on_target(ends, group, topic), lambda at: at == offset, within_s=60, what=f"{group} at {offset}")


def await_note(engine: ThreadedEngine, accept: Callable[[ChoreNote], bool], what: str) -> ChoreNote:
    """Wait until the sync job says so."""
    note = wait_until(
        lambda: engine.chores.notes.get("groups"),
        lambda note: note is not None and accept(note),
        within_s=60,
        what=what,
    )
    assert note is not None
    return note


@pytest.mark.proves("R5")
def test_a_group_reads_exactly_its_unread_records_after_a_switch(make_ends: MakeEnds, tmp_path: Path) -> None:
    ends = ends_with_groups(make_ends)
    name = ends.create("orders")
    load = ends.load(name)
    for _ in range(3):
        load.produce(20)
        load.transaction(15, Ending.COMMITTED)
        load.transaction(10, Ending.ABORTED)
    everything, done = load.acknowledged[0], {"classic": 40, "consumer": 71}
    for protocol in get_args(Protocol):
        some = read_on(ends.source_logs, ends.name(protocol), name, done[protocol], protocol, reset="earliest")
        assert numbers(some) == everything[: done[protocol]]
    with engine_running(ends.link, tmp_path, with_chores=True) as engine:
        ends.await_copied()
        load.transaction(10, Ending.COMMITTED)
        ends.await_copied()
        note = await_note(engine, lambda note: note.counts.get("exact") == len(done), "exact positions")
        assert (note.findings, note.trouble) == ([], None)
        wait_until(
            lambda: [on_target(ends, ends.name(protocol), name) for protocol in done],
            lambda seen: None not in seen,
            within_s=60,
            what="a position of each group",
        )
    for protocol in get_args(Protocol):
        rest = read_on(ends.target_logs, ends.name(protocol), ends.remote(name), ALL, protocol)
        assert numbers(rest) == everything[done[protocol] :]
    told = read_logs(ends.target_logs, f"{ends.alias}.checkpoints.internal", "read_committed", [0])[0]
    checkpoints = {(found := Checkpoint.read(record.key, record.value)).group: found for record in told}
    for protocol in get_args(Protocol):
        upstream = position(ends.source_logs, ends.name(protocol), name)
        assert upstream is not None
        seen = checkpoints[ends.name(protocol)]
        assert (seen.topic, seen.partition, seen.upstream) == (ends.remote(name), 0, upstream)
        source = next(r for r in read_logs(ends.source_logs, name, "read_committed")[0] if r.offset >= upstream)
        target = next(
            r for r in read_logs(ends.target_logs, seen.topic, "read_committed")[0] if r.offset >= seen.downstream
        )
        assert (source.key, source.value) == (target.key, target.value)
        assert target.offset == seen.downstream


@pytest.mark.proves("R6")
def test_a_rewind_is_followed_and_a_group_with_members_on_the_target_is_left_alone(
    make_ends: MakeEnds, tmp_path: Path
) -> None:
    ends = ends_with_groups(make_ends)
    name, group, shared = ends.create("orders"), ends.name("app"), ends.name("shared")
    ends.load(name).produce(50)
    set_positions(ends.source_logs, group, {(name, 0): 30})
    asyncio.run(_join_share_group(ends, shared, name))
    with engine_running(ends.link, tmp_path, with_chores=True) as engine:
        await_on_target(ends, group, name, 30)
        set_positions(ends.source_logs, group, {(name, 0): 10})
        await_on_target(ends, group, name, 10)
        with member(ends.target_logs, group, ends.remote(name)) as consumer:
            wait_until(lambda: consumer.poll(0.1), lambda message: message is not None, within_s=60, what="a record")
            set_positions(ends.source_logs, group, {(name, 0): 40})
            note = await_note(engine, lambda note: note.counts.get("active") == 1, "a group with members")
            assert on_target(ends, group, name) == 10
            assert note.counts["active_groups"] == 1
        assert note.findings == [f"{shared}: a share group has no position that could be translated"]
        await_on_target(ends, group, name, 40)


@pytest.mark.proves("R6")
def test_a_rewind_is_held_where_the_operator_wants_that(make_ends: MakeEnds, tmp_path: Path) -> None:
    ends = ends_with_groups(make_ends, group_rewinds="hold")
    name, group = ends.create("orders"), ends.name("app")
    ends.load(name).produce(50)
    set_positions(ends.source_logs, group, {(name, 0): 30})
    with engine_running(ends.link, tmp_path, with_chores=True) as engine:
        await_on_target(ends, group, name, 30)
        set_positions(ends.source_logs, group, {(name, 0): 10})
        note = await_note(engine, lambda note: note.counts.get("held") == 1, "a position that is held")
        assert "the group went back to 10" in note.findings[0]
        assert on_target(ends, group, name) == 30
    check_commands(ends, tmp_path, name, group)


def check_commands(ends: Ends, folder: Path, name: str, group: str) -> None:
    """What the commands say about it, with no engine running."""
    file, link, unmirrored = str(ends.write_file(folder)), f"{ends.alias}->T", f"private-{ends.alias}"
    assert ends.source.create_topics([TopicOrder(unmirrored, 1, 1, {})]) == {unmirrored: None}
    ends.await_topic(ends.source, unmirrored)
    set_positions(ends.source_logs, ends.name("lost"), {(name, 0): 20, (unmirrored, 0): 4})
    answer = CliRunner().invoke(app, ["groups", link, "-c", file, "-o", "json"])
    assert answer.exit_code == 0, answer.output
    rows = {(row["group"], row["topic"]): row for row in json.loads(answer.stdout)["positions"]}
    held = rows[group, name]
    assert (held["source_offset"], held["target_offset"], held["committed_on_target"]) == (10, 10, 30)
    assert (held["translation"], held["re_read"], held["active_on_target"]) == ("exact", 0, False)
    assert "hold" in held["reason"]
    assert rows[ends.name("lost"), name]["re_read"] is None
    assert rows[ends.name("lost"), unmirrored]["reason"] == "the topic is not mirrored by this link"
    table = CliRunner().invoke(app, ["groups", link, "-c", file, "--group", ".*lost"])
    assert (table.exit_code, group in table.output) == (0, False)
    assert isinstance(CliRunner().invoke(app, ["groups", link, "-c", file, "-g", "x"]).exception, SelectionEmpty)

    def translated(topic: str, partition: int, offset: int, *more: str) -> Result:
        where = ["--topic", topic, "--partition", str(partition), "--offset", str(offset)]
        return CliRunner().invoke(app, ["translate", link, *where, "-c", file, *more])

    assert translated(name, 0, 17).stdout == f"{ends.remote(name)}-0 offset 17 on T (exact)\n"
    assert "offset 50 on T (at-or-before)" in translated(name, 0, 99).stdout
    assert f"{name}-0 offset 17 on {ends.alias} (exact)" in translated(ends.remote(name), 0, 17, "--reverse").stdout
    for topic, partition, reason in ((unmirrored, 0, "no include pattern"), (name, 7, "not mirrored yet")):
        unknown = translated(topic, partition, 1, "-o", "json")
        assert (unknown.exit_code, reason in json.loads(unknown.stdout)["reason"]) == (1, True), unknown.stdout
    assert isinstance(translated("nothing", 0, 1, "--reverse").exception, PositionUnknown)


@pytest.mark.proves("R5", "R6")
def test_a_group_that_commits_while_the_link_changes_hands_misses_and_repeats_nothing(
    make_ends: MakeEnds, tmp_path: Path
) -> None:
    ends = ends_with_groups(make_ends)
    name, group = ends.create("orders"), ends.name("app")
    load = ends.load(name)
    load.produce(30)
    read = read_on(ends.source_logs, group, name, 10, reset="earliest")
    with load.in_background(rate=300):
        with (
            engine_running(ends.link, tmp_path / "a", with_chores=True) as first,
            engine_running(ends.link, tmp_path / "b", with_chores=True),  # fences the first in full flow
        ):
            first.await_end()
            read += read_on(ends.source_logs, group, name, 200)
        read += read_on(ends.source_logs, group, name, 50)  # while no engine runs
    with engine_running(ends.link, tmp_path / "c", with_chores=True):
        ends.await_copied()
        target = read_logs(ends.target_logs, ends.remote(name), "read_committed")[0]
        expected = next(r.offset for r, number in zip(target, numbers(target), strict=True) if number == len(read))
        assert position(ends.source_logs, group, name) == len(read)
        await_on_target(ends, group, name, expected)
        pairs = wait_until(lambda: offset_syncs(ends, name), bool, within_s=30, what="pairs of offsets")
    rest = read_on(ends.target_logs, group, ends.remote(name), ALL)
    assert numbers(read) + numbers(rest) == load.acknowledged[0]
    by_offset = {r.offset: n for r, n in zip(target, numbers(target), strict=True)}
    assert pairs
    assert all(by_offset[pair.downstream] == pair.upstream for pair in pairs)
    assert [pair.upstream for pair in pairs] == sorted({pair.upstream for pair in pairs})


@pytest.mark.proves("R5")
def test_a_group_that_reads_the_copy_goes_on_in_the_original_by_the_opposite_ledger(
    source_cluster: LocalCluster, target_cluster: LocalCluster, tmp_path: Path
) -> None:
    ends = Ends(target_cluster, source_cluster)
    name, group = ends.create("orders"), ends.name("app")
    load = ends.load(name)
    load.transaction(30, Ending.ABORTED)
    load.transaction(20, Ending.COMMITTED)
    load.produce(30)
    with engine_running(ends.link, tmp_path / "there"):
        ends.await_copied()
    read = read_on(ends.target_logs, group, ends.remote(name), 25, reset="earliest")
    back = f"T->{ends.alias}"
    wishes = {"enabled": "true", "groups": f"{ends.prefix}.*", "topics": f"{ends.prefix}.*", "tasks.max": "1"}
    lines = "".join(f"{back}.{key} = {value}\n" for key, value in wishes.items())
    links = resolve((ends.properties + lines).encode("latin-1"), "test.properties", (), {}).links
    (home,) = [link for link in links if link.name == back]
    with engine_running(home, tmp_path / "back", with_chores=True) as engine:
        await_note(engine, lambda note: note.counts.get("written") == 1, "a position in the original")
    rest = read_on(ends.source_logs, group, name, ALL)
    assert numbers(read) + numbers(rest) == load.acknowledged[0]


def offset_syncs(ends: Ends, topic: str) -> list[OffsetSync]:
    """Every pair that was told of a topic."""
    records = read_logs(ends.source_logs, "mm2-offset-syncs.T.internal", "read_committed", [0])[0]
    syncs = [OffsetSync.read(record.key, record.value) for record in records]
    return [sync for sync in syncs if sync.topic == topic]


async def _join_share_group(ends: Ends, group: str, topic: str) -> None:
    """One heartbeat of a member: the group exists from then on. The ordinary client knows no share groups."""
    cluster = Cluster(ends.link.clients.source_admin, "test")
    try:
        await cluster.refresh(None)
        connection = await cluster.connection(next(iter(cluster.nodes)))
        body = [
            compact_string(group),
            compact_string(uuid.uuid4().hex),
            b"\x00\x00\x00\x00\x00\x02",  # epoch 0, no rack, one topic
            compact_string(topic),
            b"\x00",
        ]
        for _ in range(100):
            reader = await connection.exchange(76, 1, body, flexible=True, timeout_s=10)
            reader.i32()
            if (error := reader.i16()) == 0:
                return
            assert error in {14, 15, 16}, error  # the coordinator is about to be there
            await asyncio.sleep(0.1)
        raise AssertionError("no share group")
    finally:
        await cluster.close()
