"""What comes while a pipeline runs is found without waiting for the end of the epoch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from tests.kit.paper_pipelines import SINK, PaperPlanner, paper_engine

from twinlog.errors import ClusterUnreachable, TopicUnknown
from twinlog.model.names import TopicPartition
from twinlog.model.topics.target_topics import TopicFacts
from twinlog.pipelines import engine as engine_module
from twinlog.pipelines.api import SourcePartition
from twinlog.pipelines.connector import read_connector
from twinlog.pipelines.job import Epoch
from twinlog.pipelines.rescan import Rescan
from twinlog.pipelines.sink_planner import SinkPlanner
from twinlog.pipelines.source_planner import SourcePlanner
from twinlog.pipelines.task_line import LineAddress
from twinlog.pipelines.worker_settings import read_worker

LINES = {"connector.class": "FileStreamSource", "file": "/x", "topic": "t"}


class Clock:
    def __init__(self) -> None:
        self.s = 0.0

    def __call__(self) -> float:
        return self.s


def test_it_looks_when_it_is_time_to() -> None:
    clock, there = Clock(), ["a"]
    rescan = Rescan(30_000, clock)
    clock.s = 100.0
    assert not rescan.finds(lambda: pytest.fail("nothing was planned yet"))
    rescan.planned(there)
    clock.s += 29
    assert not rescan.finds(lambda: pytest.fail("it is too early"))
    clock.s += 1
    assert not rescan.finds(lambda: there)
    there.append("b")
    clock.s += 29
    assert not rescan.finds(lambda: there)
    clock.s += 1
    assert rescan.finds(lambda: there)


def test_a_source_finds_new_partitions() -> None:
    clock = Clock()
    planner = SourcePlanner(read_connector("lines", LINES, {}), read_worker({}), 1, 1)
    planner._rescan = Rescan(1000, clock)
    there = [SourcePartition({"filename": "/a"})]
    planner.source.partitions = lambda: there  # type: ignore[method-assign]
    assert isinstance(planner.plan(None, LineAddress("127.0.0.1", 1, "")), Epoch)  # type: ignore[arg-type]
    clock.s = 2.0
    assert not planner.has_news()
    there.append(SourcePartition({"filename": "/b"}))
    clock.s = 4.0
    assert planner.has_news()


class Described:
    """A cluster that is asked for its topics."""

    def __init__(self, **facts: Any) -> None:
        self.facts = facts

    def describe_topics(self, names: Iterable[str]) -> dict[str, Any]:
        return {name: self.facts[name] for name in names}


def topic(partitions: int) -> TopicFacts:
    return TopicFacts("t", "id", partitions, 1, internal=False)


def test_a_sink_finds_new_partitions_and_a_topic_that_is_gone_but_no_silence() -> None:
    clock = Clock()
    planner = SinkPlanner(read_connector("out", dict(SINK), {}), read_worker({}), 1)
    planner._rescan = Rescan(1000, clock)

    def looked(facts: Any) -> bool:
        planner.__dict__["_admin"] = Described(t=facts)
        planner._rescan.planned([TopicPartition("t", 0)])
        clock.s += 2.0
        return planner.has_news()

    assert not looked(topic(1))
    assert looked(topic(2))
    assert looked(TopicUnknown("c", "t"))
    with pytest.raises(ClusterUnreachable):
        looked(ClusterUnreachable("c", "no answer"))


class News(PaperPlanner):
    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)

    def has_news(self) -> bool:
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return bool(answer)


class Line:
    stopped = 0
    missing: tuple[int, ...] = ()

    def not_met(self, _: int) -> list[int]:
        return list(self.missing)

    def stop_tasks(self) -> None:
        self.stopped += 1


class JobOf:
    """Ends when its tasks were told to stop."""

    def __init__(self, line: Line) -> None:
        self.line, self.looks = line, 0

    def ended(self, _: float) -> bool:
        self.looks += 1
        return self.line.stopped > 0


def test_the_epoch_ends_for_news_and_not_for_a_look_that_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "_LOOK_S", 0)
    engine, line = paper_engine(SINK, News(False, OSError("the folder is away"), True)), Line()
    engine._line = line  # type: ignore[assignment]
    job = JobOf(line)
    engine._await(job)  # type: ignore[arg-type]
    assert (line.stopped, job.looks) == (1, 4)


def test_tasks_that_spark_does_not_start_are_named_until_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "_LOOK_S", 0)
    monkeypatch.setattr(engine_module, "_START_S", -1.0)
    engine, line = paper_engine(SINK, News(False, False, True)), Line()
    engine._line, engine.progress.tasks = line, 2  # type: ignore[assignment]
    line.missing = (1,)
    told: list[dict[int, str]] = []

    class Looked(JobOf):
        def ended(self, within_s: float) -> bool:
            told.append(engine.progress.troubles())
            if self.looks == 1:
                line.missing = ()
            return super().ended(within_s)

    engine._await(Looked(line))  # type: ignore[arg-type]
    assert [list(troubles) for troubles in told] == [[], [1], [], []]
    assert "slots" in told[1][1]
