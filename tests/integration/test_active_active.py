"""Clusters that mirror each other under the same names: every record is everywhere once, and none comes home."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.load.load import Ending
from tests.mesh import Mesh

from twinlog.local.cluster import LocalCluster

PAIR = ("A->B", "B->A")


@pytest.mark.proves("R1", "R2", "R3", "R4", "R7")
def test_load_on_both_sides_arrives_once_on_both_and_what_came_is_not_sent_back(
    source_cluster: LocalCluster, target_cluster: LocalCluster, tmp_path: Path
) -> None:
    mesh = Mesh({"A": source_cluster, "B": target_cluster}, PAIR, epoch_seconds="3")
    topic = mesh.create("orders", 2)
    loads = [mesh.load("A", topic, 2, compression="lz4"), mesh.load("B", topic, 2, linger_ms=0)]
    with mesh.running(tmp_path), ExitStack() as stack:
        for load in loads:
            stack.enter_context(load.in_background(rate=800))
        for load in loads:
            late = mesh.load("A" if load is loads[0] else "B", topic, 2)
            late.transaction(60, Ending.COMMITTED)
            late.transaction(40, Ending.ABORTED)
            late.produce(50)
        stack.close()
        status = mesh.await_rest(topic, 2)
    mesh.check(topic)
    born = {letter: sum(load.count for at, load in mesh.loads if at == letter) for letter in "AB"}
    for name, letter, other in (("A->B", "A", "B"), ("B->A", "B", "A")):
        parts = status[name].partitions
        assert sum(part.records for part in parts) == born[letter]
        assert sum(part.returned for part in parts) == born[other]
