"""The pipelines of one service: starts, stops and shows them. Runs in the service."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from typing import Any

from twinlog.config.text.provided import NOTHING_PROVIDED, Provided
from twinlog.errors import TopicUnknown
from twinlog.kafka.appending import append_record
from twinlog.model.backoff import Backoff
from twinlog.pipelines.connector import Connector, read_connector
from twinlog.pipelines.dead_letters import ensure_topic
from twinlog.pipelines.engine import Engine, Planner
from twinlog.pipelines.offsets_topic import OffsetsTopic
from twinlog.pipelines.sink_planner import SinkPlanner
from twinlog.pipelines.source_planner import SourcePlanner
from twinlog.pipelines.worker_settings import Worker
from twinlog.spark.session import Session

_COMPACTED = {"cleanup.policy": "compact"}
_NEW_TOPIC_S = 30.0
"""How long a topic that was just created may be unknown."""


class Pipelines:
    """Running pipelines by name."""

    def __init__(self, worker: Worker, spark: Session, worker_id: str) -> None:
        self.worker = worker
        self.worker_id = worker_id
        self._spark = spark
        self._engines: dict[str, Engine] = {}
        self._lock = threading.Lock()
        self._offsets_partitions = 0

    def prepare(self) -> None:
        """Create the storage topics unless they are there. Raises ClusterError."""
        keys, cluster = self.worker.keys, self.worker.cluster
        ensure_topic(cluster, self.worker.status_topic, keys.status_replicas, keys.status_partitions, _COMPACTED)
        topic = OffsetsTopic(cluster, self.worker.offsets_topic)
        self._offsets_partitions = topic.ensure(keys.offsets_partitions, keys.offsets_replicas)

    def start(self, name: str, config: Mapping[str, str], provided: Provided = NOTHING_PROVIDED) -> Engine:
        """Run a pipeline, instead of the one of this name if there is one. Raises SettingsRefused, ClusterError."""
        connector = read_connector(name, config, self.worker.config, provided)
        self.stop(name)
        generation = claim(self.worker, name, self.worker_id)
        planner: Planner
        if connector.kind == "sink":
            planner = SinkPlanner(connector, self.worker, generation)
        else:
            planner = SourcePlanner(connector, self.worker, generation, self._offsets_of(connector))
        engine = Engine(connector, planner, self._spark)
        with self._lock:
            self._engines[name] = engine
        engine.start()
        return engine

    def _offsets_of(self, connector: Connector) -> int:
        own = connector.config.get("offsets.storage.topic")
        if own is None:
            return self._offsets_partitions
        return OffsetsTopic(self.worker.cluster, own).ensure(
            self.worker.keys.offsets_partitions, self.worker.keys.offsets_replicas
        )

    def stop(self, name: str) -> None:
        with self._lock:
            engine = self._engines.pop(name, None)
        if engine is not None:
            engine.stop()

    def engine(self, name: str) -> Engine | None:
        return self._engines.get(name)

    def names(self) -> list[str]:
        return sorted(self._engines)

    def close(self) -> None:
        for name in self.names():
            self.stop(name)


def claim(worker: Worker, name: str, worker_id: str) -> int:
    """Say that this service runs a connector. The place of that record in the log grows with each start."""
    status: dict[str, Any] = {"state": "RUNNING", "trace": None, "worker_id": worker_id, "generation": 0}
    key, value = f"status-connector-{name}".encode(), json.dumps(status).encode()
    backoff, deadline = Backoff(0.1, 1.0), time.monotonic() + _NEW_TOPIC_S
    while True:
        try:
            return append_record(worker.cluster, worker.status_topic, key, value)
        except TopicUnknown:
            # The topic was created a moment ago, perhaps by another connector: not every broker knows it yet.
            if time.monotonic() > deadline:
                raise
            time.sleep(backoff.next_s())
