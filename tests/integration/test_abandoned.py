"""What a killed owner wrote and did not note is met by the next one, whatever happened to it in between."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.kit.abandoned import Abandoned
from tests.kit.ends import Ends
from tests.kit.switches import do_switch, log_numbers, produce
from tests.kit.threads import engine_running

from twinlog.ledger.reading import look_at_ledger
from twinlog.model.names import TopicPartition

MakeEnds = Callable[..., Ends]


def abandoned(ends: Ends, **wishes: str) -> Abandoned:
    """A topic of 300 records, in batches of 50 and of plain numbers."""
    topic = ends.create("orders")
    for first in range(0, 300, 50):
        assert produce(ends.source_cluster.bootstrap_servers, topic, range(first, first + 50)) == []
    return Abandoned.of(ends, topic, **wishes)


def copy_on(left: Abandoned, folder: Path) -> list[int]:
    """Let an engine take over with 50 more records to copy; returns what a reader of the target finds."""
    ends = left.ends
    assert produce(ends.source_cluster.bootstrap_servers, left.topic, range(300, 350)) == []
    with engine_running(ends.link, folder):
        status = ends.await_copied(left.topic)
    assert [part.fault for part in status.partitions] == [None]
    return log_numbers(ends.target_cluster.bootstrap_servers, left.remote.topic)


@pytest.mark.proves("R1", "R2")
@pytest.mark.parametrize("deleted", [0, 170, 300], ids=lambda count: f"{count}-deleted")
def test_an_unnoted_tail_is_not_written_again_though_retention_took_a_part_or_all_of_it(
    make_ends: MakeEnds, tmp_path: Path, deleted: int
) -> None:
    left = abandoned(make_ends())
    left.leave(noted=100)
    if deleted:
        left.ends.delete_records(left.remote.topic, 0, deleted, on_target=True)
    assert copy_on(left, tmp_path) == list(range(deleted, 350))


@pytest.mark.proves("R1", "R2")
def test_a_closed_partition_with_records_behind_it_was_not_closed_last(make_ends: MakeEnds, tmp_path: Path) -> None:
    """The ledger lost its end in an unclean election; what is left says that the partition is closed."""
    left = abandoned(make_ends())
    left.leave(noted=100, phase="closed")
    assert copy_on(left, tmp_path) == list(range(350))


@pytest.mark.proves("R2", "R7")
def test_a_forced_stop_counts_what_was_written_with_an_id_that_kafka_gave_up(
    make_ends: MakeEnds, tmp_path: Path
) -> None:
    ends = make_ends()
    left = abandoned(ends, identity=f"the-id-before-{ends.alias}")
    left.leave(noted=100)
    report = do_switch(ends, tmp_path, "failover-unplanned")
    stopped = next(step for step in report.steps if step["step"] == "stop-link")
    assert "written but not noted: 200 records" in stopped["says"]
    view = asyncio.run(look_at_ledger(ends.link.clients.target_producer, ends.alias, within_s=20))
    assert view is not None
    # Not closed: whoever copies on must count them off first.
    assert view.states[TopicPartition(left.topic, 0)].phase == "copying"
