"""Where the connectors of a worker are kept: Connect's config topic, or the memory of a standalone worker."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from twinlog.logs.elected import ElectedLog
from twinlog.logs.topic import KeyValue, LogRecord
from twinlog.pipelines.connect_state import ConnectState
from twinlog.pipelines.dead_letters import ensure_topic
from twinlog.pipelines.worker_settings import Worker


class ConnectLog(Protocol):
    """Keeps the state; one process writes it."""

    state: ConnectState

    @property
    def leads(self) -> bool: ...

    def open(self) -> ConnectState:
        """Read everything that is there."""
        ...

    def lead(self, records: Sequence[KeyValue]) -> ConnectState:
        """Become the one that writes."""
        ...

    def append(self, records: Sequence[KeyValue]) -> ConnectState:
        """Write all or none. Raises LogFenced when another one leads."""
        ...

    def close(self) -> None: ...


class MemoryLog:
    """A standalone worker: connectors made over REST are gone when it ends, as with Connect."""

    def __init__(self, on_elected: Callable[[], None]) -> None:
        self.state = ConnectState()
        self.leads = True
        self._on_elected = on_elected

    def open(self) -> ConnectState:
        self._on_elected()
        return self.state

    def lead(self, records: Sequence[KeyValue]) -> ConnectState:
        return self.append(records)

    def append(self, records: Sequence[KeyValue]) -> ConnectState:
        for key, value in records:
            self.state = self.state.applied(key, value)
        return self.state

    def close(self) -> None:
        """Nothing is open."""


def connect_log(
    worker: Worker, on_change: Callable[[ConnectState], None], on_elected: Callable[[], None]
) -> ConnectLog:
    """The log of a worker. Workers of one group.id elect one that runs the connectors. Raises ClusterError."""
    if worker.standalone:
        return MemoryLog(on_elected)

    def apply(state: ConnectState, record: LogRecord) -> ConnectState:
        return state.applied(record.key, record.value)

    keys = worker.keys
    ensure_topic(worker.cluster, keys.config_topic, keys.config_replicas, 1, {"cleanup.policy": "compact"})
    return ElectedLog(
        worker.cluster,
        keys.config_topic,
        # Connect's own group: a Java worker of this group.id and this one cannot both be members.
        worker.group_id,
        start=ConnectState(),
        apply=apply,
        on_change=on_change,
        on_elected=on_elected,
        transactional_id=f"connect-cluster-{worker.group_id}",
    )
