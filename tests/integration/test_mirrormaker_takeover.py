"""Going on behind MirrorMaker 2: its leavings are made here by hand, so that every case comes up in seconds.

What a real MirrorMaker 2 leaves, stopped or killed, is tried in `tests/compat`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Producer
from tests.kit.ends import Ends
from tests.kit.logs import read_logs
from tests.kit.threads import engine_running
from typer.testing import CliRunner

from twinlog.kafka.admin import TopicOrder
from twinlog.kafka.client_options import client_options
from twinlog.model.mirrormaker.records import OffsetSync, SourceOffset, connect_offsets_topic
from twinlog.model.mirrormaker.takeover_decision import Fresh, Inherited, Refused
from twinlog.model.names import TopicPartition
from twinlog.surface.cli.main import app
from twinlog.sync.mirrormaker_takeover import MirrorMakerTakeover


class StandIn:
    """Copies, notes and writes syncs as MirrorMaker 2 does, but stops exactly where it is told to."""

    def __init__(self, ends: Ends) -> None:
        self.ends = ends
        self.link = ends.link
        self._source = Producer(dict(client_options(self.link.clients.source_producer)))
        self._target = Producer(dict(client_options(self.link.clients.target_producer)))
        self._offsets = connect_offsets_topic(ends.alias)
        self._syncs = self.link.naming.offset_syncs_topic("T")
        for admin, topic in ((ends.target, self._offsets), (ends.source, self._syncs)):
            admin.create_topics([TopicOrder(topic, 1, 1, {"cleanup.policy": "compact"})])
            ends.await_topic(admin, topic)

    def create_remote(self, topic: str, partitions: int) -> None:
        remote = self.ends.remote(topic)
        self.ends.target.create_topics([TopicOrder(remote, partitions, 1, {})])
        self.ends.await_topic(self.ends.target, remote, partitions)

    def copy(self, place: TopicPartition, first: int, end: int, *, at: int) -> int:
        """Copy source offsets first..end-1 to target offset `at` and behind; the first gets a sync."""
        records = read_logs(self.ends.source_logs, place.topic, "read_uncommitted", [place.partition])[place.partition]
        for record in records[first:end]:
            self._target.produce(
                self.ends.remote(place.topic),
                key=record.key,
                value=record.value,
                partition=place.partition,
                headers=list(record.headers),
                timestamp=record.timestamp[1],
            )
        self._target.flush()
        sync = OffsetSync(place.topic, place.partition, first, at)
        self._source.produce(self._syncs, key=sync.key(), value=sync.value())
        self._source.flush()
        return at + end - first

    def disturb(self, place: TopicPartition) -> None:
        """Somebody else writes into the target topic."""
        self._target.produce(self.ends.remote(place.topic), value=b"not ours", partition=place.partition)
        self._target.flush()

    def note(self, place: TopicPartition, last: int) -> None:
        offset = SourceOffset("MirrorSourceConnector", self.ends.alias, *place, last)
        self._target.produce(self._offsets, key=offset.key(), value=offset.value())
        self._target.flush()


# Deleted while the engine runs, the copy can be seen for a moment as empty. The engine then begins with it, sees it go
# before it got a record, and begins anew.
@pytest.mark.parametrize("deleted", ["while it stands", pytest.param("while it runs", marks=pytest.mark.chaos)])
@pytest.mark.proves("R1", "R2", "R3", "R7", "R8")
def test_every_record_is_on_the_target_once_after_a_take_over(
    make_ends: Callable[..., Ends], tmp_path: Path, deleted: str
):
    ends = make_ends()
    mm2 = StandIn(ends)
    names = {short: ends.create(short, parts) for short, parts in (("taken", 4), ("spoiled", 1), ("new", 1))}
    loads = [ends.load(name, 4 if short == "taken" else 1) for short, name in names.items()]
    for load in loads:
        load.produce(600)
    taken, spoiled = names["taken"], TopicPartition(names["spoiled"], 0)
    mm2.create_remote("taken", 4)
    mm2.create_remote("spoiled", 1)
    # Partition 0 was stopped cleanly, 1 was killed: it noted less than it copied; 2 had copied nothing yet; 3 was
    # killed before it noted anything.
    mm2.copy(TopicPartition(taken, 0), 0, 120, at=0)
    mm2.note(TopicPartition(taken, 0), 119)
    mm2.copy(TopicPartition(taken, 1), 0, 150, at=0)
    mm2.note(TopicPartition(taken, 1), 70)
    mm2.copy(TopicPartition(taken, 3), 0, 77, at=0)
    mm2.copy(spoiled, 0, 50, at=0)
    mm2.disturb(spoiled)
    mm2.note(spoiled, 49)

    link = ends.link
    takeover = MirrorMakerTakeover(link, ends.source, ends.target)
    asked = [*(TopicPartition(taken, number) for number in range(4)), spoiled]
    clean, killed, untouched, unnoted, other = takeover.decide(asked, wait=True).values()
    assert clean == Inherited(119, 120, checked=True)
    assert isinstance(killed, Inherited)
    assert (killed.resume, killed.checked) == (150, True)
    assert untouched == Fresh()
    assert isinstance(unnoted, Inherited)
    assert (unnoted.resume, unnoted.checked) == (77, True)
    assert isinstance(other, Refused)

    shown = CliRunner().invoke(
        app, ["import", "mm2", link.name, "--dry-run", "-c", str(ends.write_file(tmp_path)), "-o", "json"]
    )
    assert shown.exit_code == 1  # one is refused
    rows = {(row["topic"], row["partition"]): row for row in json.loads(shown.stdout)}
    assert rows[taken, 0] | {"remote": ""} == {
        "topic": taken,
        "partition": 0,
        "remote": "",
        "mirrormaker_noted": 119,
        "starts_at": 120,
        "how": "compared",
        "why": "",
    }
    assert (rows[taken, 2]["how"], rows[spoiled]["how"]) == ("begins", "refused")

    with engine_running(link, tmp_path):
        ends.await_copied(taken, names["new"])
        (problem,) = ends.status().problems
        assert problem.code == "TAKE_OVER_REFUSED"
        assert problem.facts["topic"] == spoiled.topic
        for load in loads:
            load.produce(90)
        ends.await_copied(taken, names["new"])
        # The way out: without the spoiled copy the topic begins anew, by itself.
        if deleted == "while it runs":
            ends.delete(ends.target, ends.remote("spoiled"))
            ends.await_copied(within_s=60)
    if deleted == "while it stands":
        ends.delete(ends.target, ends.remote("spoiled"))
        with engine_running(link, tmp_path / "again"):
            ends.await_copied(within_s=60)
    ends.check()


@pytest.mark.proves("R2")
def test_doubles_that_crashes_left_are_not_added_to(make_ends: Callable[..., Ends], tmp_path: Path):
    ends = make_ends()
    mm2 = StandIn(ends)
    name = ends.create("doubled", 1)
    ends.load(name).produce(300)
    place = TopicPartition(name, 0)
    mm2.create_remote("doubled", 1)
    reached = mm2.copy(place, 0, 200, at=0)
    reached = mm2.copy(place, 101, 130, at=reached)
    mm2.note(place, 100)
    with engine_running(ends.link, tmp_path) as engine:
        ends.await_copied()
        note = engine.engine.view.notes["takeover"] if engine.engine.view else None
    copies = read_logs(ends.target_logs, ends.remote("doubled"), "read_uncommitted", [0])[0]
    originals = read_logs(ends.source_logs, name, "read_uncommitted", [0])[0]
    assert len(copies) == 300 + 29
    assert [copy.value for copy in copies[reached:]] == [record.value for record in originals[200:]]
    assert note is not None
    assert any("more than once" in finding for finding in note.findings)


def test_connectors_and_topics_of_other_names_are_found_when_told(make_ends: Callable[..., Ends]):
    ends = make_ends(mm2_takeover_connector="east.MirrorSourceConnector", mm2_takeover="trust")
    name = ends.create("elsewhere", 1)
    ends.load(name).produce(20)
    place = TopicPartition(name, 0)
    mm2 = StandIn(ends)
    mm2.create_remote("elsewhere", 1)
    mm2.copy(place, 0, 10, at=0)
    mm2.note(place, 9)
    strange = MirrorMakerTakeover(ends.link, ends.source, ends.target)
    ((_, left),) = strange.decide([place], wait=True).items()
    assert isinstance(left, Fresh)
    assert left.remark is not None
    assert "reaches to offset 10" in left.remark
    told = MirrorMakerTakeover(ends.link, ends.source, ends.target, connector="MirrorSourceConnector")
    assert told.decide([place], wait=True) == {place: Inherited(9, 10, checked=False)}
