"""Gathering the facts for the checks: few batched questions, both clusters side by side. Runs in `twinlog doctor`.

Nothing is changed anywhere. A question that fails leaves an Unknown with its reason; a cluster that does not answer at
all is asked once and not again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from twinlog.config.settings import ClientSettings, LinkSettings
from twinlog.doctor.facts import EndFacts, Facts
from twinlog.doctor.names import look_up
from twinlog.errors import AccessDenied, AuthorizerMissing, ClusterError, TwinlogError
from twinlog.kafka.admin import ClusterAdmin
from twinlog.kafka.inspection import fetch_broker_configs, look_at_cluster, look_at_groups, look_at_topics
from twinlog.ledger.view import LedgerView
from twinlog.machine.sockets import read_socket_buffers
from twinlog.model.access.acls import AclBinding
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.drills.evidence import CHORE as DRILLS
from twinlog.model.drills.evidence import LAST as LAST_DRILL
from twinlog.model.groups.observed import ListedGroup
from twinlog.model.health.inspection import Known, Unknown
from twinlog.model.health.states import LinkStatus
from twinlog.model.ledger.records import ledger_topic, transactional_id
from twinlog.model.naming import HEARTBEATS
from twinlog.model.selection import replicates
from twinlog.verify.schema_proof import prove_schemas
from twinlog.wire.acls import fetch_acls_of
from twinlog.wire.certificates import fetch_certificates, own_certificates
from twinlog.wire.connection import Cluster
from twinlog.wire.groups import GroupCoordinators
from twinlog.wire.inspection import fetch_clock, fetch_disks, fetch_versions, find_transaction_coordinator
from twinlog.wire.quotas import fetch_quotas
from twinlog.wire.scram import fetch_scram_users

log = logging.getLogger("twinlog.doctor")

T = TypeVar("T")
_LIMIT_MS: Final = 10_000
_GROUPS_ASKED: Final = 200
"""Rights of groups are asked of so many: they come from a few patterns, as a rule."""

Look = Callable[[], Awaitable[tuple[LinkStatus, LedgerView]]]


@dataclass(frozen=True)
class _Questions:
    """What to ask one end."""

    settings: ClientSettings
    data_client: ClientSettings
    link: LinkSettings
    topics: tuple[str, ...]
    ledger: str | None = None


async def gather(link: LinkSettings, look: Look, *, back_enabled: bool | None = None) -> Facts:
    """Ask both clusters everything. `look` is one look at the link from outside, `back_enabled` what the file says."""
    source_admin, target_admin = _hasty(link.clients.source_admin), _hasty(link.clients.target_admin)
    ledger = ledger_topic(link.source)
    seen = await _attempt(look())
    status: Known[LinkStatus] = seen if isinstance(seen, Unknown) else seen[0]
    view = None if isinstance(seen, Unknown) else seen[1]
    source_topics = await _attempt(asyncio.to_thread(ClusterAdmin(source_admin).list_topics))
    target_topics = await _attempt(asyncio.to_thread(ClusterAdmin(target_admin).list_topics))
    selected = () if isinstance(source_topics, Unknown) else _selected(link, source_topics)
    roster = dict(view.roster) if view else {}
    selected = selected or tuple(roster)
    remotes = [roster[t].remote if t in roster else link.naming.remote(link.source, t) for t in selected]
    extra = (
        ledger,
        HEARTBEATS,
        link.naming.checkpoints_topic(link.source),
        "__consumer_offsets",
        "__transaction_state",
    )
    source, target, coordinator = await asyncio.gather(
        _end(_Questions(source_admin, link.clients.source_consumer, link, selected)),
        _end(_Questions(target_admin, link.clients.target_producer, link, (*remotes, *extra), ledger)),
        _coordinator(link, target_admin),
    )
    return Facts(
        link=link,
        source=source,
        target=target,
        now_ms=SYSTEM_CLOCK.now_ms(),
        status=status,
        roster=roster,
        notes=dict(view.notes) if view else {},
        drill=view.memos.get(DRILLS, {}).get(LAST_DRILL) if view else None,
        source_topics=source_topics if isinstance(source_topics, Unknown) else tuple(source_topics),
        selected=selected,
        target_topics=target_topics if isinstance(target_topics, Unknown) else tuple(target_topics),
        back_enabled=Unknown("the settings file was not asked") if back_enabled is None else back_enabled,
        ledger=ledger,
        coordinator=coordinator,
        sockets=read_socket_buffers() or Unknown("this system does not say what a connection may hold"),
        schema_proof=await _attempt(prove_schemas(link, roster)),
        own_certificates=await _attempt(asyncio.to_thread(_own_certificates, link)),
    )


def _selected(link: LinkSettings, names: Iterable[str]) -> tuple[str, ...]:
    return tuple(t for t in names if replicates(t, link.source, link.target, link.topics, link.naming))


def _hasty(settings: ClientSettings) -> ClientSettings:
    """A doctor does not wait half a minute for each of forty answers."""
    return settings.model_copy(update={"request_timeout_ms": min(settings.request_timeout_ms, _LIMIT_MS)})


def _own_certificates(link: LinkSettings) -> tuple[Any, ...]:
    clients = (
        link.clients.source_consumer,
        link.clients.source_admin,
        link.clients.target_producer,
        link.clients.target_admin,
    )
    return tuple(dict.fromkeys(look for client in clients for look in own_certificates(client)))


async def _coordinator(link: LinkSettings, settings: ClientSettings) -> Known[int]:
    cluster = Cluster(settings.model_copy(update={"security": link.clients.target_producer.security}), "twinlog|doctor")
    try:
        return await _attempt(
            find_transaction_coordinator(cluster, transactional_id(link.source, link.target, 0)), asked=link.target
        )
    finally:
        await cluster.close()


async def _end(questions: _Questions) -> EndFacts:
    settings, link = questions.settings, questions.link
    admin = ClusterAdmin(settings)
    facts = EndFacts(
        alias=settings.cluster,
        servers=settings.bootstrap_servers,
        client_ids=_client_ids(link, questions.data_client),
        user=questions.data_client.security.username,
        users=_users(link, settings.cluster),
        encrypted=settings.security.encrypted,
        cluster=await _attempt(asyncio.to_thread(look_at_cluster, admin)),
        names=await _attempt(look_up(settings.bootstrap_servers)),
    )
    answers: dict[str, Any]
    if isinstance(facts.cluster, Unknown):
        answers = dict.fromkeys(_ASKED, Unknown(f"{settings.cluster} does not answer"))
        return replace(facts, cluster=await _cause(settings, facts.cluster), **answers)
    nodes = [broker.node for broker in facts.cluster.brokers]
    wire = Cluster(settings, "twinlog|doctor")
    asked: dict[str, Awaitable[Any]] = {
        "topics": asyncio.to_thread(look_at_topics, admin, questions.topics),
        "configs": asyncio.to_thread(_configs, admin, questions.topics),
        "broker_configs": asyncio.to_thread(fetch_broker_configs, admin, nodes),
        "groups": GroupCoordinators(wire).list_groups(),
        "clock": fetch_clock(wire),
        "quotas": fetch_quotas(wire),
        "scram_users": fetch_scram_users(wire),
        "acls": _acls(wire),
        "disks": _disks(wire, questions.ledger),
        "versions": fetch_versions(wire),
    }
    if settings.security.encrypted:
        asked["certificates"] = fetch_certificates(settings)
    try:
        answered = await asyncio.gather(*(_attempt(question) for question in asked.values()))
        round_trip_s = wire.round_trip_s
    finally:
        await wire.close()
    answers = dict(zip(asked, answered, strict=True))
    groups: Known[dict[str, ListedGroup]] = answers["groups"]
    rights: Known[Any] = groups
    if not isinstance(groups, Unknown):
        names = [name for name, group in groups.items() if _concerns(link, group)][:_GROUPS_ASKED]
        rights = await _attempt(asyncio.to_thread(look_at_groups, admin, names))
    return replace(facts, group_rights=rights, round_trip_s=round_trip_s, **answers)


async def _cause(settings: ClientSettings, seen: Unknown) -> Unknown:
    """Why a cluster does not answer. The admin client may say only that brokers are down."""
    wire = Cluster(settings, "twinlog|doctor")
    try:
        told = await _attempt(fetch_versions(wire))
    finally:
        await wire.close()
    return told if isinstance(told, Unknown) else seen


_ASKED: Final = (
    "topics",
    "configs",
    "broker_configs",
    "groups",
    "group_rights",
    "clock",
    "quotas",
    "scram_users",
    "acls",
    "disks",
    "versions",
    "certificates",
    "round_trip_s",
)


def _concerns(link: LinkSettings, group: ListedGroup) -> bool:
    return link.groups.matches(group.name) and group.kind in {"classic", "consumer"}


def _client_ids(link: LinkSettings, data_client: ClientSettings) -> tuple[str, ...]:
    return (data_client.client_id or "twinlog", f"twinlog|{link.name}|engine")


def _users(link: LinkSettings, cluster: str) -> tuple[str, ...]:
    """As whom the link logs in on a cluster."""
    clients = (
        link.clients.source_consumer,
        link.clients.source_admin,
        link.clients.target_producer,
        link.clients.target_admin,
    )
    names = (client.security.username for client in clients if client.cluster == cluster)
    return tuple(dict.fromkeys(name for name in names if name is not None))


async def _acls(wire: Cluster) -> frozenset[AclBinding] | AuthorizerMissing:
    """All rules; that there is nobody to ask about rules is an answer, too."""
    try:
        return await fetch_acls_of(wire, None)
    except AuthorizerMissing as none:
        return none


def _configs(admin: ClusterAdmin, names: Iterable[str]) -> dict[str, dict[str, str | None] | ClusterError]:
    return {
        name: answer if isinstance(answer, ClusterError) else {config.name: config.value for config in answer}
        for name, answer in admin.fetch_topic_configs(names).items()
    }


async def _disks(wire: Cluster, ledger: str | None) -> Any:
    topics: dict[str, int] = {}
    if ledger is not None:
        metadata = (await wire.refresh([ledger]))[ledger]
        topics = {ledger: len(metadata.leaders)} if metadata.leaders else {}
    return await fetch_disks(wire, topics)


async def _attempt(question: Awaitable[T], asked: str = "") -> Known[T]:
    """The answer, or why there is none: never an exception."""
    try:
        async with asyncio.timeout(_LIMIT_MS / 1000 * 2):
            return await question
    except TimeoutError:
        return Unknown(f"no answer within {_LIMIT_MS / 500:.0f} s")
    except (TwinlogError, OSError) as error:
        prefix = f"{asked}: " if asked and not isinstance(error, TwinlogError) else ""
        return Unknown(prefix + (str(error) or type(error).__name__), isinstance(error, AccessDenied))
    except Exception as error:  # a doctor that falls over helps nobody
        log.exception("doctor: %s", asked)
        return Unknown(f"unexpected: {type(error).__name__}; the log says more")
