"""The file of a Connect worker, distributed or standalone: cluster, storage topics, default converters. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from twinlog.config.client_properties import ClusterProperties
from twinlog.config.settings import ClientSettings
from twinlog.config.text.precedence import Client
from twinlog.pipelines.settings import Setting, read_settings, setting

_CLIENTS: Final = ("producer.", "consumer.", "admin.")


@setting
class WorkerKeys:
    """Keys of a worker that have a meaning here."""

    bootstrap: str = Setting("bootstrap.servers", "addresses of brokers", "localhost:9092")
    group_id: str = Setting("group.id", "workers with one group.id share connectors", "")
    config_topic: str = Setting("config.storage.topic", "topic of connectors and their state", "")
    offsets_topic: str = Setting("offset.storage.topic", "topic of the positions of sources", "")
    status_topic: str = Setting("status.storage.topic", "topic of states", "")
    config_replicas: int = Setting("config.storage.replication.factor", "of that topic", 3)
    offsets_replicas: int = Setting("offset.storage.replication.factor", "of that topic", 3)
    offsets_partitions: int = Setting("offset.storage.partitions", "of that topic", 25)
    status_replicas: int = Setting("status.storage.replication.factor", "of that topic", 3)
    status_partitions: int = Setting("status.storage.partitions", "of that topic", 5)
    offsets_file: str = Setting("offset.storage.file.filename", "standalone: only its name is used", "")
    listeners: str = Setting("listeners", "addresses of the REST service", "")
    port: int = Setting("rest.port", "port of the REST service, where listeners is not set", 8083)
    host: str = Setting("rest.host.name", "address of the REST service, where listeners is not set", "")


@dataclass(frozen=True)
class Worker:
    """The settings of a Connect worker, checked."""

    keys: WorkerKeys
    config: Mapping[str, str]
    cluster: ClientSettings

    @property
    def standalone(self) -> bool:
        return not self.keys.config_topic

    @property
    def group_id(self) -> str:
        return self.keys.group_id or "twinlog-standalone"

    @property
    def offsets_topic(self) -> str:
        """A standalone worker keeps positions in a topic, too: a file could not be written in a transaction."""
        return self.keys.offsets_topic or f"{self.group_id}-offsets"

    @property
    def status_topic(self) -> str:
        return self.keys.status_topic or f"{self.group_id}-status"


def worker_on(cluster: ClientSettings, group_id: str, replicas: int) -> Worker:
    """The worker of a service that has no worker's file: its storage topics are named after the group."""
    config = {
        "bootstrap.servers": ",".join(cluster.bootstrap_servers),
        "group.id": group_id,
        "offset.storage.replication.factor": str(replicas),
        "status.storage.replication.factor": str(replicas),
    }
    return Worker(read_settings(WorkerKeys, config), config, cluster)


def read_worker(config: Mapping[str, str]) -> Worker:
    """A worker of its file. Raises SettingsRefused, SettingsInvalid."""
    keys = read_settings(WorkerKeys, config)
    plain = {key: value for key, value in config.items() if not key.startswith(_CLIENTS)}
    wanted = {"bootstrap.servers": keys.bootstrap} | {
        key: value
        for key, value in plain.items()
        if key.startswith(("ssl.", "sasl.", "security.protocol", "request.timeout.ms", "client.id"))
    }
    cluster = ClusterProperties(wanted, "kafka").client(Client.PRODUCER)
    return Worker(keys, dict(config), cluster)
