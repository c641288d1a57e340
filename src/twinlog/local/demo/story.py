"""What happens in the demo, in order. Runs in the main thread; load and tail run beside it in threads of their own.

    link up ─▶ mirror ─▶ kill -9 ─▶ lag grows ─▶ restart, catch up ─▶ mirror on ─▶ drain ─▶ stop ─▶ prove

It shows nothing itself: after every look at its instruments it hands a Scene to whoever draws.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from twinlog.config.settings import LinkSettings
from twinlog.errors import DemoFailed, TopicExists, TwinlogError
from twinlog.kafka.admin import ClusterAdmin, TopicOrder
from twinlog.kafka.clients import LogReader, LogRecord, RecordProducer
from twinlog.local.demo.engine import EngineProcess
from twinlog.local.demo.gauge import Gauge, Reading, quantile
from twinlog.local.demo.load import PacedLoad
from twinlog.local.demo.proof import Proof, file_logs, judge
from twinlog.local.demo.tail import TargetTail
from twinlog.machine.folders import log_tail
from twinlog.model.names import TopicPartition
from twinlog.model.topics.target_topics import TopicFacts

TOPIC = "orders"
PARTITIONS = 4
_LOOK_EVERY_S = 0.05
# Reading and drawing cost time that the measured latencies would feel.
_DRAW_EVERY_S = 0.25
_FIRST_RECORD_WITHIN_S = 180.0
_CAUGHT_UP_WITHIN_S = 180.0
_DRAINED_WITHIN_S = 30.0

StepState = Literal["ahead", "now", "done", "failed"]


@dataclass(frozen=True)
class Step:
    """One line of the story."""

    title: str
    state: StepState = "ahead"
    note: str = ""
    seconds: float | None = None


@dataclass(frozen=True)
class Scene:
    """All there is to draw at one moment."""

    source: str
    target: str
    remote: str
    elapsed: float
    steps: tuple[Step, ...]
    reading: Reading


@dataclass(frozen=True)
class Outcome:
    """How it ended. Latencies are of the undisturbed time before the kill."""

    proof: Proof
    killed_at: int
    most_behind: int
    back_after_s: float
    p50_ms: float | None
    p99_ms: float | None


@dataclass(frozen=True)
class Wishes:
    """What the user chose."""

    rate: int
    seconds: int
    keep: bool


class Story:
    """One run over two clusters that are up."""

    def __init__(self, link: LinkSettings, links: Path, wishes: Wishes, show: Callable[[Scene], None]) -> None:
        """Build the instruments; nothing is started or sent yet."""
        self.remote = link.naming.remote(link.source, TOPIC)
        self.engine = EngineProcess(links, links.parent / "engine.log", detached=wishes.keep)
        self._link = link
        self._wishes = wishes
        self._show = show
        self._source_admin = ClusterAdmin(link.clients.source_admin)
        self._target_admin = ClusterAdmin(link.clients.target_admin)
        producer = RecordProducer(link.clients.source_admin, compression="lz4", linger_ms=5)
        self._load = PacedLoad(producer, TOPIC, PARTITIONS, wishes.rate)
        self._tail = TargetTail(self._open_tail, PARTITIONS)
        self._gauge = Gauge(self._load, self._tail)
        self._began = time.monotonic()
        self._most_behind = 0
        self._next_draw = 0.0
        self._engine_wanted = False
        self._steps = _Steps(wishes)

    def run(self) -> Outcome:
        """Tell it all. Raises DemoFailed when the engine ends by itself or something takes too long."""
        self._create_topic()
        self._tail.start()
        with self._step("link"):
            self._start_engine()
            self._load.start()
            self._until(lambda: self._tail.arrived > 0, _FIRST_RECORD_WITHIN_S, "no record reached the target")
            self._note(f"first record on {self._link.target}")
        with self._step("mirror"):
            self._until(self._caught_up, _CAUGHT_UP_WITHIN_S, "the link did not catch up")
            undisturbed = time.monotonic()
            self._for(self._wishes.seconds)
        calm = self._tail.latencies_ms(undisturbed)
        with self._step("kill"):
            killed_at = sum(self._load.acknowledged.values())
            self._engine_wanted = False
            family = self.engine.kill()
            self._note(f"{family} processes gone")
            self._most_behind = 0
            self._for(max(2.0, self._wishes.seconds / 3))
        with self._step("restart"):
            self._start_engine()
            back = self._until(self._caught_up, _CAUGHT_UP_WITHIN_S, "the restarted link did not catch up")
            self._note(f"was {self._most_behind:,} behind")
            self._for(max(1.0, self._wishes.seconds / 5))
        with self._step("drain"):
            self._load.finish()
            # A loss never drains: then the proof below says what is missing, which is better than a time-out here.
            self._until(lambda: self._gauge.lag == 0, _DRAINED_WITHIN_S, None)
            self._note(f"lag {self._gauge.lag}")
            if not self._wishes.keep:
                self._engine_wanted = False
                self.engine.stop()
        with self._step("prove"):
            proof = self._prove()
            self._note("equal" if proof.holds else "NOT equal")
        self._draw()
        return Outcome(proof, killed_at, self._most_behind, back, quantile(calm, 0.5), quantile(calm, 0.99))

    def close(self, *, keep_engine: bool) -> None:
        """End the threads and the engine, at any moment of the story."""
        self._tail.finish()
        self._load.finish()
        if not keep_engine:
            self._engine_wanted = False
            self.engine.kill()

    # --- steps --------------------------------------------------------------------------------------------------------

    def _create_topic(self) -> None:
        order = TopicOrder(TOPIC, PARTITIONS, 1, {})
        error = self._source_admin.create_topics([order])[TOPIC]
        if error is not None and not isinstance(error, TopicExists):
            raise error

    def _start_engine(self) -> None:
        self.engine.start()
        self._engine_wanted = True

    def _caught_up(self) -> bool:
        return self._gauge.lag <= max(self._wishes.rate // 4, PARTITIONS)

    def _prove(self) -> Proof:
        """Read both topics from the first to the last record with an ordinary consumer, and judge."""
        sides = []
        ends = (
            (self._link.clients.source_admin, self._source_admin, TOPIC),
            (self._link.clients.target_admin, self._target_admin, self.remote),
        )
        for settings, admin, topic in ends:
            partitions = [TopicPartition(topic, number) for number in range(PARTITIONS)]
            end_offsets: dict[TopicPartition, int] = {}
            for partition, end in admin.fetch_end_offsets(partitions).items():
                if isinstance(end, TwinlogError):
                    raise end
                end_offsets[partition] = end
            reader = LogReader(settings, partitions)
            try:
                sides.append(file_logs(self._drawn(reader.read_until(end_offsets), settings.cluster), PARTITIONS))
            finally:
                reader.close()
        return judge(self._load.acknowledged, *sides)

    def _drawn(self, records: Iterator[LogRecord], side: str) -> Iterator[LogRecord]:
        """Pass records on and show how many there were so far."""
        for count, record in enumerate(records, 1):
            if time.monotonic() >= self._next_draw:
                self._note(f"{side}: {count:,} read")
                self._draw()
            yield record

    def _open_tail(self) -> LogReader | None:
        facts = self._target_admin.describe_topics([self.remote])[self.remote]
        if not isinstance(facts, TopicFacts):
            return None
        return LogReader(self._link.clients.target_admin, [TopicPartition(self.remote, n) for n in range(PARTITIONS)])

    # --- telling ------------------------------------------------------------------------------------------------------

    @contextmanager
    def _step(self, name: str) -> Iterator[None]:
        self._steps.begin(name)
        self._draw()
        try:
            yield
        except BaseException:
            self._steps.end("failed")
            raise
        self._steps.end("done")

    def _note(self, note: str) -> None:
        self._steps.note(note)

    def _until(self, condition: Callable[[], bool], within_s: float, otherwise: str | None) -> float:
        """Look and draw until it is so; return how long that took. Too late is an error unless `otherwise` is None."""
        began = time.monotonic()
        while not condition():
            if time.monotonic() - began > within_s:
                if otherwise is None:
                    break
                raise self._failed(f"{otherwise} within {within_s:.0f} s (lag {self._gauge.lag:,})")
            self._look()
        return time.monotonic() - began

    def _for(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        self._until(lambda: time.monotonic() >= end, seconds + 1, None)

    def _look(self) -> None:
        for thread in (self._load, self._tail):
            if thread.trouble is not None:
                raise thread.trouble
        if self._engine_wanted and self.engine.pid is None:
            raise self._failed("the engine ended by itself")
        if time.monotonic() >= self._next_draw:
            self._draw()
        time.sleep(_LOOK_EVERY_S)

    def _draw(self) -> None:
        self._next_draw = time.monotonic() + _DRAW_EVERY_S
        reading = self._gauge.read()
        self._most_behind = max(self._most_behind, reading.lag)
        elapsed = time.monotonic() - self._began
        link = self._link
        self._show(Scene(link.source, link.target, self.remote, elapsed, self._steps.now(), reading))

    def _failed(self, problem: str) -> DemoFailed:
        return DemoFailed(problem, str(self.engine.log), log_tail(self.engine.log, 15))


@dataclass
class _Steps:
    """The lines of the story and which of them is told now."""

    wishes: Wishes
    _steps: dict[str, Step] = field(init=False)
    _current: str = ""
    _since: float = 0.0

    def __post_init__(self) -> None:
        end = "stop the load, drain" if self.wishes.keep else "stop the load, drain, end the engine"
        self._steps = {
            "link": Step("start the link on Spark"),
            "mirror": Step(f"mirror {self.wishes.rate:,} records/s"),
            "kill": Step("kill -9 the engine, keep producing"),
            "restart": Step("restart it, catch up"),
            "drain": Step(end),
            "prove": Step("read both sides, compare every record"),
        }

    def begin(self, name: str) -> None:
        self._current, self._since = name, time.monotonic()
        self._change(state="now")

    def note(self, note: str) -> None:
        self._change(note=note)

    def end(self, state: StepState) -> None:
        self._change(state=state, seconds=time.monotonic() - self._since)

    def now(self) -> tuple[Step, ...]:
        """Return all steps; the running one with the time it has taken so far."""
        elapsed = time.monotonic() - self._since
        return tuple(replace(s, seconds=elapsed) if s.state == "now" else s for s in self._steps.values())

    def _change(self, **changes: object) -> None:
        self._steps[self._current] = replace(self._steps[self._current], **changes)  # type: ignore[arg-type]
