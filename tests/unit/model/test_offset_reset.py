"""New positions of consumer groups: within the log, by the operator's words, and the same after a trip through CSV."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.model.groups.offset_reset import (
    Destination,
    LogEdges,
    Reset,
    ShiftBy,
    ToCurrent,
    ToEarliest,
    ToLatest,
    ToListed,
    ToOffset,
    ToTime,
    parse_duration,
    parse_topic,
    plan_reset,
    read_csv,
    write_csv,
)
from twinlog.model.names import TopicPartition

HERE = TopicPartition("orders", 3)


def planned(to: Destination, edges: LogEdges, committed: int | None) -> Reset:
    (reset,) = plan_reset("g", to, {HERE: edges}, {} if committed is None else {HERE: committed})
    return reset


@given(
    st.one_of(
        st.builds(ToOffset, st.integers(0, 200)),
        st.builds(ShiftBy, st.integers(-200, 200)),
        st.sampled_from([ToEarliest(), ToLatest(), ToCurrent(), ToTime(5)]),
        st.builds(lambda n: ToListed({HERE: n}), st.integers(0, 200)),
    ),
    st.integers(0, 100),
    st.integers(0, 100),
    st.none() | st.integers(0, 200),
    st.data(),
)
def test_a_new_position_always_lies_within_its_log(
    to: Destination, start: int, length: int, committed: int | None, data: st.DataObject
) -> None:
    end = start + length
    edges = LogEdges(start, end, data.draw(st.integers(start, end)))
    reset = planned(to, edges, committed)
    assert reset.before == committed
    if reset.after is None:
        assert committed is None
        assert reset.note
    else:
        assert start <= reset.after <= end
        asked = to.offset if isinstance(to, ToOffset) else None
        assert bool(reset.note) == (asked != reset.after) or asked is None


def test_the_words_mean_what_they_mean_to_kafka_consumer_groups() -> None:
    edges = LogEdges(10, 50, 33)
    assert planned(ToOffset(20), edges, 12).after == 20
    assert planned(ShiftBy(-1), edges, 12).after == 11
    assert planned(ShiftBy(-5), edges, 12) == Reset("g", HERE, 12, 10, "7 is before the log, which begins at 10")
    assert planned(ToOffset(99), edges, None) == Reset("g", HERE, None, 50, "99 is behind the log, which ends at 50")
    assert [planned(ToOffset(at), edges, None).after for at in (9, 10, 50, 51)] == [10, 10, 50, 50]
    assert planned(ToTime(0), edges, 12).after == 33
    assert planned(ShiftBy(3), edges, None).after is None
    assert planned(ToListed({}), edges, 12).after is None


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("PT15M", 900_000),
        ("P1D", 86_400_000),
        ("P1DT2H30M", 95_400_000),
        ("PT0.5S", 500),
        ("-PT1M", -60_000),
        ("pt1h", 3_600_000),
    ],
)
def test_durations(text: str, ms: int) -> None:
    assert parse_duration(text) == ms


@pytest.mark.parametrize("text", ["", "P", "PT", "P1DT", "15M", "P1M", "PT1X", "P-1D"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="duration"):
        parse_duration(text)


def test_topics_with_partitions() -> None:
    assert parse_topic("orders") == ("orders", None)
    assert parse_topic("orders:2, 0") == ("orders", (2, 0))
    for wrong in ("", ":1", "orders:", "orders:x", "orders:-1"):
        with pytest.raises(ValueError, match="topic"):
            parse_topic(wrong)


NAMES = st.text("abc.-_9", min_size=1, max_size=8)


@given(
    st.lists(st.tuples(NAMES, NAMES, st.integers(0, 99), st.integers(0, 1 << 60)), unique_by=lambda r: r[:3]),
    st.booleans(),
)
def test_an_export_reads_back(rows: list[tuple[str, str, int, int]], with_group: bool) -> None:
    resets = [Reset(g if with_group else "g", TopicPartition(t, p), None, offset) for g, t, p, offset in rows]
    text = write_csv(resets, with_group=with_group)
    back = read_csv(text, None if with_group else "g")
    assert [(row.group, row.partition, row.offset) for row in back] == [(r.group, r.partition, r.after) for r in resets]


def test_a_wrong_line_is_named() -> None:
    heading = "group,topic,partition,offset\n"
    assert [row.offset for row in read_csv(f'{heading}"g","orders",3,7\n\n', None)] == [7]
    assert [row.group for row in read_csv("orders,3,7\nh,orders,3,7\n", "g")] == ["g", "h"]
    with pytest.raises(ValueError, match="line 2"):
        read_csv("g,orders,3,7\norders,3,7\n", None)
    with pytest.raises(ValueError, match="line 1"):
        read_csv("orders,x,7\n", "g")
