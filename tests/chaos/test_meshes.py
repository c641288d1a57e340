"""Meshes, hubs and killed engines under the same names: every record is everywhere once, and none comes home."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from itertools import permutations
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.kit.engine import Victim, twinlog_run
from tests.kit.mesh import Mesh

from twinlog.local.cluster import LocalCluster
from twinlog.model.names import TopicPartition

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(900)]
VICTIMS: tuple[Victim, ...] = ("engine", "jvm", "reader", "writer")


@pytest.mark.proves("R1", "R2")
def test_a_full_mesh_of_three_copies_what_was_born_at_each_source(
    source_cluster: LocalCluster, target_cluster: LocalCluster, third_cluster: LocalCluster, tmp_path: Path
) -> None:
    clusters = {"A": source_cluster, "B": target_cluster, "C": third_cluster}
    mesh = Mesh(clusters, [f"{a}->{b}" for a, b in permutations("ABC", 2)])
    topic = mesh.create("orders", 1)
    with mesh.running(tmp_path), ExitStack() as stack:
        for letter in "ABC":
            stack.enter_context(mesh.load(letter, topic, 1).in_background(rate=200))
        mesh.await_copies("A->B", 100)
        stack.close()
        status = mesh.await_rest(topic, 1)
    mesh.check(topic)
    # Of the two others' records, which lie at its source too, a link leaves all behind: their own links carry them.
    for name, one in status.items():
        own = next(load for born, load in mesh.loads if born == name[0])
        (part,) = [part for part in one.partitions if part.partition.topic == topic]
        assert (part.records, part.returned) == (own.count, sum(load.count for _, load in mesh.loads) - own.count)


@pytest.mark.proves("R1", "R2", "R5")
def test_topics_of_two_sources_are_merged_into_one_and_each_is_exact(
    source_cluster: LocalCluster, target_cluster: LocalCluster, third_cluster: LocalCluster, tmp_path: Path
) -> None:
    mesh = Mesh({"A": source_cluster, "B": third_cluster, "H": target_cluster}, ["A->H", "B->H"], epoch_seconds="2")
    topic = mesh.create("orders", 2)
    loads = {letter: mesh.load(letter, topic, 2) for letter in "ABH"}
    with mesh.running(tmp_path), ExitStack() as stack:
        for load in loads.values():
            stack.enter_context(load.in_background(rate=300))
        mesh.await_copies("A->H", 500)
        stack.close()
        mesh.await_rest(topic, 2)
    hub = {load.seed: mesh.records("H", topic, load, partition=0) for _, load in mesh.loads}
    for letter in "AB":
        load = loads[letter]
        assert mesh.verdict("H", topic, load).ok
        found = mesh.records(letter, topic, load, partition=0)
        state = mesh.view(f"{letter}->H").states[TopicPartition(topic, 0)]
        runs = mesh.runs(f"{letter}->H", TopicPartition(topic, 0))
        places = {run.source + i: run.target + i for run in runs for i in range(run.length)}
        assert places == {a.offset: b.offset for a, b in zip(found, hub[load.seed], strict=True)}
        assert state.records == len(found)


@pytest.mark.proves("R1", "R2")
@pytest.mark.parametrize("headers", ["false", "true"])
def test_overrides_fill_a_cluster_that_lost_its_records(
    source_cluster: LocalCluster, target_cluster: LocalCluster, tmp_path: Path, headers: str
) -> None:
    mesh = Mesh({"A": source_cluster, "B": target_cluster}, ["A->B", "B->A"], provenance_header_enable=headers)
    topic = mesh.create("orders", 1)
    for letter in "AB":
        mesh.load(letter, topic, 1).produce(200)
    with mesh.running(tmp_path, "A->B"):
        mesh.await_copies("A->B", 200)
    mesh.delete("A", topic)
    mesh.set(provenance_header_filter_overrides=f"{source_cluster.cluster_id},{topic},-")
    with mesh.running(tmp_path, "B->A"):
        mesh.await_copies("B->A", 400)
    assert all(mesh.verdict("A", topic, load).ok for _, load in mesh.loads)


@pytest.mark.proves("R1", "R2", "R3", "R9", "R10")
@pytest.mark.parametrize("headers", ["false", "true"])
def test_killed_again_and_again_with_load_on_both_sides_nothing_comes_home(
    source_cluster: LocalCluster, target_cluster: LocalCluster, tmp_path: Path, headers: str
) -> None:
    dice = random.Random(5)
    links = ["A->B", "B->A"]
    mesh = Mesh({"A": source_cluster, "B": target_cluster}, links, epoch_seconds="5", provenance_header_enable=headers)
    topic = mesh.create("orders", 3)
    loads = [mesh.load("A", topic, 3, compression="lz4"), mesh.load("B", topic, 3, linger_ms=0)]
    # One process runs both links; its workers are told apart by the clusters they talk to.
    ends = cast(
        "Any",
        SimpleNamespace(
            alias=mesh.mark,
            source_cluster=source_cluster,
            target_cluster=target_cluster,
            write_file=mesh.write_file,
        ),
    )
    with ExitStack() as stack:
        engine = stack.enter_context(twinlog_run(ends, tmp_path))
        with loads[0].in_background(rate=700), loads[1].in_background(rate=700):
            for _ in range(4):
                mesh.await_copies(dice.choice(links), dice.randrange(1, 3_000), within_s=150)
                victim = dice.choice(VICTIMS)
                engine.kill(victim)
                if victim == "engine":
                    shutil.rmtree(engine.scratch, ignore_errors=True)
                    engine = stack.enter_context(twinlog_run(ends, tmp_path))
        status = mesh.await_rest(topic, 3, within_s=150)
        assert engine.stop() == 0
    mesh.check(topic)
    for name, own, other in (("A->B", loads[0], loads[1]), ("B->A", loads[1], loads[0])):
        parts = [part for part in status[name].partitions if part.partition.topic == topic]  # heartbeats travel too
        assert sum(part.records for part in parts) == own.count
        assert sum(part.returned for part in parts) == other.count


@pytest.mark.proves("R2", "R7", "R14")
def test_who_may_not_read_the_notes_of_writers_copies_nothing_and_says_why(
    make_cluster: Callable[..., LocalCluster], target_cluster: LocalCluster, tmp_path: Path
) -> None:
    guarded = make_cluster("guarded", secure=True)
    mesh = Mesh({"A": guarded, "B": target_cluster}, ["A->B"])
    topic = mesh.create("orders", 1, at="A")
    mesh.load("A", topic, 1).produce(10)
    mesh.users["A"] = "twinlog"  # who may do what an ACL grants
    mesh.grant("A", topic)
    with mesh.running(tmp_path):
        fault = mesh.await_fault("A->B", "PROVENANCE_UNKNOWN")
        assert "Read and Describe on __twinlog-writers" in fault.says
        assert mesh.records("B", topic, mesh.loads[0][1]) == []
        mesh.grant("A", "__twinlog-writers")
        mesh.await_rest(topic, 1)
    mesh.users.clear()
    mesh.check(topic)
