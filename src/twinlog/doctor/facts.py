"""Everything that the checks judge. Pure: whatever could not be learnt is Unknown, with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from twinlog.config.settings import LinkSettings
from twinlog.errors import AuthorizerMissing, ClusterError
from twinlog.machine.sockets import SocketBuffers
from twinlog.model.access.acls import AclBinding
from twinlog.model.access.scram_users import ScramUsers
from twinlog.model.groups.observed import ListedGroup
from twinlog.model.health.inspection import (
    CertificateFacts,
    ClockFacts,
    ClusterFacts,
    DiskFacts,
    Known,
    NameFacts,
    QuotaFacts,
    TopicFacts,
    Unknown,
)
from twinlog.model.health.states import LinkStatus
from twinlog.model.ledger.records import ChoreNote, Memo, RosterTopic
from twinlog.model.verify.schemas import SchemaProof

NOT_ASKED = Unknown("it was not asked")


@dataclass(frozen=True)
class EndFacts:
    """One cluster, as seen with the link's own credentials."""

    alias: str
    servers: tuple[str, ...] = ()
    client_ids: tuple[str, ...] = ()
    user: str | None = None
    users: tuple[str, ...] = ()  # of all the link's clients there
    encrypted: bool = False
    cluster: Known[ClusterFacts] = NOT_ASKED
    topics: Known[Mapping[str, TopicFacts | ClusterError]] = NOT_ASKED
    configs: Known[Mapping[str, Mapping[str, str | None] | ClusterError]] = NOT_ASKED
    broker_configs: Known[Mapping[int, Mapping[str, str | None]]] = NOT_ASKED
    groups: Known[Mapping[str, ListedGroup]] = NOT_ASKED
    group_rights: Known[Mapping[str, frozenset[str] | ClusterError]] = NOT_ASKED
    clock: Known[ClockFacts] = NOT_ASKED
    quotas: Known[tuple[QuotaFacts, ...]] = NOT_ASKED
    scram_users: Known[ScramUsers] = NOT_ASKED
    acls: Known[frozenset[AclBinding]] | AuthorizerMissing = NOT_ASKED
    disks: Known[tuple[DiskFacts, ...]] = NOT_ASKED
    versions: Known[Mapping[int, int]] = NOT_ASKED
    certificates: Known[tuple[CertificateFacts, ...]] = NOT_ASKED
    names: Known[tuple[NameFacts, ...]] = NOT_ASKED
    round_trip_s: Known[float] = NOT_ASKED  # the quickest answer of a broker

    def command(self, tool: str) -> str:
        """The beginning of a command of Kafka's own tools for this cluster."""
        return f"{tool}.sh --bootstrap-server {self.servers[0] if self.servers else f'<{self.alias}>'}"


@dataclass(frozen=True)
class Facts:
    """One link, both ends, at one moment."""

    link: LinkSettings
    source: EndFacts
    target: EndFacts
    now_ms: int
    status: Known[LinkStatus] = NOT_ASKED
    roster: Mapping[str, RosterTopic] = field(default_factory=dict)
    notes: Mapping[str, ChoreNote] = field(default_factory=dict)
    drill: Memo | None = None  # what the last drill measured
    source_topics: Known[tuple[str, ...]] = NOT_ASKED  # all there are
    selected: tuple[str, ...] = ()  # those the settings want
    target_topics: Known[tuple[str, ...]] = NOT_ASKED  # all there are
    back_enabled: Known[bool] = NOT_ASKED  # whether the file enables the way back
    ledger: str = ""
    coordinator: Known[int] = NOT_ASKED
    schema_proof: Known[SchemaProof | None] = NOT_ASKED  # None: no registry is mirrored
    own_certificates: Known[tuple[CertificateFacts, ...]] = NOT_ASKED
    sockets: Known[SocketBuffers] = NOT_ASKED

    @property
    def ends(self) -> tuple[EndFacts, EndFacts]:
        """Source, target."""
        return self.source, self.target

    def remote(self, topic: str) -> str:
        """Its name on the target."""
        entry = self.roster.get(topic)
        return entry.remote if entry else self.link.naming.remote(self.link.source, topic)
