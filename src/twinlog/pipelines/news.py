"""Waiting for records of topics that nobody reads: one question per cluster and second for all of them.

A sink that got no record for `idle.ms` gives its Python workers back. Its pipeline waits here, and begins an epoch when
the end of a log has moved. Runs in the service, in threads.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from twinlog.config.settings import ClientSettings
from twinlog.errors import TwinlogError
from twinlog.kafka.admin import ClusterAdmin
from twinlog.model.names import TopicPartition

log = logging.getLogger("twinlog.pipelines")

_PAUSE_S: Final = 1.0
LONGEST_S: Final = 300.0
"""After so long a pipeline is planned again in any case: there may be new topics and partitions. As in Connect."""
Ends = Mapping[TopicPartition, int]


@dataclass(eq=False)
class _Waiting:
    ends: Ends
    news: threading.Event = field(default_factory=threading.Event)


class News:
    """Asks for the ends of all logs that somebody waits for."""

    def __init__(self, admin: Callable[[ClientSettings], Any] = ClusterAdmin, pause_s: float = _PAUSE_S) -> None:
        self._admin, self._pause_s = admin, pause_s
        self._lock = threading.Lock()
        self._waiting: dict[tuple[str, ...], list[_Waiting]] = {}

    def wait(self, cluster: ClientSettings, ends: Ends, stopping: threading.Event, longest_s: float) -> bool:
        """Whether a log got another end than `ends` says; waits for it, or for `stopping`, or so long."""
        mine, servers = _Waiting(ends), cluster.bootstrap_servers
        with self._lock:
            is_first = servers not in self._waiting
            self._waiting.setdefault(servers, []).append(mine)
        if is_first:
            threading.Thread(target=self._watch, args=(cluster,), name="topic-news", daemon=True).start()
        left = longest_s
        while left > 0 and not stopping.is_set() and not mine.news.wait(min(self._pause_s, left)):
            left -= self._pause_s
        with self._lock:
            if mine in self._waiting.get(servers, ()):
                self._waiting[servers].remove(mine)
        return mine.news.is_set()

    def asks(self, cluster: ClientSettings) -> bool:
        """Whether a thread asks this cluster."""
        with self._lock:
            return cluster.bootstrap_servers in self._waiting

    def _watch(self, cluster: ClientSettings) -> None:
        """Ask until nobody waits."""
        admin, pause = self._admin(cluster), threading.Event()
        while True:
            pause.wait(self._pause_s)
            with self._lock:
                waiting = list(self._waiting[cluster.bootstrap_servers])
                if not waiting:
                    del self._waiting[cluster.bootstrap_servers]
                    return
            try:
                self._look(admin, waiting)
            except TwinlogError as error:
                log.debug("%s: ends of topics are not known: %s", cluster.cluster, error)

    def _look(self, admin: Any, waiting: list[_Waiting]) -> None:
        places = sorted({place for each in waiting for place in each.ends})
        answers = admin.fetch_end_offsets(places, committed=True)
        for each in waiting:
            # A topic that is gone is news as well: its pipeline must say so.
            if any(isinstance(answers[at], TwinlogError) or int(answers[at]) != end for at, end in each.ends.items()):
                each.news.set()


NEWS: Final = News()
