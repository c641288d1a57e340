"""The cluster that keeps connectors made over HTTP, and the connectors of a service over it."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable

from twinlog.config.resolve import Resolved
from twinlog.config.settings import ClientSettings
from twinlog.control.audit import Audit
from twinlog.control.chronicle import Chronicle
from twinlog.control.connector_service import ConnectorService
from twinlog.control.events_topic import EventsTopic
from twinlog.control.group_trust import GroupTrust
from twinlog.control.kind import Runner
from twinlog.control.links_topic import LinksTopic, Place, shared_place
from twinlog.control.service_topics import AUDIT
from twinlog.control.worker_reports import StatusTopicTable
from twinlog.errors import UsageError
from twinlog.kafka.admin import ClusterAdmin
from twinlog.logs.ensure import ensure_logs
from twinlog.pipelines.dead_letters import ensure_topic
from twinlog.pipelines.worker_settings import Worker, worker_on


def store_of(file: Resolved) -> ClientSettings:
    """The cluster that keeps what is made over HTTP."""
    store = file.service.store or next((link.clients.target_admin for link in file.links), None)
    if store is None:
        raise UsageError("links made over HTTP need a place: set store.bootstrap.servers, or a link in the file")
    return store


def cluster_id_of(file: Resolved) -> Callable[[], str]:
    """Ask that cluster for its id, once."""
    admin = ClusterAdmin(store_of(file))
    return functools.cache(admin.fetch_cluster_id)


def chronicle(file: Resolved, leads: Callable[[], bool]) -> Chronicle:
    """Where events of the links are kept."""
    settings = file.service
    topic = EventsTopic(store_of(file), settings.group_id, replication_factor=settings.store_replication_factor)
    return Chronicle(topic, leads)


def connector_service(
    runner: Runner, file: Resolved, instance: str, url: str | None, worker: Worker | None = None
) -> ConnectorService:
    """The connectors of a service. The file says where they are kept; with a Connect worker, where the worker does."""
    settings, store = file.service, store_of(file)
    replicas = settings.store_replication_factor
    place = shared_place(settings.group_id, replicas) if worker is None else place_of(worker)
    runs_for = worker or worker_on(store, settings.group_id, replicas)

    return ConnectorService(
        runner,
        lambda prove, on_news, on_elected, on_members: LinksTopic(
            store, place, prove, on_news=on_news, on_elected=on_elected, on_members=on_members
        ),
        group=settings.group_id,
        instance=instance,
        url=url,
        environment=os.environ,
        audit=Audit(settings.http.audit_file, required=settings.http.audit_required),
        trust=GroupTrust(settings.group_id, settings.http.group_secret, settings.http.group_urls),
        worker=runs_for,
        reports=None if place.topic is None else lambda on_change: StatusTopicTable(runs_for, on_change),
    )


def place_of(worker: Worker) -> Place:
    """Connect's config topic, which belongs to one group. A standalone worker keeps its connectors in memory."""
    keys = worker.keys

    def ensure(admin: ClusterAdmin) -> None:
        if not worker.standalone:
            ensure_topic(worker.cluster, keys.config_topic, keys.config_replicas, 1, {"cleanup.policy": "compact"})
        ensure_logs(admin, -1, AUDIT)

    topic = None if worker.standalone else keys.config_topic
    return Place(worker.group_id, topic, f"connect-cluster-{worker.group_id}", ensure, own_topic=True)
