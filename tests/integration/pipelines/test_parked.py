"""Parked records on a real broker: read to the end, written back once with repaired bytes, dropped."""

from __future__ import annotations

import pytest
from tests.kit.pipelines import committed, produce

from twinlog.errors import ParkedRefused
from twinlog.local.cluster import LocalCluster
from twinlog.pipelines.parked import ERRORS, Place, drop, read_parked, replay
from twinlog.pipelines.worker_settings import read_worker

pytestmark = pytest.mark.timeout(180)


@pytest.mark.proves("R31")
def test_a_parked_record_is_written_back_once(source_cluster: LocalCluster) -> None:
    cluster = read_worker({"bootstrap.servers": source_cluster.bootstrap_servers}).cluster
    produce(source_cluster, "parked-origin", [])
    told = [(f"{ERRORS}topic", b"parked-origin"), (f"{ERRORS}stage", b"VALUE_CONVERTER"), ("own", b"1")]
    letters: list[tuple[bytes | None, bytes | None]] = [(b"a", b"bad a"), (b"b", b"bad b"), (None, None)]
    produce(source_cluster, "parked-dead", letters, headers=told)
    found = read_parked(cluster, "parked-dead")
    assert [(one.place, one.key, one.value, one.action) for one in found] == [
        (Place(0, 0), b"a", b"bad a", "open"), (Place(0, 1), b"b", b"bad b", "open"), (Place(0, 2), None, None, "open"),
    ]  # fmt: skip
    assert replay(cluster, "parked-dead", found[:2], {Place(0, 0): b"good a"}) == 2
    back = committed(source_cluster, "parked-origin")
    assert [(one.key(), one.value(), one.headers()) for one in back] == [
        (b"a", b"good a", [("own", b"1")]), (b"b", b"bad b", [("own", b"1")]),
    ]  # fmt: skip
    assert [one.action for one in read_parked(cluster, "parked-dead")] == ["replayed", "replayed", "open"]
    with pytest.raises(ParkedRefused, match="0:1: is not open: replayed"):
        replay(cluster, "parked-dead", found[1:2], {})
    assert drop(cluster, "parked-dead", found[2:]) == 1
    assert [one.action for one in read_parked(cluster, "parked-dead")] == ["replayed", "replayed", "dropped"]
    assert len(committed(source_cluster, "parked-origin")) == 2
    produce(source_cluster, "parked-silent", [(b"x", b"y")])
    silent = read_parked(cluster, "parked-silent")
    with pytest.raises(ParkedRefused, match="which topic it came from"):
        replay(cluster, "parked-silent", silent, {})
