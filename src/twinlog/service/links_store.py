"""The cluster that keeps links made over HTTP, and the steward of a service's connectors over it."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable

from twinlog.config.resolve import Resolved
from twinlog.config.settings import ClientSettings
from twinlog.control.audit import Audit
from twinlog.control.chronicle import Chronicle
from twinlog.control.events_topic import EventsTopic
from twinlog.control.group_trust import GroupTrust
from twinlog.control.links_topic import LinksTopic
from twinlog.control.steward import Runner, Steward
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


def steward(runner: Runner, file: Resolved, instance: str, url: str | None) -> Steward:
    """The steward of a service's connectors; the file says where they are kept."""
    settings, store = file.service, store_of(file)
    return Steward(
        runner,
        lambda on_news, on_turn: LinksTopic(
            store,
            settings.group_id,
            replication_factor=settings.store_replication_factor,
            on_news=on_news,
            on_turn=on_turn,
        ),
        settings.group_id,
        instance,
        url,
        os.environ,
        Audit(settings.http.audit_file, required=settings.http.audit_required),
        GroupTrust(settings.group_id, settings.http.group_secret, settings.http.group_urls),
    )
