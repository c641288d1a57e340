"""Rate and lag of pipelines: what is unknown stays unknown, and markers of transactions are no records."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from tests.kit.paper_pipelines import SINK

from twinlog.model.names import TopicPartition
from twinlog.pipelines.connector import read_connector
from twinlog.pipelines.progress import Progress
from twinlog.pipelines.sink_planner import SinkPlanner
from twinlog.pipelines.worker_settings import read_worker
from twinlog.service.pipeline_watch import Meter

ORDERS = TopicPartition("orders", 0)


def test_a_rate_needs_two_looks() -> None:
    meter, progress = Meter(), Progress()
    progress.counts.update(put=100)
    meter.take(1000.0, progress)
    assert meter.records_per_second is None
    progress.counts.update(put=50, failed=10, parked=10)
    meter.take(1010.0, progress)
    assert meter.records_per_second == 6.0, "a record that was parked is handled once"


def test_a_pipeline_that_was_started_anew_has_no_negative_rate() -> None:
    meter = Meter()
    meter.take(1000.0, Progress(counts=Counter(put=500)))
    meter.take(1005.0, Progress())
    assert meter.records_per_second is None
    meter.take(1010.0, Progress())
    assert meter.records_per_second == 0.0


def test_lag_is_known_from_the_start_and_grows_while_nothing_is_stored() -> None:
    meter = Meter()
    meter.take_ends(1000.0, {ORDERS: 40}, {ORDERS: 100}, 0)
    assert (meter.lag_records, meter.lag_seconds) == (60, None), "nobody knows how old the first record is"
    meter.take_ends(1005.0, {ORDERS: 50}, {ORDERS: 100}, 990_000)
    assert (meter.lag_records, meter.lag_seconds) == (50, 15.0)
    meter.take_ends(1065.0, {ORDERS: 50}, {ORDERS: 900}, 990_000)
    assert (meter.lag_records, meter.lag_seconds) == (850, 75.0)


def test_what_came_a_moment_ago_does_not_wait_since_the_record_of_yesterday() -> None:
    meter = Meter()
    meter.take_ends(90_000.0, {ORDERS: 100}, {ORDERS: 100}, 1000)
    assert (meter.lag_records, meter.lag_seconds) == (0, 0.0)
    meter.take_ends(90_005.0, {ORDERS: 100}, {ORDERS: 101}, 1000)
    assert (meter.lag_records, meter.lag_seconds) == (1, 5.0)


def planner_that_heard(last: int, to: int) -> SinkPlanner:
    connector = read_connector("orders", SINK, {})
    planner = SinkPlanner(connector, read_worker({}), generation=1)
    planner.heard({"task": 0, "end_of": "reader", "read": {"orders-0": [last, to]}})
    return planner


def test_a_marker_behind_the_last_record_is_no_lag() -> None:
    planner = planner_that_heard(100, 101)
    assert planner.reached(ORDERS, 99) == 99, "one record was read and is not stored"
    assert planner.reached(ORDERS, 100) == 101
    assert planner.reached(TopicPartition("orders", 1), 7) == 7, "nothing was heard of it"


@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50))
def test_nothing_that_was_read_counts_as_stored(stored: int, last: int, markers: int) -> None:
    at = planner_that_heard(last, last + markers).reached(ORDERS, stored)
    assert at >= stored
    assert at == stored or stored >= last, "only markers may be passed over"
