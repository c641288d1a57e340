"""A real MirrorMaker 2: what it left is taken over, and beside it our copies and positions are judged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from tests.kit.ends import Ends
from tests.kit.groups import set_positions
from tests.kit.logs import read_logs
from tests.kit.mirrormaker import mirrormaker_running, properties_file
from tests.kit.threads import engine_running
from tests.kit.waiting import wait_until

from twinlog.client import AtOrBefore, Exact, MirrorClient, TranslatedOffset
from twinlog.config.resolve import load_file
from twinlog.errors import ClusterError
from twinlog.model.names import TopicPartition

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(400)]

CHECKPOINTS: Final = {
    "refresh_groups_interval_seconds": "1",
    "emit_checkpoints_interval_seconds": "1",
    "sync_group_offsets_enabled": "false",
}


def target_records(ends: Ends, topic: str, partitions: int) -> int:
    """How many offsets the copies of a topic have on the target."""
    places = [TopicPartition(ends.remote(topic), number) for number in range(partitions)]
    found = ends.target.fetch_end_offsets(places)
    return sum(int(end) for end in found.values() if not isinstance(end, ClusterError))


def await_mirrormaker(ends: Ends, topic: str, partitions: int, records: int) -> None:
    wait_until(
        lambda: target_records(ends, topic, partitions),
        lambda copied: copied >= records,
        within_s=120,
        what=f"{records} records copied by MirrorMaker 2",
    )


def await_checkpoints(client: MirrorClient, ends: Ends, group: str) -> dict[TopicPartition, TranslatedOffset]:
    def look() -> dict[TopicPartition, TranslatedOffset]:
        there = f"{ends.alias}.checkpoints.internal" in client.checkpoint_topics()
        return client.translate_offsets(group, ends.alias) if there else {}

    return wait_until(
        look,
        lambda found: len(found) == 2 and all(at.offset > 100 for at in found.values()),
        within_s=150,
        what=f"checkpoints of {ends.alias}",
    )


@pytest.mark.proves("R1", "R2", "R3", "R4")
@pytest.mark.parametrize("ending", ["stopped", "killed", "killed after notes"])
def test_every_record_is_there_once_after_mirrormaker(make_ends: Callable[..., Ends], tmp_path: Path, ending: str):
    ends = make_ends()
    name = ends.create("orders", 3)
    load = ends.load(name, 3)
    load.produce(3_000)
    notes = f"T.offset.flush.interval.ms = {2_000 if ending == 'killed after notes' else 60_000}\n"
    file = properties_file(ends, tmp_path, notes)
    with mirrormaker_running(file) as mm2, load.in_background(rate=500):
        await_mirrormaker(ends, name, 3, 5_000)
        mm2.stop() if ending == "stopped" else mm2.kill()
    copied = target_records(ends, name, 3)
    (link,) = load_file(file).links
    with engine_running(link, tmp_path) as engine:
        ends.await_copied(name)
        load.produce(2_000)
        ends.await_copied(name)
        view = engine.engine.view
    assert view is not None
    ends.check(name)
    taken = sum(view.states[TopicPartition(name, number)].target_first for number in range(3))
    assert taken == copied, "what MirrorMaker 2 copied was not kept"
    assert view.notes["takeover"].counts["continued"] >= 3


@pytest.mark.proves("R5")
def test_beside_mirrormaker_we_are_as_right_and_more_exact(make_ends: Callable[..., Ends], tmp_path: Path):
    """Two aliases for one source make two links into one target: one runs MirrorMaker 2, the other is ours."""
    theirs, ours = make_ends(**CHECKPOINTS), make_ends(**CHECKPOINTS)
    name = theirs.create("orders", 2, retention_ms="86400000", max_message_bytes="2000000")
    group = f"{theirs.prefix}.billing"
    for ends in (theirs, ours):
        ends.set(topics=name, groups=group)
    load = theirs.load(name, 2)
    load.produce(4_000)
    ends_of_source = theirs.source_ends([name])
    positions = {(name, 0): 1_234, (name, 1): int(ends_of_source[TopicPartition(name, 1)]) - 7}
    set_positions(theirs.source_logs, group, positions)
    with mirrormaker_running(properties_file(theirs, tmp_path)), engine_running(ours.link, tmp_path, with_chores=True):
        by_them, by_us = MirrorClient(theirs.link), MirrorClient(ours.link)
        told = [await_checkpoints(by_us, ours, group), await_checkpoints(by_them, theirs, group)]
    mine, his = ({place.partition: at.offset for place, at in found.items()} for found in told)
    for (_, number), position in positions.items():
        assert his[number] <= mine[number] == position  # without holes the truth is the position itself
    remote_of = {ends: f"{ends.alias}.{name}" for ends in (theirs, ours)}
    logs = {ends: read_logs(ends.target_logs, remote, "read_uncommitted") for ends, remote in remote_of.items()}
    contents = [[[record[1:] for record in log] for log in logs[ends].values()] for ends in (theirs, ours)]
    assert contents[0] == contents[1]
    configs = [_set_configs(ends, remote) for ends, remote in remote_of.items()]
    assert configs[0] == configs[1]
    assert configs[1]["max.message.bytes"] == "2000000"
    # Translated without a ledger, by the syncs that it left on the source: never ahead of the truth.
    for offset in (0, 1, 1_234, 1_999):
        coarse, exact = by_them.translate(name, 0, offset, theirs.alias), by_us.translate(name, 0, offset, ours.alias)
        assert exact == Exact(offset)
        assert isinstance(coarse, AtOrBefore | Exact)
        assert coarse.offset <= offset


def _set_configs(ends: Ends, topic: str) -> dict[str, str | None]:
    configs = ends.target.fetch_topic_configs([topic])[topic]
    assert not isinstance(configs, ClusterError)
    return {config.name: config.value for config in configs if config.origin.name == "TOPIC"}
