"""Which partitions take no write now, by leader, replicas and `min.insync.replicas`."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.model.names import TopicPartition
from twinlog.wire import writability
from twinlog.wire.connection import Cluster, Leader
from twinlog.wire.writability import NO_LEADER, why_unwritable

PLACE = TopicPartition("orders", 0)


class Target:
    """A cluster with one partition."""

    def __init__(self, leader: Leader | None) -> None:
        self._leader = leader

    def leader(self, *_: object) -> Leader | None:
        return self._leader


def asked(leader: Leader | None, least: int) -> dict[TopicPartition, str]:
    async def least_in_sync(*_: object) -> dict[str, int]:
        return {"orders": least}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writability, "_least_in_sync", least_in_sync)
        return asyncio.run(why_unwritable(cast("Cluster", Target(leader)), [PLACE]))


def test_a_partition_with_one_replica_takes_writes_whatever_its_config_wants() -> None:
    assert asked(Leader(1, 0, in_sync=1, replicas=1), least=2) == {}


@pytest.mark.proves("R8")
@given(st.integers(1, 5), st.integers(1, 5), st.integers(1, 5))
def test_a_broker_wants_no_more_replicas_in_sync_than_there_are(replicas: int, in_sync: int, least: int) -> None:
    in_sync = min(in_sync, replicas)
    found = asked(Leader(1, 0, in_sync, replicas), least)
    assert bool(found) == (in_sync < least and in_sync < replicas)
    if found:
        assert found[PLACE] == f"{in_sync} of its replicas in sync, min.insync.replicas is {least}"


def test_a_partition_without_a_leader_takes_no_writes() -> None:
    assert asked(None, least=1) == {PLACE: NO_LEADER}
