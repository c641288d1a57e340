"""Facts about a healthy link, and changes of them, for the checks of the doctor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from tests.kit.settings_text import link as read_link

from twinlog.doctor.facts import EndFacts, Facts
from twinlog.machine.sockets import SocketBuffers
from twinlog.model.access.acls import AclBinding, Pattern
from twinlog.model.groups.observed import ListedGroup
from twinlog.model.health.exposure import link_exposure
from twinlog.model.health.inspection import (
    BrokerFacts,
    CertificateFacts,
    ClockFacts,
    ClusterFacts,
    DiskFacts,
    NameFacts,
    TopicFacts,
)
from twinlog.model.health.states import LinkStatus, PartitionStatus
from twinlog.model.ledger.records import ChoreNote, Engine, Memo, RosterTopic
from twinlog.model.ledger.source_ends import KnownEnd
from twinlog.model.names import TopicPartition

NOW: Final = 1_700_000_000_000
LEDGER: Final = "__twinlog-ledger.A"
TOPIC_RIGHTS = frozenset({"DESCRIBE", "READ", "WRITE", "ALTER", "ALTER_CONFIGS", "DESCRIBE_CONFIGS", "DELETE"})
CLUSTER_RIGHTS = frozenset({"CREATE", "DESCRIBE", "ALTER", "CLUSTER_ACTION"})
SETTINGS = "rpo.seconds = 60\nrto.seconds = 900\nsync.topic.acls.mode = full\n"
CONFIGS = {
    "max.message.bytes": "1048588",
    "retention.ms": "604800000",
    "retention.bytes": "-1",
    "cleanup.policy": "delete",
    "delete.retention.ms": "86400000",
    "message.timestamp.type": "CreateTime",
    "message.timestamp.before.max.ms": str(2**63 - 1),
    "message.timestamp.after.max.ms": "3600000",
    "min.insync.replicas": "2",
    "unclean.leader.election.enable": "false",
}


def look(name: str, **facts: Any) -> TopicFacts:
    return replace(TopicFacts(name, 3, 3, (), (), TOPIC_RIGHTS), **facts)


def may_write(topic: str, who: str, pattern: Pattern, permission: str = "ALLOW") -> AclBinding:
    return AclBinding("topic", pattern, topic, who, "*", "WRITE", permission)


def end(alias: str, topics: list[str], **facts: Any) -> EndFacts:
    brokers = tuple(BrokerFacts(n, f"{alias}{n}", 9092, None) for n in range(3))
    healthy = EndFacts(
        alias=alias,
        servers=(f"{alias}0:9092", f"{alias}1:9092"),
        client_ids=("twinlog",),
        user="mirror",
        users=("mirror",),
        acls=frozenset(
            {may_write("__twinlog-", "User:mirror", "prefixed"), may_write("orders", "User:shop", "literal")}
        ),
        encrypted=True,
        cluster=ClusterFacts(f"id-{alias}", brokers, CLUSTER_RIGHTS),
        topics={name: look(name) for name in topics},
        configs={name: dict(CONFIGS) for name in topics},
        broker_configs={0: {"auto.create.topics.enable": "false", "offsets.retention.minutes": "10080"}},
        groups={"billing": ListedGroup("billing", "classic", "Empty")},
        group_rights={"billing": frozenset({"DESCRIBE", "READ"})},
        clock=ClockFacts(20.0, 3.0),
        quotas=(),
        scram_users={"anna": frozenset({"SCRAM-SHA-512"})},
        disks=(DiskFacts(0, "/data", 1000, 500, 10),),
        versions={0: 13, 1: 18, 10: 6},
        certificates=(CertificateFacts(f"{alias}0:9092", "CN=broker", NOW + 400 * 86_400_000),),
        names=(NameFacts(f"{alias}0", ("10.0.0.1",), 30),),
        round_trip_s=0.08,
    )
    return replace(healthy, **facts)


def status(
    *, lag: int = 0, newest_ms: int = NOW - 500, covered_ago_s: int = 5, keeps: tuple[int, int] = (-1, -1), **facts: Any
) -> LinkStatus:
    place = TopicPartition("orders", 0)
    part = PartitionStatus(place, "A.orders", 100, 100 + lag, 100, records=100, bytes=5000, newest_ms=newest_ms)
    engine = Engine(engine_id="e", generation=1, host="h", pid=1, phase="running", at_ms=NOW - 2000)
    found = replace(LinkStatus("A->B", engine, (part,), now_ms=NOW), **facts)
    known = {part.partition: KnownEnd(100 + lag, NOW, NOW - covered_ago_s * 1000, 1.0, *keeps)}
    return replace(found, exposure=link_exposure(found, known, read_link(SETTINGS).objectives, live=True))


def note(chore: str, **facts: Any) -> ChoreNote:
    return ChoreNote(chore=chore, at_ms=NOW - 3000).model_copy(update=facts)


def notes(**changed: ChoreNote | None) -> dict[str, ChoreNote]:
    usual = {name: note(name) for name in ("configs", "acls", "groups", "heartbeats")}
    usual["acls"] = note("acls", counts={"held_back": 4})
    usual["heartbeats"] = note("heartbeats", counts={"sent": 1, "canary_ms": 40})
    return {name: found for name, found in {**usual, **changed}.items() if found is not None}


def drill(**body: Any) -> Memo:
    usual = {"at_ms": NOW - 86_400_000, "kind": "shadow", "verdict": "passed", "rto_seconds": 30.0}
    return Memo(chore="drills", name="last", body={**usual, **body})


def healthy(**facts: Any) -> Facts:
    internal = ["heartbeats", "A.checkpoints.internal", "__consumer_offsets", "__transaction_state"]
    target = end("B", ["A.orders", LEDGER, *internal])
    facts = {"target_topics": ("A.orders", "orders"), "back_enabled": True, **facts}
    configs: Any = target.configs
    target = replace(target, configs={**configs, LEDGER: {**CONFIGS, "cleanup.policy": "compact"}})
    entry = RosterTopic(topic="orders", source_id="1", remote="A.orders", target_id="2", origins=[0, 0, 0])
    found = Facts(
        link=read_link(SETTINGS),
        source=end("A", ["orders"]),
        target=target,
        now_ms=NOW,
        status=status(),
        roster={"orders": entry},
        notes=notes(),
        drill=drill(),
        source_topics=("__consumer_offsets", "orders"),
        selected=("orders",),
        ledger=LEDGER,
        coordinator=1,
        own_certificates=(CertificateFacts("A", "CN=mirror", NOW + 400 * 86_400_000),),
        sockets=SocketBuffers(33_554_432, 4_194_304),
    )
    return replace(found, **facts)


Change = Callable[[Facts], Facts]


def at(side: str, **facts: Any) -> Change:
    return lambda found: replace(found, **{side: replace(getattr(found, side), **facts)})


def set_(**facts: Any) -> Change:
    return lambda found: replace(found, **facts)


def with_schemas(side: str, *, replicas: int = 3, **values: str) -> Change:
    """A mirrored registry; `side` has other configs."""

    def change(found: Facts) -> Facts:
        for name in ("source", "target"):
            end: Any = getattr(found, name)
            mine = {key.replace("_", "."): value for key, value in values.items()} if name == side else {}
            configs = {**CONFIGS, "cleanup.policy": "compact", **mine}
            factor = replicas if name == side else 3
            topics = {**end.topics, "_schemas": replace(look("_schemas"), replication_factor=factor)}
            found = at(name, topics=topics, configs={**end.configs, "_schemas": configs})(found)
        return replace(found, source_topics=("_schemas", "orders"), selected=("_schemas", "orders"))

    return change


def config(side: str, topic: str, **values: str) -> Change:
    def change(found: Facts) -> Facts:
        here: Any = getattr(found, side).configs
        configs = {**here, topic: {**here[topic], **{k.replace("_", "."): v for k, v in values.items()}}}
        return at(side, configs=configs)(found)

    return change


def topic(side: str, name: str, **facts: Any) -> Change:
    def change(found: Facts) -> Facts:
        here: Any = getattr(found, side).topics
        return at(side, topics={**here, name: look(name, **facts)})(found)

    return change


def settings(text: str) -> Change:
    return set_(link=read_link(SETTINGS + text))


def brokers(side: str, count: int, **facts: Any) -> Change:
    some = tuple(BrokerFacts(n, f"{side}{n}", 9092, None) for n in range(count))
    return at(side, cluster=ClusterFacts(f"id-{side}", some, facts.get("operations", CLUSTER_RIGHTS)))


def both(*changes: Change) -> Change:
    def change(found: Facts) -> Facts:
        for one in changes:
            found = one(found)
        return found

    return change
