"""Clusters that mirror each other under the same names: every record is everywhere once, and none comes home."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.kit.load import Ending
from tests.kit.mesh import Mesh
from tests.kit.threads import ThreadedEngine
from tests.kit.waiting import wait_until

from twinlog.local.cluster import LocalCluster
from twinlog.model.routes.provenance import read_hops

PAIR = ("A->B", "B->A")


@pytest.mark.proves("R1", "R2", "R3", "R4", "R7")
def test_load_on_both_sides_arrives_once_on_both_and_what_came_is_not_sent_back(
    source_cluster: LocalCluster, target_cluster: LocalCluster, tmp_path: Path
) -> None:
    mesh = Mesh({"A": source_cluster, "B": target_cluster}, PAIR)
    topic = mesh.create("orders", 2)
    loads = [mesh.load("A", topic, 2, compression="lz4"), mesh.load("B", topic, 2, linger_ms=0)]
    with ExitStack() as engines:
        engines.enter_context(mesh.running(tmp_path, "B->A"))
        with loads[0].in_background(rate=300), loads[1].in_background(rate=300):
            mesh.await_copies("B->A", 200)
            # The producer ids of this link appear in what the other one is reading already.
            engines.enter_context(mesh.running(tmp_path / "there", "A->B"))
            for letter in "AB":
                late = mesh.load(letter, topic, 2)
                late.transaction(60, Ending.COMMITTED)
                late.transaction(40, Ending.ABORTED)
                late.produce(50)
            mesh.await_copies("A->B", 500)
        status = mesh.await_rest(topic, 2)
    mesh.check(topic)
    born = {letter: sum(load.count for at, load in mesh.loads if at == letter) for letter in "AB"}
    for name, letter, other in (("A->B", "A", "B"), ("B->A", "B", "A")):
        parts = status[name].partitions
        assert sum(part.records for part in parts) == born[letter]
        assert sum(part.returned for part in parts) == born[other]


@pytest.mark.proves("R1", "R2", "R3", "R4", "R7")
def test_a_ring_of_three_with_headers_tells_the_way_and_ends_before_the_origin(
    source_cluster: LocalCluster, target_cluster: LocalCluster, third_cluster: LocalCluster, tmp_path: Path
) -> None:
    clusters = {"A": source_cluster, "B": target_cluster, "C": third_cluster}
    mesh = Mesh(clusters, ["A->B", "B->C", "C->A"], provenance_header_enable="true")
    topic = mesh.create("orders", 1)
    for letter in "ABC":
        mesh.load(letter, topic, 1, compression="zstd" if letter == "A" else "none").produce(150)
    with mesh.running(tmp_path):
        status = mesh.await_rest(topic, 1)
        before = {name: one.partitions[0].returned for name, one in status.items()}
    mesh.check(topic)
    assert before == {"A->B": 150, "B->C": 150, "C->A": 150}
    ways = {
        born: {tuple(hop.cluster for hop in read_hops(record.headers)) for record in mesh.records("C", topic, load)}
        for born, load in mesh.loads
    }
    ids = {letter: cluster.cluster_id for letter, cluster in clusters.items()}
    assert ways == {"A": {(ids["A"], ids["B"])}, "B": {(ids["B"],)}, "C": {()}}


@pytest.mark.proves("R14")
def test_a_link_from_a_cluster_to_itself_copies_nothing_and_says_so(
    source_cluster: LocalCluster, tmp_path: Path
) -> None:
    mesh = Mesh({"A": source_cluster, "B": source_cluster}, ["A->B"])
    engine = ThreadedEngine(mesh.links["A->B"], tmp_path)
    try:
        trouble = wait_until(
            lambda: engine.engine.trouble, lambda said: said is not None, within_s=60, what="an engine that complains"
        )
        assert "source and target are the same cluster" in str(trouble)
        assert engine.engine.phase == "waiting"
    finally:
        engine.stop()
