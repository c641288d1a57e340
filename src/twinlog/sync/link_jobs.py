"""Which sync jobs a link has: the one list. A sync job that the settings switch off is not on it."""

from __future__ import annotations

from twinlog.model.topics.deletion import IgnoreDeletion
from twinlog.sync.acls import AclSync
from twinlog.sync.audit import CopyAudit
from twinlog.sync.configs import ConfigSync
from twinlog.sync.cuts import CutSync
from twinlog.sync.deletions import DeletionSync
from twinlog.sync.ends import LinkEnds
from twinlog.sync.groups import GroupSync
from twinlog.sync.heartbeats import Heartbeats
from twinlog.sync.hindrances import Hindrances
from twinlog.sync.jobs import SyncJob
from twinlog.sync.offset_syncs import OffsetSyncs
from twinlog.sync.registry import RegistrySync
from twinlog.sync.registry_ahead import RegistryAhead
from twinlog.sync.scram_users import ScramUserList
from twinlog.sync.source_ends import SourceEnds
from twinlog.sync.value_tables import GROUP_CONFIGS, QUOTAS, ValueSync


def sync_jobs_of(ends: LinkEnds) -> list[SyncJob]:
    """The sync jobs of one link."""
    link = ends.link
    jobs: list[SyncJob] = [SourceEnds(ends), Hindrances()]
    if link.configs.enabled:
        jobs.append(ConfigSync(ends, link.configs))
    if not isinstance(link.copies.deletion, IgnoreDeletion):
        jobs.append(DeletionSync(ends, link.copies))
    if link.acls.enabled:
        jobs.append(AclSync(ends, link.acls))
    for kind, mode in ((QUOTAS, link.logins.quotas), (GROUP_CONFIGS, link.logins.group_configs)):
        if mode != "off":
            jobs.append(ValueSync(ends, kind, mode, link.logins.seconds))
    if link.logins.scram_users != "off":
        jobs.append(ScramUserList(ends, link.logins))
    if link.checkpoints.enabled or link.group_offsets.enabled:
        jobs.append(GroupSync(ends, link.group_offsets, link.checkpoints))
    if link.cut_sets:
        jobs.append(CutSync(ends))
    if link.heartbeats.enabled:
        jobs.append(Heartbeats(ends, link.heartbeats))
    if link.offset_syncs.enabled:
        jobs.append(OffsetSyncs(ends, link.offset_syncs))
    if link.registry.mirrored:
        jobs.append(RegistrySync(ends))
    elif link.registry.topic in link.topics.not_this_way:
        jobs.append(RegistryAhead(ends))
    if link.audit.enabled:
        jobs.append(CopyAudit(ends, link.audit))
    return jobs
