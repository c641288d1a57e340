"""Faults say what is known, and no figure that nobody measured."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from twinlog.errors import PartitionAccessDenied, PartitionFault, RecordTooLarge, SourceTruncated
from twinlog.flow import delivery
from twinlog.flow.delivery import Delivery
from twinlog.flow.write import Writer
from twinlog.model.names import TopicPartition
from twinlog.wire import protocol_errors as codes
from twinlog.wire.offsets import EARLIEST

WHERE = TopicPartition("orders", 0)


def refused_with(error: int, *, size: int, limit: int) -> PartitionFault:
    """The fault of a batch that the target refuses."""
    faults: list[PartitionFault] = []
    box = SimpleNamespace(
        partition=WHERE, refuse=lambda _out: True, is_first=lambda _out: True, fault=faults.append,
        shaper=SimpleNamespace(limit=limit),
    )  # fmt: skip
    writer = SimpleNamespace(target=SimpleNamespace(alias="T"))
    answer = SimpleNamespace(out=SimpleNamespace(first=7, size=size, repeated=False), error=error, message=None)
    Writer._refused(cast("Any", writer), cast("Any", box), cast("Any", answer))
    (fault,) = faults
    return fault


def test_a_limit_is_told_only_when_it_is_known():
    fault = refused_with(codes.MESSAGE_TOO_LARGE, size=400_072, limit=1_048_588)
    assert isinstance(fault, RecordTooLarge)
    assert str(fault) == (
        "orders-0: the record at source offset 7 needs 400072 bytes, and the target refuses it as too large"
    )
    assert "above 400072" in fault.remedy_text()
    assert str(refused_with(codes.MESSAGE_TOO_LARGE, size=400_072, limit=100_000)).endswith("the target takes 100000")


def test_only_the_right_that_is_missing_is_named():
    fault = refused_with(codes.TOPIC_AUTHORIZATION_FAILED, size=1, limit=100)
    assert isinstance(fault, PartitionAccessDenied)
    assert str(fault) == "orders-0: T denies Write"


@pytest.mark.parametrize(
    ("end", "said"),
    [
        (60, "orders-0: the source lost its records from offset 60 on; all before 100 were copied"),
        (100, "does not know the leader epoch"),
        (140, "does not know the leader epoch"),
    ],
)
def test_a_source_that_forgot_its_epochs_is_not_said_to_have_lost_what_it_holds(
    end: int, said: str, monkeypatch: pytest.MonkeyPatch
):
    faults: list[PartitionFault] = []

    async def fetch_offset(_source: Any, _topic: str, _partition: int, which: int) -> int:
        return 0 if which == EARLIEST else end

    monkeypatch.setattr(delivery, "fetch_offset", fetch_offset)
    of = SimpleNamespace(source=None, fault=lambda _partition, fault: faults.append(fault))
    reading = SimpleNamespace(position=SimpleNamespace(offset=100))
    asyncio.run(Delivery._out_of_range(cast("Any", of), WHERE, cast("Any", reading)))
    (fault,) = faults
    assert isinstance(fault, SourceTruncated)
    assert said in str(fault)
    assert fault.latest <= fault.wanted
