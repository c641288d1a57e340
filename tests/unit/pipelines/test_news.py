"""Sinks without records: their tasks say so, their pipeline gives the processes back, and wakes up at news."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any
from unittest import mock

from tests.kit.waiting import wait_until

from twinlog.config.settings import ClientSettings
from twinlog.errors import ClusterUnreachable, TopicUnknown
from twinlog.model.names import TopicPartition
from twinlog.pipelines import engine, read_kafka
from twinlog.pipelines.connector import read_connector
from twinlog.pipelines.engine import Engine, Nothing
from twinlog.pipelines.news import NEWS, News
from twinlog.pipelines.sink_planner import SinkPlanner
from twinlog.pipelines.starts import Starts
from twinlog.pipelines.task_line import LineAddress, TaskLine
from twinlog.pipelines.worker_settings import read_worker

CLUSTER = ClientSettings(cluster="kafka", bootstrap_servers=("x:1",))
A, B = TopicPartition("a", 0), TopicPartition("b", 0)
CONFIG = {
    "connector.class": "FileStreamSink", "file": "/nowhere/x", "topics": "a",
    "key.converter": "StringConverter", "value.converter": "StringConverter",
}  # fmt: skip


class PaperAdmin:
    """Knows the ends of logs, and counts how often it is asked."""

    def __init__(self, ends: dict[TopicPartition, Any]) -> None:
        self.ends, self.asked = ends, 0
        self.is_away = False

    def fetch_end_offsets(self, places: Sequence[TopicPartition], *, committed: bool) -> Mapping[TopicPartition, Any]:
        assert committed
        self.asked += 1
        if self.is_away:
            raise ClusterUnreachable("kafka", "it is away")
        return {place: self.ends[place] for place in places}


def waited(news: News, ends: dict[TopicPartition, int], stopping: threading.Event, longest_s: float = 20.0) -> Any:
    thread = threading.Thread(target=news.wait, args=(CLUSTER, ends, stopping, longest_s), daemon=True)
    thread.start()
    return thread


def asked_again(admin: PaperAdmin) -> None:
    """Wait until two more questions were asked: the first of them may have begun before."""
    before = admin.asked
    wait_until(lambda: admin.asked, lambda asked: asked >= before + 2, within_s=5, what="two more questions")


def test_who_waits_wakes_up_when_a_log_of_its_own_moves() -> None:
    admin, stopping = PaperAdmin({A: 5, B: 7}), threading.Event()
    news = News(lambda _: admin, 0.01)
    first, second = waited(news, {A: 5}, stopping), waited(news, {B: 7}, stopping)
    asked_again(admin)
    assert first.is_alive()
    admin.is_away = True
    asked_again(admin)
    admin.is_away = False
    admin.ends[A] = 6
    first.join(5)
    assert not first.is_alive()
    assert second.is_alive()
    admin.ends[B] = TopicUnknown("kafka", "b")
    second.join(5)
    assert not second.is_alive(), "a topic that is gone is news"
    # Nobody waits, so nobody is asked.
    wait_until(lambda: news.asks(CLUSTER), lambda asks: not asks, within_s=5, what="the end of the questions")
    third = waited(news, {A: 6}, stopping)
    stopping.set()
    third.join(5)
    assert not third.is_alive()


def test_a_wait_ends_after_its_longest_time() -> None:
    news, never = News(lambda _: PaperAdmin({A: 5}), 0.01), threading.Event()
    began = time.monotonic()
    assert not news.wait(CLUSTER, {A: 5}, never, 0.05)
    assert news.wait(CLUSTER, {A: 4}, never, 20)
    assert time.monotonic() - began < 5


def test_a_task_says_when_no_record_came_for_long_and_when_one_comes() -> None:
    line: Any = mock.Mock()
    with mock.patch("twinlog.pipelines.read_kafka.time.monotonic", side_effect=[0.0, 30.0, 60.0, 61.0, 62.0]):
        rest = read_kafka._Rest(60_000, line)
        for has_records in (False, False, False, True):
            rest.look(has_records)
    assert [call.kwargs for call in line.send.call_args_list] == [{"idle": True}, {"idle": False}]
    never: Any = mock.Mock()
    with mock.patch("twinlog.pipelines.read_kafka.time.monotonic", side_effect=[0.0, 1e9]):
        read_kafka._Rest(-1, never).look(has_records=False)
    assert not never.send.called


def test_a_pipeline_ends_its_epoch_when_all_of_its_tasks_rest() -> None:
    rested = threading.Event()
    planner: Any = mock.Mock()
    planner.plan.side_effect = lambda _, line: mock.Mock(run=mock.Mock(tasks=({}, {}), line=line))
    planner.rest.side_effect = rested.set

    def job(_: Any, epoch: Any, __: str) -> Any:
        lines = [TaskLine(epoch.run.line, task=n, end_of=end) for n in (0, 1) for end in ("reader", "writer")]
        lines[0].send(idle=True)
        lines[2].send(idle=True)
        lines[2].send(idle=False)
        time.sleep(0.1)
        assert not rested.is_set(), "one task has records"
        lines[2].send(idle=True)
        return mock.Mock(ended=lambda _: all(line.stopping for line in lines))

    session: Any = mock.Mock()
    with (
        mock.patch.object(engine, "Job", job),
        mock.patch.object(engine, "own_session"),
        mock.patch.object(engine, "driver_address", return_value=("127.0.0.1", "")),
    ):
        its = Engine(read_connector("c", CONFIG, {}), planner, session, Starts(1))
        its.start()
        assert rested.wait(10)
        its.stop()
    assert not its.running


def test_a_sink_that_rests_plans_nothing_until_a_log_has_more() -> None:
    planner = SinkPlanner(read_connector("c", CONFIG, {}), read_worker({}), 1)
    line, session = LineAddress("127.0.0.1", 1, ""), mock.Mock()
    with mock.patch.object(planner, "places", return_value=({A: 5}, {A: 0}, {A: 5})):
        assert not isinstance(planner.plan(session, line), Nothing)
        planner.rest()
        found = planner.plan(session, line)
        assert isinstance(found, Nothing)
        assert found.idle
        assert found.until is not None
    with (
        mock.patch.object(NEWS, "wait", side_effect=[False, False]),
        mock.patch.object(planner, "has_news", side_effect=[False, True]) as looked,
    ):
        found.until(threading.Event())
        assert looked.call_count == 2, "new partitions are found while it rests"
    with mock.patch.object(planner, "places", return_value=({A: 5}, {A: 0}, {A: 6})):
        assert not isinstance(planner.plan(session, line), Nothing)


def test_a_sink_that_knows_no_schema_yet_waits_for_the_first_record() -> None:
    planner = SinkPlanner(read_connector("c", CONFIG | {"value.converter": "JsonConverter"}, {}), read_worker({}), 1)
    with mock.patch.object(planner, "places", return_value=({A: 5}, {A: 0}, {A: 5})):
        found = planner.plan(mock.Mock(), LineAddress("127.0.0.1", 1, ""))
    assert isinstance(found, Nothing)
    assert found.until is not None, "it would ask all brokers twice a second"
