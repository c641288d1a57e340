"""What a mirror costs: CPU and memory of all its processes, sampled while they live."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import Self

import psutil

_LOOK_AROUND_S = 1.0
_PSS = re.compile(r"^Pss:\s+(\d+) kB", re.MULTILINE)


class Meter:
    """The processes of one mirror. Use as a context.

    New processes are looked for, and memory is read, once a second in a thread; CPU is read when asked, cheaply, so
    that the measuring takes nothing from what it measures. A process that has ended keeps what it had used when it was
    last seen: its last moments are lost.
    """

    def __init__(self, pid: int) -> None:
        self._root = psutil.Process(pid)
        self._known: dict[int, psutil.Process] = {pid: self._root}
        self._used: dict[tuple[int, float], float] = {}
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._watch = threading.Thread(target=self._watch_all, name="bench-cost", daemon=True)
        self.peak_bytes = 0

    def __enter__(self) -> Self:
        self._watch.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._watch.join()

    def look_around(self) -> None:
        """Find the processes that descend from the mirror's first one, and how much memory they use together."""
        try:
            found = [self._root, *self._root.children(recursive=True)]
        except psutil.NoSuchProcess:
            return
        with self._lock:
            self._known = {process.pid: process for process in found}
        self.cpu_seconds()
        self.peak_bytes = max(self.peak_bytes, sum(_resident(process.pid) for process in found))

    def cpu_seconds(self) -> float:
        """User and system time of all processes so far, the ended ones included."""
        with self._lock:
            for process in list(self._known.values()):
                try:
                    times = process.cpu_times()
                    self._used[process.pid, process.create_time()] = times.user + times.system
                except psutil.NoSuchProcess:
                    self._known.pop(process.pid, None)
            return sum(self._used.values())

    def _watch_all(self) -> None:
        while not self._ended.wait(_LOOK_AROUND_S):
            self.look_around()


def _resident(pid: int) -> int:
    """Memory in use; pages that several processes share are divided among them, where the system can tell (Linux)."""
    try:
        found = _PSS.search(Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii"))
    except (OSError, ProcessLookupError):
        found = None
    if found:
        return int(found.group(1)) * 1024
    try:
        return int(psutil.Process(pid).memory_info().rss)
    except psutil.NoSuchProcess:
        return 0
