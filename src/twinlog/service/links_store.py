"""The cluster that keeps links made over HTTP, and the connectors of a service over it."""

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
from twinlog.control.links_topic import LinksTopic
from twinlog.errors import UsageError
from twinlog.kafka.admin import ClusterAdmin


def store_of(file: Resolved) -> ClientSettings:
    """The cluster that keeps what is made over HTTP."""
    store = file.service.store or next((link.target_admin for link in file.links), None)
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


def connector_service(runner: Runner, file: Resolved, instance: str, url: str | None) -> ConnectorService:
    """The connectors of a service; the file says where they are kept."""
    settings, store = file.service, store_of(file)
    return ConnectorService(
        runner,
        lambda on_news, on_turn: LinksTopic(
            store,
            settings.group_id,
            replication_factor=settings.store_replication_factor,
            on_news=on_news,
            on_turn=on_turn,
        ),
        group=settings.group_id,
        instance=instance,
        url=url,
        environment=os.environ,
        audit=Audit(settings.http.audit_file, required=settings.http.audit_required),
        trust=GroupTrust(settings.group_id, settings.http.group_secret, settings.http.group_urls),
    )
