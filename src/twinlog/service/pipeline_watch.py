"""Rate and lag of all pipelines of a service, looked at every few seconds. Runs in the service's loop.

    progress of each engine ──▶ records per second
    ends of all topics that sinks read: one question per cluster ──▶ lag in records and in seconds

Nothing is asked while no sink runs. A cluster that does not answer makes the lag unknown; it is never shown as 0.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from twinlog.errors import TwinlogError
from twinlog.kafka.admin import ClusterAdmin
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.names import TopicPartition

if TYPE_CHECKING:
    from twinlog.config.settings import ClientSettings
    from twinlog.pipelines.engine import Engine
    from twinlog.pipelines.progress import Progress
    from twinlog.pipelines.sink_planner import SinkPlanner

log = logging.getLogger("twinlog.pipelines.watch")

LOOK_SECONDS: Final = 5.0
_SAMPLES: Final = 5
_MOVED: Final = ("put", "written", "dropped", "failed")
Places: TypeAlias = Mapping[TopicPartition, int]


@dataclass
class Meter:
    """Rate and lag of one pipeline. None: not known."""

    records_per_second: float | None = None
    lag_records: int | None = None
    lag_seconds: float | None = None
    lag_by_partition: dict[str, int] = field(default_factory=dict)
    _samples: deque[tuple[float, int]] = field(default_factory=lambda: deque(maxlen=_SAMPLES))
    _caught_up_at: float | None = None

    def take(self, now_s: float, progress: Progress) -> None:
        """Count what became of records since some looks ago."""
        moved = sum(progress.totals()[kind] for kind in _MOVED)
        if self._samples and moved < self._samples[-1][1]:
            self._samples.clear()  # it was started anew
        self._samples.append((now_s, moved))
        (before, less), (after, more) = self._samples[0], self._samples[-1]
        self.records_per_second = None if after <= before else (more - less) / (after - before)

    def forget_lag(self) -> None:
        """Nobody could be asked."""
        self.lag_records, self.lag_seconds, self.lag_by_partition = None, None, {}

    def take_ends(self, now_s: float, reached: Places, ends: Places, newest_ms: int) -> None:
        """Compare positions with the ends of the logs. `newest_ms` is the time of the newest stored record; 0: none."""
        self.lag_by_partition = {str(place): max(0, ends[place] - at) for place, at in reached.items()}
        self.lag_records = sum(self.lag_by_partition.values())
        if not self.lag_records:
            self._caught_up_at, self.lag_seconds = now_s, 0.0
            return
        # The age of what was stored last, unless it was the last record there was: then only what came since waits.
        since = [at for at in (self._caught_up_at, newest_ms / 1000 or None) if at is not None]
        self.lag_seconds = max(0.0, now_s - max(since)) if since else None


class PipelineWatch:
    """Looks at the pipelines that `engines` names."""

    def __init__(self, engines: Callable[[], Sequence[Engine]]) -> None:
        self._engines = engines
        self._meters: dict[str, Meter] = {}
        self._admins: dict[tuple[str, ...], ClusterAdmin] = {}

    def meter(self, name: str) -> Meter:
        """What is known of one pipeline; nothing yet if it was not looked at."""
        return self._meters.get(name) or Meter()

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            try:
                await self.look()
            except Exception:  # a loop of the service: the next look may succeed
                log.exception("pipelines could not be looked at")
            await asyncio.sleep(LOOK_SECONDS)

    async def look(self) -> None:
        engines = list(self._engines())
        self._meters = {each.connector.name: self._meters.get(each.connector.name) or Meter() for each in engines}
        now_s = SYSTEM_CLOCK.now_s()
        sinks: dict[tuple[str, ...], list[Engine]] = {}
        for engine in engines:
            self._meters[engine.connector.name].take(now_s, engine.progress)
            if getattr(engine.planner, "starts", None):
                sinks.setdefault(_cluster(engine).bootstrap_servers, []).append(engine)
        for servers, some in sinks.items():
            await asyncio.to_thread(self._look_at, servers, some)

    def _look_at(self, servers: tuple[str, ...], engines: Sequence[Engine]) -> None:
        admin = self._admins.get(servers)
        if admin is None:
            admin = self._admins[servers] = ClusterAdmin(_cluster(engines[0]))
        places = {place for engine in engines for place in _reached(engine)}
        try:
            answers = admin.fetch_end_offsets(sorted(places), committed=True)
        except TwinlogError:
            answers = {}
        ends = {place: int(end) for place, end in answers.items() if not isinstance(end, TwinlogError)}
        now_s = SYSTEM_CLOCK.now_s()
        for engine in engines:
            meter, reached = self._meters.get(engine.connector.name), _reached(engine)
            if meter is None:
                continue
            if reached.keys() <= ends.keys():
                meter.take_ends(now_s, reached, ends, engine.progress.newest_ms)
            else:
                meter.forget_lag()


def _cluster(engine: Engine) -> ClientSettings:
    return cast("SinkPlanner", engine.planner).worker.cluster


def _reached(engine: Engine) -> Places:
    """How far a sink is in each partition; one that has stored nothing yet is where it began."""
    planner, stored = cast("SinkPlanner", engine.planner), engine.progress.positions
    return {
        place: planner.reached(place, int(stored.get(str(place), start))) for place, start in planner.starts.items()
    }
