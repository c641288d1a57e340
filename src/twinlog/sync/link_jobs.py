"""Which sync jobs a link has: the one list. A sync job that the settings switch off is not on it."""

from __future__ import annotations

from twinlog.model.topics.deletion import IgnoreDeletion
from twinlog.sync.acls import AclSync
from twinlog.sync.audit import Audit
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
from twinlog.sync.scram_users import ScramUserList
from twinlog.sync.source_ends import SourceEnds
from twinlog.sync.value_tables import GROUP_CONFIGS, QUOTAS, ValueSync


def sync_jobs_of(ends: LinkEnds) -> list[SyncJob]:
    """The sync jobs of one link."""
    chores: list[SyncJob] = [SourceEnds(ends), Hindrances()]
    if ends.link.configs.enabled:
        chores.append(ConfigSync(ends))
    if not isinstance(ends.link.copies.deletion, IgnoreDeletion):
        chores.append(DeletionSync(ends))
    if ends.link.acls.enabled:
        chores.append(AclSync(ends))
    if ends.link.logins.quotas != "off":
        chores.append(ValueSync(ends, QUOTAS, ends.link.logins.quotas))
    if ends.link.logins.group_configs != "off":
        chores.append(ValueSync(ends, GROUP_CONFIGS, ends.link.logins.group_configs))
    if ends.link.logins.scram_users != "off":
        chores.append(ScramUserList(ends))
    if ends.link.checkpoints.enabled or ends.link.group_offsets.enabled:
        chores.append(GroupSync(ends))
    if ends.link.cut_sets:
        chores.append(CutSync(ends))
    if ends.link.heartbeats.enabled:
        chores.append(Heartbeats(ends))
    if ends.link.offset_syncs.enabled:
        chores.append(OffsetSyncs(ends))
    if ends.link.registry.mirrored:
        chores.append(RegistrySync(ends))
    if ends.link.audit.enabled:
        chores.append(Audit(ends))
    return chores
