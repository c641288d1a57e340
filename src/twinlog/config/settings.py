"""What a link needs to know, complete and checked: the end product of this room.

Everything is frozen and picklable, because settings travel from the service to the driver's planner and every executor.
No value here is read from the environment or a file later on: certificates are PEM text, times are milliseconds.
"""

from __future__ import annotations

import dataclasses
from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

from twinlog.config.registry_mirror import RegistryMirror
from twinlog.config.security.secrets import Secret
from twinlog.config.switch_settings import SwitchSettings
from twinlog.model.groups.cut_sets import CutSet
from twinlog.model.health.objectives import Objectives
from twinlog.model.names import LinkName
from twinlog.model.naming import ReplicationNaming
from twinlog.model.routes.provenance import Override, Provenance
from twinlog.model.selection import Patterns, Selection
from twinlog.model.start import Earliest, StartFrom
from twinlog.model.topics.deletion import TopicDeletion

Protocol: TypeAlias = Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
Mechanism: TypeAlias = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "GSSAPI"]
Isolation: TypeAlias = Literal["read_committed", "read_uncommitted"]
OnGap: TypeAlias = Literal["fault", "skip"]
End: TypeAlias = Literal["source", "target"]
AclsMode: TypeAlias = Literal["mm2", "full"]
ValuesMode: TypeAlias = Literal["off", "list", "sync"]
UsersMode: TypeAlias = Literal["off", "list"]
ConfigConflict: TypeAlias = Literal["report", "revert", "keep"]
GroupRewinds: TypeAlias = Literal["follow", "hold"]
Mm2Takeover: TypeAlias = Literal["check", "trust", "off"]


class _Frozen(BaseModel):
    # Validation errors of pydantic quote their input; the values here include secrets.
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)


class ClientCredentials(_Frozen):
    """How a client gets its tokens (OAUTHBEARER): it shows id and secret at the token endpoint."""

    token_url: str
    client_id: str
    client_secret: Secret
    scope: str | None = None
    # Sent to the broker along with each token.
    extensions: tuple[tuple[str, str], ...] = ()


class Kerberos(_Frozen):
    """How a client gets its tickets (GSSAPI). Without a key tab it takes those of the user's own ticket cache."""

    service: str
    principal: str | None = None
    keytab: str | None = None


class Security(_Frozen):
    """How one client proves who it is and whom it believes. Key material is PEM text, whatever it was in the file."""

    protocol: Protocol = "PLAINTEXT"
    sasl_mechanism: Mechanism | None = None
    username: str | None = None
    password: Secret | None = None
    tokens: ClientCredentials | None = None
    kerberos: Kerberos | None = None
    ca_pem: str | None = None
    client_chain_pem: str | None = None
    client_key_pem: Secret | None = None
    client_key_password: Secret | None = None
    verify_hostname: bool = True

    @property
    def encrypted(self) -> bool:
        """Whether the connection is TLS."""
        return self.protocol in {"SSL", "SASL_SSL"}

    @property
    def authenticated(self) -> bool:
        """Whether the connection logs in by SASL."""
        return self.protocol in {"SASL_PLAINTEXT", "SASL_SSL"}


class ClientSettings(_Frozen):
    """How one kind of client reaches one cluster. The admin and the data client of a cluster may differ."""

    cluster: str
    bootstrap_servers: tuple[str, ...]
    security: Security = Security()
    client_id: str | None = None
    request_timeout_ms: int = 30_000


class FetchSettings(_Frozen):
    """How much is asked of the source at once."""

    max_bytes: int = 8_388_608
    partition_max_bytes: int = 1_048_576
    max_wait_ms: int = 500
    min_bytes: int = 1
    isolation: Isolation = "read_committed"


class LinkSettings(_Frozen):
    """One enabled link, source -> target."""

    source: str
    target: str
    source_consumer: ClientSettings
    source_admin: ClientSettings
    # Writes offset-syncs, and nothing else, to the source.
    source_producer: ClientSettings
    # Reads checkpoints and other topics of ours from the target.
    target_consumer: ClientSettings
    target_producer: ClientSettings
    target_admin: ClientSettings
    topics: Selection
    naming: ReplicationNaming
    provenance: Provenance
    # -1: the target's own default.
    replication_factor: int
    # None: derived from partitions and cores.
    tasks_max: int | None
    refresh_topics_enabled: bool
    refresh_topics_seconds: int
    sync_topic_configs: bool
    sync_topic_configs_seconds: int
    # A topic config whose name matches is not copied.
    config_properties_exclude: Patterns
    use_defaults_from: End
    config_conflict: ConfigConflict
    topic_deletion: TopicDeletion
    sync_topic_acls_enabled: bool
    sync_topic_acls_seconds: int
    sync_topic_acls_mode: AclsMode
    sync_client_quotas_mode: ValuesMode
    sync_group_configs_mode: ValuesMode
    sync_scram_users_mode: UsersMode
    sync_logins_seconds: int
    # Of these only the patterns count; heartbeats are a matter of topics.
    groups: Selection
    refresh_groups_enabled: bool
    refresh_groups_seconds: int
    emit_checkpoints_enabled: bool
    emit_checkpoints_seconds: int
    checkpoints_replication_factor: int
    sync_group_offsets_enabled: bool
    sync_group_offsets_seconds: int
    group_rewinds: GroupRewinds
    emit_heartbeats_enabled: bool
    emit_heartbeats_seconds: int
    heartbeats_replication_factor: int
    emit_offset_syncs_enabled: bool
    offset_syncs_location: End
    offset_syncs_replication_factor: int
    offset_lag_max: int
    start_from: StartFrom
    mm2_takeover: Mm2Takeover
    # None: where MirrorMaker 2 in dedicated mode keeps them.
    mm2_offsets_topic: str | None
    mm2_connector: str
    fetch: FetchSettings
    max_request_bytes: int
    on_gap: OnGap
    merge_target_bytes: int
    merge_linger_ms: int
    epoch_seconds: int
    ledger_shards: int
    # Per task.
    max_bytes_in_flight: int
    fault_retry_seconds: int
    audit_enabled: bool
    audit_seconds: int
    objectives: Objectives
    cut_sets: tuple[CutSet, ...] = ()
    switch: SwitchSettings
    admin_timeout_ms: int
    registry: RegistryMirror = RegistryMirror()

    @property
    def name(self) -> str:
        """The link's name as everybody writes it: `A->B`."""
        return str(LinkName(self.source, self.target))

    def carrying_all(self) -> LinkSettings:
        """The link as a full failback needs it: every topic whole, with the records that came from the target."""
        provenance = dataclasses.replace(self.provenance, overrides=(Override(".*", ".*"),))
        return self.model_copy(update={"provenance": provenance, "start_from": Earliest()})


class HeartbeatPair(_Frozen):
    """A pair of clusters that gets heartbeats; as with MirrorMaker 2 it need not be a link.

    With A->B alone, B->A is a pair as well: its heartbeats are written to A, and the link A->B carries them to B.
    """

    source: str
    target: str
    target_producer: ClientSettings
    target_admin: ClientSettings
    seconds: int
    # -1: the target's own default.
    replication_factor: int
    admin_timeout_ms: int

    @classmethod
    def of(cls, link: LinkSettings) -> HeartbeatPair:
        """The heartbeats of a pair that is a link."""
        return cls(
            source=link.source,
            target=link.target,
            target_producer=link.target_producer,
            target_admin=link.target_admin,
            seconds=link.emit_heartbeats_seconds,
            replication_factor=link.heartbeats_replication_factor,
            admin_timeout_ms=link.admin_timeout_ms,
        )

    @property
    def name(self) -> str:
        """The pair's name, written like a link's."""
        return str(LinkName(self.source, self.target))
