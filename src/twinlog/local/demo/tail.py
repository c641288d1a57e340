"""A consumer at the end of the target: counts what arrives and how old it is. Runs in a thread of the demo.

What the demo shows of the target comes from here, not from what the engine says about itself.
"""

from __future__ import annotations

import threading
import time
from array import array
from bisect import bisect_left
from collections.abc import Callable

from twinlog.kafka.clients import LogReader
from twinlog.local.demo.records import read_stamp
from twinlog.model.clock import SYSTEM_CLOCK

_LOOK_AGAIN_S = 0.1
_SAMPLE = 20_000


class TargetTail:
    """Follows the target topic. `open_reader` gives None while the topic does not exist yet."""

    def __init__(self, open_reader: Callable[[], LogReader | None], partitions: int) -> None:
        """Nothing is read before `start`."""
        self.reached = dict.fromkeys(range(partitions), 0)
        """Per partition, the number after the highest that arrived."""
        self.arrived = 0
        self.trouble: Exception | None = None
        self._open_reader = open_reader
        # Two columns of equal length, the first one rising.
        self._arrivals = array("d")
        self._latencies = array("d")
        self._guard = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="demo-tail", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def finish(self) -> None:
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join()

    def latencies_ms(self, since: float) -> list[float]:
        """Return, sorted, how old the records were that arrived since then (on the monotonic clock).

        Of very many it returns an even sample: sorting them all would disturb what is measured.
        """
        with self._guard:
            first = bisect_left(self._arrivals, since)
            step = 1 + (len(self._arrivals) - first) // _SAMPLE
            recent = self._latencies[first::step]
        return sorted(recent)

    def _run(self) -> None:
        try:
            reader = self._open_reader()
            while reader is None and not self._stop.wait(_LOOK_AGAIN_S):
                reader = self._open_reader()
            if reader is not None:
                self._follow(reader)
        except Exception as error:  # noqa: BLE001  a thread's entry: the story shows it
            self.trouble = error

    def _follow(self, reader: LogReader) -> None:
        try:
            while not self._stop.is_set():
                record = reader.poll(_LOOK_AGAIN_S)
                if record is None:
                    continue
                now_ns = SYSTEM_CLOCK.now_ns()
                self.arrived += 1
                stamp = read_stamp(record)
                if stamp is None:
                    continue
                here = record.partition
                self.reached[here] = max(self.reached[here], stamp.sequence + 1)
                with self._guard:
                    self._arrivals.append(time.monotonic())
                    self._latencies.append((now_ns - stamp.created_ns) / 1e6)
        finally:
            reader.close()
