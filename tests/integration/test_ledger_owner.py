"""A ledger belongs to two clusters, not to two aliases."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.kit.ends import Ends
from tests.kit.threads import ThreadedEngine, engine_running
from tests.kit.waiting import wait_until

MakeEnds = Callable[..., Ends]


@pytest.mark.proves("R10", "R14")
def test_another_cluster_of_the_same_alias_is_refused_and_takes_nothing_over(
    make_ends: MakeEnds, tmp_path: Path
) -> None:
    ends = make_ends()
    name = ends.create("orders")
    load = ends.load(name)
    load.produce(50)
    ids = ends.source.fetch_cluster_id(), ends.target.fetch_cluster_id()
    with engine_running(ends.link, tmp_path / "ours"):
        ends.await_copied()
        before = ends.status().engine
        # The file of another deployment: the same alias, but for a cluster of its own (here: the target itself).
        theirs = make_ends()
        theirs.alias, theirs.prefix = ends.alias, ends.prefix
        theirs.source_cluster = theirs.target_cluster
        other = ThreadedEngine(theirs.link, tmp_path / "theirs")
        try:
            trouble = wait_until(
                lambda: other.engine.trouble or "", lambda said: "belongs to" in said, within_s=30, what="a refusal"
            )
            load.produce(50)
            ends.await_copied()
            after = ends.status().engine
        finally:
            other.stop()
    assert all(cluster_id in trouble for cluster_id in ids), trouble
    assert before is not None
    assert after is not None
    assert (after.engine_id, after.generation) == (before.engine_id, before.generation)
    assert ends.check().target_records == 100
