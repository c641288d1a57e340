"""One pipeline's life: plan an epoch, run it as a Spark job, look at how it ended. Runs in the service.

    plan ──▶ job runs (minutes)   ──▶ ended: by time, new schema, other gear ──▶ plan …
                                  └─▶ broke ──▶ pause, longer each time ──▶ plan …

A failure is a visible state with its cause. It never ends the engine.
"""

from __future__ import annotations

import logging
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Protocol

from twinlog.errors import TwinlogError
from twinlog.model.backoff import Backoff
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.pipelines.connector import Connector
from twinlog.pipelines.job import Epoch, Job
from twinlog.pipelines.progress import Progress
from twinlog.pipelines.records import PlanRefused
from twinlog.pipelines.session import own_session
from twinlog.pipelines.settings import SettingsRefused
from twinlog.pipelines.starts import LONGEST_S, STARTS, Starts
from twinlog.pipelines.task_line import LineAddress, LineServer
from twinlog.spark.session import Session, driver_address

log = logging.getLogger("twinlog.pipelines")

_FIRST_PAUSE_S: Final = 0.5
_LONGEST_PAUSE_S: Final = 30.0
_NOTHING_S: Final = 0.5
_LOOK_S: Final = 1
_ENDS: Final = 2
"""Each task has a reader and a writer."""
_CALL_S: Final = 0.05
_GRACE_S: Final = 15.0
_START_S: Final = 60.0
"""A task that Spark has not started after so long has no slot."""
_NO_SLOT: Final = (
    "Spark has not started it: other tasks have all slots. Add executors, or lower tasks.max of some pipelines"
)
_SOUND_S: Final = 5.0
"""A task that breaks does so at its start: after so long the epoch counts as running."""


@dataclass(frozen=True)
class Nothing:
    """There is nothing to run now."""

    waiting: str = ""  # what must come first; empty: everything that is there was handled
    idle: bool = False  # nobody need look at it: it waits for records, and for nothing else
    until: Callable[[threading.Event], None] | None = None  # waits for what may end it, or for the event


class EpochBroke(Exception):
    """A task could not continue."""


class Planner(Protocol):
    """Plans the epochs of one kind of pipeline."""

    def plan(self, session: Session, line: LineAddress) -> Epoch | Nothing:
        """The next epoch, or why there is none now."""
        ...

    def heard(self, report: Mapping[str, Any]) -> None:
        """What a task reported."""
        ...

    def broke(self) -> None:
        """The epoch that was planned last ended before its work was done."""
        ...

    def rest(self) -> None:
        """No task got a record for long: the next epoch begins when there is one."""
        ...

    def has_news(self) -> bool:
        """Whether there is more, or less, to read than the epoch was planned for. Looks now and then."""
        ...

    def again(self) -> None:
        """A new run begins: what is there now is to be handled."""
        ...


class Engine:
    """Runs one pipeline in a thread of its own."""

    def __init__(self, connector: Connector, planner: Planner, spark: Session, starts: Starts = STARTS) -> None:
        self.connector = connector
        self.progress = Progress(provided=connector.provided)
        self.planner = planner
        self._spark = spark
        self._starts = starts
        self._stopping = threading.Event()
        self._line: LineServer | None = None
        self._job: Job | None = None
        self._broke = ""
        self._resting: set[int] = set()  # tasks that got no record for long
        self._thread = threading.Thread(target=self._run, name=f"pipeline-{connector.name}", daemon=True)

    def start(self) -> None:
        self.progress.state = "RUNNING"
        self._thread.start()

    def stop(self, within_s: float = _GRACE_S) -> None:
        """End the epoch; tasks that do not end by themselves in time are cancelled."""
        self._stopping.set()
        if self._line is not None:
            self._line.stop_tasks()
        self._thread.join(within_s)
        job = self._job
        if self._thread.is_alive() and job is not None:
            job.stop()
            self._thread.join(within_s)

    @property
    def running(self) -> bool:
        return self._thread.is_alive()

    def wait(self, within_s: float) -> bool:
        """Wait until the pipeline ends by itself (run = available)."""
        self._thread.join(within_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        backoff = Backoff(_FIRST_PAUSE_S, _LONGEST_PAUSE_S)
        self._await_time()
        while not self._stopping.is_set():
            try:
                nothing = self._epoch()
            except (TwinlogError, PlanRefused, SettingsRefused, EpochBroke) as error:
                self._failed(f"{error}")
            except Exception as error:  # noqa: BLE001  one pipeline's failure must not end the service
                log.debug("%s: %s", self.connector.name, self._masked(traceback.format_exc()))
                self._failed(self._broke or f"{type(error).__name__}: {error}")
            else:
                self.progress.sound(moved=True)
                backoff.reset()
                if nothing is not None:
                    self.progress.waiting = "" if nothing.idle else self._masked(nothing.waiting)
                    if self.connector.common.run == "available" and not nothing.waiting:
                        self.progress.caught_up = not self.progress.faults
                        self.progress.caught_up_at = SYSTEM_CLOCK.now_s()
                        if self.connector.cron is None:
                            return
                        self._await_time()
                        continue
                    wait = nothing.until
                    self._stopping.wait(_NOTHING_S) if wait is None else wait(self._stopping)
                continue
            self._stopping.wait(backoff.next_s())

    def _await_time(self) -> None:
        """Wait until the schedule says that a run begins; without a schedule it begins now."""
        cron = self.connector.cron
        at = None if cron is None else cron.next_after(datetime.fromtimestamp(SYSTEM_CLOCK.now_s(), UTC))
        if at is None:
            return
        self.progress.next_run_at = at.timestamp()
        # The clock is looked at again and again: it may be set meanwhile.
        while SYSTEM_CLOCK.now_s() < self.progress.next_run_at and not self._stopping.wait(_NOTHING_S):
            pass
        self.progress.next_run_at = 0.0
        self.planner.again()

    def _masked(self, text: str) -> str:
        return self.connector.provided.masked(text)

    def _failed(self, reason: str) -> None:
        if self._stopping.is_set():
            return
        self.progress.fail(reason)
        log.warning("%s: %s; trying again", self.connector.name, self.progress.trace)

    def _epoch(self) -> Nothing | None:
        """Plan and run one epoch, or tell why there is none."""
        self._broke = ""
        self._resting.clear()
        try:
            with self._starts.turn(self._stopping) as is_mine:
                self._line = LineServer(self._heard, *driver_address(self._spark))
                nothing = self._begin(self._line) if is_mine else Nothing("the service ends")
            if self._job is None:
                return nothing
            self._await(self._job)
        except BaseException:
            self.planner.broke()
            raise
        else:
            return None
        finally:
            self._job = None
            if self._line is not None:
                self._line.close()
            self.progress.end_epoch()

    def _begin(self, line: LineServer) -> Nothing | None:
        """Plan an epoch and start its job; returns when its tasks have called, or why there is nothing to run."""
        session = own_session(self._spark)
        epoch = self.planner.plan(session, line.address)
        if isinstance(epoch, Nothing):
            return epoch
        self.progress.waiting = ""
        self.progress.epochs += 1
        self.progress.restarts += int(self.progress.failures_in_a_row > 0)
        self.progress.tasks = len(epoch.run.tasks)
        self._job = job = Job(session, epoch, self.connector.name)
        if self._stopping.is_set():
            line.stop_tasks()
        deadline = time.monotonic() + LONGEST_S
        while line.calls < _ENDS * self.progress.tasks and time.monotonic() < deadline and not self._broke:
            if job.ended(_CALL_S):
                break
        return None

    def _await(self, job: Job) -> None:
        """Wait for the end of the epoch. A task that broke ends it: Spark would run the task again without a pause."""
        began = time.monotonic()
        while not job.ended(_LOOK_S):
            if self._broke:
                job.stop()
                raise EpochBroke(self._broke)
            if self.progress.state == "FAILED" and time.monotonic() - began > _SOUND_S:
                self.progress.sound()
            if self._line is not None and time.monotonic() - began > _START_S:
                self.progress.name_not_started(self._line.not_met(self.progress.tasks), _NO_SLOT)
            if self.connector.common.run == "continuous" and self._line is not None and self._has_news():
                self._line.stop_tasks()

    def _has_news(self) -> bool:
        try:
            return self.planner.has_news()
        except Exception as error:  # noqa: BLE001  a look that fails must not end what runs; tasks tell what concerns them
            log.debug("%s: cannot look for what is new: %s", self.connector.name, self._masked(str(error)))
            return False

    def _heard(self, report: Mapping[str, Any]) -> None:
        """A task's report; comes in a thread of its connection."""
        self.progress.take(report)
        if "broke" in report:
            self._broke = str(report["broke"])
        if "counts" in report and self.connector.kind == "source":
            self.progress.faults = []  # the record that stopped it was passed
        self.planner.heard(report)
        if "idle" in report:
            (self._resting.add if report["idle"] else self._resting.discard)(int(report["task"]))
        all_rest = 0 < self.progress.tasks <= len(self._resting)
        if all_rest:
            self.planner.rest()
        if ({"end", "fault", "stream"} & report.keys() or all_rest) and self._line is not None:
            # The other tasks would continue for minutes with a plan that is not right any more.
            self._line.stop_tasks()
