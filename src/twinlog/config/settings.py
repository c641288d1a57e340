"""What a link needs to know, complete and checked: the end product of this room.

Everything is frozen and picklable, because settings travel from the service to the driver's planner and every executor.
No value here is read from the environment or a file later on: certificates are PEM text, times are milliseconds.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

from twinlog.config.link_values import (
    AclSyncSettings,
    AuditSettings,
    CheckpointSettings,
    ConfigSyncSettings,
    CopySettings,
    GroupOffsetSettings,
    HeartbeatSettings,
    LoginSyncSettings,
    OffsetSyncSettings,
    ReadSettings,
    TakeoverSettings,
    WriteSettings,
)
from twinlog.config.registry_mirror import RegistryMirror
from twinlog.config.security.secrets import Secret
from twinlog.config.switch_settings import SwitchSettings
from twinlog.model.groups.cut_sets import CutSet
from twinlog.model.health.objectives import Objectives
from twinlog.model.names import LinkName
from twinlog.model.naming import ReplicationNaming
from twinlog.model.routes.provenance import Override, Provenance
from twinlog.model.selection import Selection
from twinlog.model.start import Earliest
from twinlog.model.transforms import NO_TRANSFORMS, Transforms

Protocol: TypeAlias = Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
Mechanism: TypeAlias = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "GSSAPI"]


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


class Clients(_Frozen):
    """How each kind of client reaches the two clusters of a link."""

    source_consumer: ClientSettings
    source_admin: ClientSettings
    # Writes offset-syncs, and nothing else, to the source.
    source_producer: ClientSettings
    # Reads checkpoints and other topics of ours from the target.
    target_consumer: ClientSettings
    target_producer: ClientSettings
    target_admin: ClientSettings
    admin_timeout_ms: int


class LinkSettings(_Frozen):
    """One enabled link, source -> target. Its settings are values by subject (link_values.py)."""

    source: str
    target: str
    clients: Clients
    topics: Selection
    # Of these only the patterns count; heartbeats are a matter of topics.
    groups: Selection
    naming: ReplicationNaming
    provenance: Provenance
    copies: CopySettings
    configs: ConfigSyncSettings
    acls: AclSyncSettings
    logins: LoginSyncSettings
    group_offsets: GroupOffsetSettings
    checkpoints: CheckpointSettings
    heartbeats: HeartbeatSettings
    offset_syncs: OffsetSyncSettings
    mm2: TakeoverSettings
    reading: ReadSettings
    writing: WriteSettings
    audit: AuditSettings
    objectives: Objectives
    cut_sets: tuple[CutSet, ...] = ()
    switch: SwitchSettings
    registry: RegistryMirror = RegistryMirror()
    transforms: Transforms = NO_TRANSFORMS

    @property
    def name(self) -> str:
        """The link's name as everybody writes it: `A->B`."""
        return str(LinkName(self.source, self.target))

    def carrying_all(self) -> LinkSettings:
        """The link as a full failback needs it: every topic whole, with the records that came from the target."""
        provenance = dataclasses.replace(self.provenance, overrides=(Override(".*", ".*"),))
        return self.updated(copies={"start_from": Earliest()}).model_copy(update={"provenance": provenance})

    def updated(self, **changes: Mapping[str, object]) -> LinkSettings:
        """The same link with other values: `link.updated(reading={"tasks_max": 1})`. Raises TypeError."""
        values: dict[str, BaseModel] = {}
        for subject, change in changes.items():
            value = getattr(self, subject, None)
            if not isinstance(value, BaseModel) or not change.keys() <= type(value).model_fields.keys():
                raise TypeError(f"a link has no settings {subject}: {', '.join(change)}")
            values[subject] = value.model_copy(update=dict(change))
        return self.model_copy(update=values)


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
            target_producer=link.clients.target_producer,
            target_admin=link.clients.target_admin,
            seconds=link.heartbeats.seconds,
            replication_factor=link.heartbeats.replication_factor,
            admin_timeout_ms=link.clients.admin_timeout_ms,
        )

    @property
    def name(self) -> str:
        """The pair's name, written like a link's."""
        return str(LinkName(self.source, self.target))
