"""Settings of a link by subject: a sync job, or a stage of the copy, takes the value that it needs. Frozen."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from twinlog.model.ledger.control import FileLimits
from twinlog.model.selection import Patterns
from twinlog.model.start import StartFrom
from twinlog.model.topics.deletion import TopicDeletion

Isolation: TypeAlias = Literal["read_committed", "read_uncommitted"]
OnGap: TypeAlias = Literal["fault", "skip"]
End: TypeAlias = Literal["source", "target"]
AclsMode: TypeAlias = Literal["mm2", "full"]
ValuesMode: TypeAlias = Literal["off", "list", "sync"]
UsersMode: TypeAlias = Literal["off", "list"]
ConfigConflict: TypeAlias = Literal["report", "revert", "keep"]
GroupRewinds: TypeAlias = Literal["follow", "hold"]
Mm2Takeover: TypeAlias = Literal["check", "trust", "off"]


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)


class CopySettings(_Value):
    """Which copies there are on the target, and from where on records are copied."""

    # -1: the target's own default.
    replication_factor: int
    refresh_enabled: bool
    refresh_seconds: int
    deletion: TopicDeletion
    start_from: StartFrom


class ConfigSyncSettings(_Value):
    """Configs of topics that are kept in sync."""

    enabled: bool
    seconds: int
    # A topic config whose name matches is not copied.
    exclude: Patterns
    use_defaults_from: End
    conflict: ConfigConflict


class AclSyncSettings(_Value):
    """ACLs of topics that are kept in sync."""

    enabled: bool
    seconds: int
    mode: AclsMode


class LoginSyncSettings(_Value):
    """Client quotas, configs of groups and SCRAM users that are kept in sync."""

    quotas: ValuesMode
    group_configs: ValuesMode
    scram_users: UsersMode
    seconds: int


class GroupOffsetSettings(_Value):
    """Committed offsets of consumer groups that are kept in sync."""

    enabled: bool
    seconds: int
    rewinds: GroupRewinds
    refresh_enabled: bool
    refresh_seconds: int


class CheckpointSettings(_Value):
    """MirrorMaker 2's checkpoints topic on the target."""

    enabled: bool
    seconds: int
    replication_factor: int


class HeartbeatSettings(_Value):
    """MirrorMaker 2's heartbeats topic on the target."""

    enabled: bool
    seconds: int
    replication_factor: int


class OffsetSyncSettings(_Value):
    """MirrorMaker 2's offset-syncs topic."""

    enabled: bool
    location: End
    replication_factor: int
    lag_max: int


class TakeoverSettings(_Value):
    """How a link continues what MirrorMaker 2 copied before."""

    takeover: Mm2Takeover
    # None: where MirrorMaker 2 in dedicated mode keeps them.
    offsets_topic: str | None
    connector: str


class FetchSettings(_Value):
    """How much is asked of the source at once."""

    max_bytes: int = 8_388_608
    partition_max_bytes: int = 1_048_576
    max_wait_ms: int = 500
    min_bytes: int = 1
    isolation: Isolation = "read_committed"


class ReadSettings(_Value):
    """How the source is read."""

    # None: derived from partitions and cores.
    tasks_max: int | None
    epoch_seconds: int
    fetch: FetchSettings
    on_gap: OnGap
    fault_retry_seconds: int
    # Of the whole link. An operator's order in the ledger wins.
    limits: FileLimits = Field(default_factory=FileLimits)


class WriteSettings(_Value):
    """How the target and the ledger are written."""

    max_request_bytes: int
    merge_target_bytes: int
    merge_linger_ms: int
    # Per task.
    max_bytes_in_flight: int
    ledger_shards: int


class AuditSettings(_Value):
    """The continuous comparison of both sides."""

    enabled: bool
    seconds: int
