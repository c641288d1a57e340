"""What the continuous audit looks at: new records only, within limits, and every partition has its turn."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from twinlog.model.ledger.records import PartitionState
from twinlog.model.names import TopicPartition
from twinlog.model.verify.audit_windows import STEP_BYTES, STEP_WINDOWS, WINDOW_BYTES, Window, next_windows


def state(partition: TopicPartition, first: int, after: int, size: int) -> PartitionState:
    return PartitionState(
        topic=partition.topic,
        partition=partition.partition,
        incarnation="s/t",
        phase="copying",
        source_first=first,
        target_first=0,
        source_next=after,
        target_next=after - first,
        producer_id=1,
        bytes=size,
    )


STATES = st.dictionaries(
    st.builds(TopicPartition, st.sampled_from(["a", "b"]), st.integers(0, 40)),
    st.tuples(st.integers(0, 50), st.integers(0, 10_000), st.integers(0, 1 << 28)),
    max_size=60,
).map(lambda found: {p: state(p, first, first + length, size) for p, (first, length, size) in found.items()})


@given(STATES, st.data())
def test_windows_are_new_newest_and_bounded(states: dict[TopicPartition, PartitionState], data: st.DataObject) -> None:
    audited = {p: data.draw(st.integers(0, 10_050)) for p in states if data.draw(st.booleans())}
    windows = next_windows(states, audited)
    assert len(windows) <= STEP_WINDOWS
    total = 0
    for window in windows:
        one = states[window.partition]
        each = max(1, one.bytes // max(1, one.source_next - one.source_first))
        assert max(one.source_first, audited.get(window.partition, 0)) <= window.first < window.after
        assert window.after == one.source_next
        size = (window.after - window.first) * each
        assert size <= max(WINDOW_BYTES, each)
        total += size
    assert total <= STEP_BYTES or len(windows) == 1


@given(STATES)
def test_every_partition_with_records_has_its_turn(states: dict[TopicPartition, PartitionState]) -> None:
    audited: dict[TopicPartition, int] = {}
    for _ in range(len(states)):
        for window in next_windows(states, audited):
            audited.pop(window.partition, None)
            audited[window.partition] = window.after
    assert set(audited) == {p for p, one in states.items() if one.source_first < one.source_next}
    assert next_windows(states, audited) == []


def test_a_window_is_remembered_as_it_was() -> None:
    window = Window(TopicPartition("orders-eu", 3), 10, 20)
    assert Window.remembered(window.body("changed", 5)) == window
