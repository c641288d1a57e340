"""What a service has beside its jobs: connectors, their past, reports, notifications. Put together here for HTTP."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass

from twinlog.config.resolve import Resolved
from twinlog.control.chronicle import Chronicle
from twinlog.control.connector_service import ConnectorService
from twinlog.control.notifier import Notifier
from twinlog.control.reports import ReportFolder
from twinlog.engine.spec_changes import Change
from twinlog.machine.folders import state_folder
from twinlog.pipelines.worker_settings import Worker
from twinlog.service.links import Service
from twinlog.service.links_store import chronicle, cluster_id_of, connector_service


@dataclass(frozen=True)
class ServiceControl:
    """Everything that orders and answers of one service need, whatever they come over."""

    connectors: ConnectorService
    past: Chronicle
    reports: ReportFolder
    cluster_id: Callable[[], str]
    notifier: Notifier | None

    async def take_file(self, service: Service, file: Resolved) -> tuple[Change, ...]:
        """Bring a changed settings file into force."""
        changes = await self.connectors.use_file(file)
        service.accept()
        return changes


def control_of(service: Service, file: Resolved, url: str | None, worker: Worker | None = None) -> ServiceControl:
    """Put it together; nothing is read yet. `url` is where others of the group find this service."""
    connectors = connector_service(service, file, uuid.uuid4().hex[:12], url, worker)
    past = chronicle(file, lambda: connectors.leadership.active)
    notifier = Notifier(file.service.notifications) if file.service.notifications else None
    if notifier is not None:
        past.on_kept = notifier.take
    return ServiceControl(connectors, past, ReportFolder(state_folder() / "operations"), cluster_id_of(file), notifier)
