"""From the text of one link to its settings, value by value. Runs while a file is resolved."""

from __future__ import annotations

from typing import cast

from twinlog.config.clients import resolve_client
from twinlog.config.cut_sets import resolve_cut_sets
from twinlog.config.link_transforms import resolve_transforms
from twinlog.config.link_values import (
    AclsMode,
    AclSyncSettings,
    AuditSettings,
    CheckpointSettings,
    ConfigConflict,
    ConfigSyncSettings,
    CopySettings,
    End,
    FetchSettings,
    GroupOffsetSettings,
    GroupRewinds,
    HeartbeatSettings,
    Isolation,
    LoginSyncSettings,
    Mm2Takeover,
    OffsetSyncSettings,
    OnGap,
    ReadSettings,
    TakeoverSettings,
    UsersMode,
    ValuesMode,
    WriteSettings,
)
from twinlog.config.objectives import resolve_objectives
from twinlog.config.redirects import resolve_switch
from twinlog.config.registry_mirror import resolve_registry_mirror
from twinlog.config.settings import Clients, LinkSettings
from twinlog.config.telling.remarks import remark
from twinlog.config.text import catalogue as keys
from twinlog.config.text.lookup import LinkLookup
from twinlog.config.text.precedence import (
    SOURCE_ADMIN,
    SOURCE_CONSUMER,
    SOURCE_PRODUCER,
    TARGET_ADMIN,
    TARGET_CONSUMER,
    TARGET_PRODUCER,
)
from twinlog.model.ledger.control import FileLimits
from twinlog.model.pace import Limits
from twinlog.model.routes.topology import Route
from twinlog.model.selection import Patterns, Selection
from twinlog.model.start import Earliest, Latest, StartFrom


def resolve_link(at: LinkLookup, route: Route) -> LinkSettings:
    """Read every setting of a link; what is wrong is noted in the lookup."""
    remark(at)
    return LinkSettings(
        source=at.link.source,
        target=at.link.target,
        clients=_clients(at),
        topics=route.selection,
        groups=Selection(at.value(keys.GROUPS), at.value(keys.GROUPS_EXCLUDE)),
        naming=route.naming,
        provenance=route.provenance,
        copies=_copies(at),
        configs=_configs(at),
        acls=_acls(at),
        logins=_logins(at),
        group_offsets=_group_offsets(at),
        checkpoints=_checkpoints(at),
        heartbeats=_heartbeats(at),
        offset_syncs=_offset_syncs(at),
        mm2=_mm2(at),
        reading=_reading(at),
        writing=_writing(at),
        audit=_audit(at),
        objectives=resolve_objectives(at),
        cut_sets=resolve_cut_sets(at),
        switch=resolve_switch(at),
        registry=resolve_registry_mirror(at, mirrored=bool(route.selection.registry)),
        transforms=resolve_transforms(at, route.masks, route.selection.registry),
    )


def _clients(at: LinkLookup) -> Clients:
    return Clients(
        source_consumer=resolve_client(at, SOURCE_CONSUMER),
        source_admin=resolve_client(at, SOURCE_ADMIN),
        source_producer=resolve_client(at, SOURCE_PRODUCER),
        target_consumer=resolve_client(at, TARGET_CONSUMER),
        target_producer=resolve_client(at, TARGET_PRODUCER),
        target_admin=resolve_client(at, TARGET_ADMIN),
        admin_timeout_ms=at.value(keys.ADMIN_TIMEOUT_MS),
    )


def _copies(at: LinkLookup) -> CopySettings:
    return CopySettings(
        replication_factor=at.value(keys.REPLICATION_FACTOR),
        refresh_enabled=at.value(keys.REFRESH_TOPICS),
        refresh_seconds=at.value(keys.REFRESH_TOPICS_SECONDS),
        deletion=at.value(keys.TOPIC_DELETION),
        start_from=_start(at),
    )


def _reading(at: LinkLookup) -> ReadSettings:
    return ReadSettings(
        tasks_max=at.optional(keys.TASKS_MAX),
        fetch=_fetch(at),
        on_gap=cast("OnGap", at.value(keys.ON_GAP)),
        epoch_seconds=at.value(keys.EPOCH_SECONDS),
        fault_retry_seconds=at.value(keys.FAULT_RETRY_SECONDS),
        limits=FileLimits(
            Limits(at.value(keys.LIMIT_BYTES), at.value(keys.LIMIT_RECORDS)),
            at.value(keys.LIMIT_SCHEDULE),
            at.value(keys.TOPICS_FIRST),
        ),
    )


def _configs(at: LinkLookup) -> ConfigSyncSettings:
    return ConfigSyncSettings(
        enabled=at.value(keys.SYNC_TOPIC_CONFIGS),
        seconds=at.value(keys.SYNC_TOPIC_CONFIGS_SECONDS),
        exclude=Patterns(at.value(keys.CONFIG_EXCLUDE)),
        use_defaults_from=cast("End", at.value(keys.USE_DEFAULTS_FROM)),
        conflict=cast("ConfigConflict", at.value(keys.CONFIG_CONFLICT)),
    )


def _acls(at: LinkLookup) -> AclSyncSettings:
    return AclSyncSettings(
        enabled=at.value(keys.SYNC_TOPIC_ACLS),
        seconds=at.value(keys.SYNC_TOPIC_ACLS_SECONDS),
        mode=cast("AclsMode", at.value(keys.SYNC_TOPIC_ACLS_MODE)),
    )


def _logins(at: LinkLookup) -> LoginSyncSettings:
    return LoginSyncSettings(
        quotas=cast("ValuesMode", at.value(keys.SYNC_CLIENT_QUOTAS_MODE)),
        group_configs=cast("ValuesMode", at.value(keys.SYNC_GROUP_CONFIGS_MODE)),
        scram_users=cast("UsersMode", at.value(keys.SYNC_SCRAM_USERS_MODE)),
        seconds=at.value(keys.SYNC_LOGINS_SECONDS),
    )


def _group_offsets(at: LinkLookup) -> GroupOffsetSettings:
    return GroupOffsetSettings(
        refresh_enabled=at.value(keys.REFRESH_GROUPS),
        refresh_seconds=at.value(keys.REFRESH_GROUPS_SECONDS),
        enabled=at.value(keys.SYNC_GROUP_OFFSETS),
        seconds=at.value(keys.SYNC_GROUP_OFFSETS_SECONDS),
        rewinds=cast("GroupRewinds", at.value(keys.GROUP_REWINDS)),
    )


def _checkpoints(at: LinkLookup) -> CheckpointSettings:
    return CheckpointSettings(
        enabled=at.value(keys.EMIT_CHECKPOINTS),
        seconds=at.value(keys.EMIT_CHECKPOINTS_SECONDS),
        replication_factor=at.value(keys.CHECKPOINTS_REPLICAS),
    )


def _heartbeats(at: LinkLookup) -> HeartbeatSettings:
    return HeartbeatSettings(
        enabled=at.value(keys.EMIT_HEARTBEATS),
        seconds=at.value(keys.EMIT_HEARTBEATS_SECONDS),
        replication_factor=at.value(keys.HEARTBEATS_REPLICAS),
    )


def _offset_syncs(at: LinkLookup) -> OffsetSyncSettings:
    return OffsetSyncSettings(
        enabled=at.value(keys.EMIT_OFFSET_SYNCS),
        location=cast("End", at.value(keys.OFFSET_SYNCS_LOCATION)),
        replication_factor=at.value(keys.OFFSET_SYNCS_REPLICAS),
        lag_max=at.value(keys.OFFSET_LAG_MAX),
    )


def _mm2(at: LinkLookup) -> TakeoverSettings:
    return TakeoverSettings(
        takeover=cast("Mm2Takeover", at.value(keys.MM2_TAKEOVER)),
        offsets_topic=at.optional(keys.MM2_OFFSETS_TOPIC),
        connector=at.value(keys.MM2_CONNECTOR),
    )


def _writing(at: LinkLookup) -> WriteSettings:
    return WriteSettings(
        max_request_bytes=at.value(keys.MAX_REQUEST_SIZE, TARGET_PRODUCER),
        merge_target_bytes=at.value(keys.MERGE_TARGET_BYTES),
        merge_linger_ms=at.value(keys.MERGE_LINGER_MS),
        ledger_shards=at.value(keys.LEDGER_SHARDS),
        max_bytes_in_flight=at.value(keys.MAX_BYTES_IN_FLIGHT),
    )


def _audit(at: LinkLookup) -> AuditSettings:
    return AuditSettings(
        enabled=at.value(keys.AUDIT),
        seconds=at.value(keys.AUDIT_SECONDS),
    )


def _start(at: LinkLookup) -> StartFrom:
    reset = at.value(keys.AUTO_OFFSET_RESET, SOURCE_CONSUMER)
    own = at.optional(keys.START_FROM)
    if own is not None:
        return own
    return Latest() if reset == "latest" else Earliest()


def _fetch(at: LinkLookup) -> FetchSettings:
    return FetchSettings(
        max_bytes=at.value(keys.FETCH_MAX_BYTES, SOURCE_CONSUMER),
        partition_max_bytes=at.value(keys.PARTITION_FETCH_BYTES, SOURCE_CONSUMER),
        max_wait_ms=at.value(keys.FETCH_MAX_WAIT_MS, SOURCE_CONSUMER),
        min_bytes=at.value(keys.FETCH_MIN_BYTES, SOURCE_CONSUMER),
        isolation=cast("Isolation", at.value(keys.ISOLATION_LEVEL, SOURCE_CONSUMER)),
    )
