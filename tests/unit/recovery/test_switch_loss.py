"""What an unplanned switch says was lost: never less than is known, never newer than it is."""

from __future__ import annotations

import pytest

from twinlog.errors import ClusterError, ClusterUnreachable
from twinlog.model.names import TopicPartition
from twinlog.recovery.known_loss import merged_ends

ONE, TWO = TopicPartition("orders", 0), TopicPartition("orders", 1)


@pytest.mark.proves("R7")
def test_a_partition_that_the_source_is_silent_about_is_told_by_memory_with_its_age() -> None:
    answers: dict[TopicPartition, int | ClusterError] = {ONE: 120, TWO: ClusterUnreachable("a", "no leader")}
    assert merged_ends([ONE, TWO], answers, ({ONE: 100, TWO: 90}, 1000), 5000) == ({ONE: 120, TWO: 90}, 1000)
    assert merged_ends([ONE, TWO], answers, ({}, None), 5000) == ({ONE: 120}, None)


def test_a_source_that_answers_for_all_is_believed_as_of_now() -> None:
    assert merged_ends([ONE, TWO], {ONE: 120, TWO: 95}, ({ONE: 100, TWO: 90}, 1000), 5000) == (
        {ONE: 120, TWO: 95},
        5000,
    )
