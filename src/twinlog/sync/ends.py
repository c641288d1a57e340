"""A link and its two clusters, as the control plane asks them."""

from __future__ import annotations

from dataclasses import dataclass

from twinlog.config.settings import LinkSettings
from twinlog.kafka.admin import ClusterAdmin


@dataclass(frozen=True)
class LinkEnds:
    """Both ends of one link."""

    link: LinkSettings
    source: ClusterAdmin
    target: ClusterAdmin

    @classmethod
    def of(cls, link: LinkSettings) -> LinkEnds:
        """Clients for both ends; nothing is asked yet."""
        return cls(link, ClusterAdmin(link.clients.source_admin), ClusterAdmin(link.clients.target_admin))
