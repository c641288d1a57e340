"""Every key that a settings file may hold: MirrorMaker 2's, Kafka's clients' and our own. One table, no logic.

`resolve` reads the values through the named entries, `review` tells an operator what became of the others, and the
settings reference is generated from it. MirrorMaker 2's defaults are kept where nothing is said to the contrary.
"""

from __future__ import annotations

from typing import Any

from twinlog.config.keys import Key, Meaningless, Scope, Soon
from twinlog.config.values import (
    Flag,
    Kind,
    Mapped,
    OneOf,
    Regexes,
    Servers,
    Start,
    T_co,
    Text,
    TopicCharacters,
    Whole,
    Words,
)

_POLICIES = {
    "DefaultReplicationPolicy": "default",
    "IdentityReplicationPolicy": "identity",
    "LegacyReplicationPolicy": "identity",
    "CustomMM2ReplicationPolicy": "identity",
}


def _policy(class_name: str) -> str | None:
    """Map by simple name: several vendors ship the identity policy under packages of their own."""
    return _POLICIES.get(class_name.rpartition(".")[2])


# --- the file ---------------------------------------------------------------------------------------------------------

CLUSTERS = Key("clusters", (Scope.FILE,), Words(), None, "Aliases of the clusters that the file is about. Required.")
CONFIG_PROVIDERS = Key("config.providers", (Scope.FILE,), Words(), "", "Further names of config providers.")
PROVIDER_CLASSES = Key("config.providers.*", (Scope.FILE,), Text(), None, "Class of a provider.")


# --- a link -----------------------------------------------------------------------------------------------------------


def _link(name: str, kind: Kind[T_co], default: str | None, meaning: str, *old: str) -> Key[T_co]:
    return Key(name, (Scope.LINK,), kind, default, meaning, old_names=old)


def _own(name: str, kind: Kind[T_co], default: str | None, meaning: str) -> Key[T_co]:
    return Key(name, (Scope.LINK,), kind, default, meaning, own=True)


ENABLED = Key("enabled", (Scope.LINK_ONLY,), Flag(), "false", "Mirror this link.")
TOPICS = _link("topics", Regexes(), ".*", "Topics to mirror.")
TOPICS_EXCLUDE = _link(
    "topics.exclude", Regexes(), r"mm2.*\.internal, .*\.replica, __.*", "Topics to leave out; wins over topics.",
    "topics.blacklist",
)  # fmt: skip
POLICY_CLASS = _link(
    "replication.policy.class",
    Mapped("DefaultReplicationPolicy or IdentityReplicationPolicy, with or without a package", _policy),
    "org.apache.kafka.connect.mirror.DefaultReplicationPolicy",
    "Names on the target: with the source's alias before them, or unchanged.",
)
SEPARATOR = _link("replication.policy.separator", TopicCharacters(), ".", "Stands between alias and topic.")
SEPARATOR_INTERNAL = _link(
    "replication.policy.internal.topic.separator.enabled", Flag(), "true", "Use the separator in internal topics too."
)
HEARTBEATS_REPLICATION = _link(
    "heartbeats.replication.enabled", Flag(), "true", "Mirror heartbeats topics whatever `topics` says."
)
REPLICATION_FACTOR = _link(
    "replication.factor", Whole(1, 32767, also=-1), "-1",
    "Replicas of topics made on the target; -1 is the target's own default (MirrorMaker 2: 2).",
)  # fmt: skip
TASKS_MAX = _link("tasks.max", Whole(1), None, "Most Spark tasks of the link. Absent: from partitions and cores.")
REFRESH_TOPICS = _link("refresh.topics.enabled", Flag(), "true", "Look for new topics and partitions.")
REFRESH_TOPICS_SECONDS = _link(
    "refresh.topics.interval.seconds", Whole(1), "5", "How often to look for them (MirrorMaker 2: 600)."
)
SYNC_TOPIC_CONFIGS = _link("sync.topic.configs.enabled", Flag(), "true", "Keep topic configs on the target in step.")
CONFIG_EXCLUDE = _link(
    "config.properties.exclude", Regexes(),
    "follower.replication.throttled.replicas, leader.replication.throttled.replicas, "
    "message.timestamp.difference.max.ms, log.message.timestamp.before.max.ms, log.message.timestamp.after.max.ms, "
    "message.timestamp.type, unclean.leader.election.enable, min.insync.replicas",
    "Topic configs that are not copied.", "config.properties.blacklist",
)  # fmt: skip
ADMIN_TIMEOUT_MS = _link("admin.timeout.ms", Whole(1000), "60000", "Longest wait for an administrative request.")

START_FROM = _own("start.from", Start(), None, "Where a new partition begins. Absent: auto.offset.reset.")
ON_GAP = _own("on.gap", OneOf(("fault", "skip")), "fault", "The source deleted what was not copied: stop, or go on.")
MERGE_TARGET_BYTES = _own("merge.target.bytes", Whole(0, 2**27), "262144", "Small batches are merged up to this size.")
MERGE_LINGER_MS = _own("merge.linger.ms", Whole(0, 10_000), "3", "How long a trickle gathers before the next fetch.")
EPOCH_SECONDS = _own("epoch.seconds", Whole(1, 86_400), "600", "Length of a Spark epoch while the plan is unchanged.")
LEDGER_SHARDS = _own("ledger.shards", Whole(1, 256), "32", "Writers' identities of the link. Fixed once it has run.")
MAX_BYTES_IN_FLIGHT = _own("max.bytes.in.flight", Whole(65_536), "33554432", "Bytes read but not written, per task.")
FAULT_RETRY_SECONDS = _own("fault.retry.seconds", Whole(1, 86_400), "15", "How often a faulted partition is tried.")

# --- every client -----------------------------------------------------------------------------------------------------


def _shared(name: str, kind: Kind[T_co], default: str | None, meaning: str, *, secret: bool = False) -> Key[T_co]:
    return Key(name, (Scope.SHARED,), kind, default, meaning, secret=secret)


_STORES = OneOf(("JKS", "PKCS12", "PEM"))
BOOTSTRAP_SERVERS = _shared("bootstrap.servers", Servers(), None, "Addresses to begin with. Required.")
SECURITY_PROTOCOL = _shared(
    "security.protocol", OneOf(("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")), "PLAINTEXT", "TLS and login or not."
)
SASL_MECHANISM = _shared(
    "sasl.mechanism", OneOf(("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")), None,
    "How to log in. Required with SASL: Kafka's default, GSSAPI, is not supported yet.",
)  # fmt: skip
SASL_JAAS_CONFIG = _shared("sasl.jaas.config", Text(), None, "PlainLoginModule or ScramLoginModule.", secret=True)
SSL_ENDPOINT = _shared(
    "ssl.endpoint.identification.algorithm", OneOf(("https", "")), "https", "Check host names; empty does not."
)
SSL_TRUSTSTORE_TYPE = _shared("ssl.truststore.type", _STORES, "JKS", "JKS means PKCS12 here, as in Java.")
SSL_TRUSTSTORE_LOCATION = _shared("ssl.truststore.location", Text(), None, "File. Absent: the system's CAs.")
SSL_TRUSTSTORE_PASSWORD = _shared("ssl.truststore.password", Text(), None, "Password of that file.", secret=True)
SSL_TRUSTSTORE_CERTIFICATES = _shared("ssl.truststore.certificates", Text(), None, "PEM text instead of a file.")
SSL_KEYSTORE_TYPE = _shared("ssl.keystore.type", _STORES, "JKS", "JKS means PKCS12 here, as in Java.")
SSL_KEYSTORE_LOCATION = _shared("ssl.keystore.location", Text(), None, "File with our certificate and key.")
SSL_KEYSTORE_PASSWORD = _shared("ssl.keystore.password", Text(), None, "Password of that file.", secret=True)
SSL_KEYSTORE_KEY = _shared("ssl.keystore.key", Text(), None, "PEM text of our key instead of a file.", secret=True)
SSL_KEYSTORE_CHAIN = _shared("ssl.keystore.certificate.chain", Text(), None, "PEM text of our certificate.")
SSL_KEY_PASSWORD = _shared("ssl.key.password", Text(), None, "Password of the key inside.", secret=True)

# --- one kind of client -----------------------------------------------------------------------------------------------

_ANY_CLIENT = (Scope.CONSUMER, Scope.PRODUCER, Scope.ADMIN)
CLIENT_ID = Key("client.id", _ANY_CLIENT, Text(), None, "Shown in the brokers' logs and quotas.")
REQUEST_TIMEOUT_MS = Key("request.timeout.ms", _ANY_CLIENT, Whole(1000), "30000", "Longest wait for an answer.")


def _consumer(name: str, kind: Kind[T_co], default: str, meaning: str) -> Key[T_co]:
    return Key(name, (Scope.CONSUMER,), kind, default, meaning)


AUTO_OFFSET_RESET = _consumer("auto.offset.reset", OneOf(("earliest", "latest")), "earliest", "See start.from.")
ISOLATION_LEVEL = _consumer(
    "isolation.level", OneOf(("read_committed", "read_uncommitted")), "read_committed",
    "Leave out aborted records (Kafka's default is to copy them).",
)  # fmt: skip
FETCH_MAX_BYTES = _consumer("fetch.max.bytes", Whole(1), "8388608", "Bytes per fetch answer (Kafka: 52428800).")
PARTITION_FETCH_BYTES = _consumer("max.partition.fetch.bytes", Whole(1), "1048576", "The same, per partition.")
FETCH_MAX_WAIT_MS = _consumer("fetch.max.wait.ms", Whole(0, 60_000), "500", "Longest wait for fetch.min.bytes.")
FETCH_MIN_BYTES = _consumer("fetch.min.bytes", Whole(1), "1", "A fetch answers as soon as it has these.")
MAX_REQUEST_SIZE = Key(
    "max.request.size", (Scope.PRODUCER,), Whole(1), "8388608", "Bytes per produce request (Kafka: 1048576)."
)

# --- known, but not (yet) for us --------------------------------------------------------------------------------------


def _soon(scope: Scope, text: str, *, secret: bool = False) -> tuple[Key[Any], ...]:
    return tuple(Key(n, (scope,), Text(), None, "Comes with a later release.", Soon(), secret) for n in text.split())


def _never(scopes: Scope | tuple[Scope, ...], reason: str, text: str) -> tuple[Key[Any], ...]:
    places = scopes if isinstance(scopes, tuple) else (scopes,)
    return tuple(Key(name, places, Text(), None, reason, Meaningless(reason)) for name in text.split())


_NO_CONNECT = "there are no Connect workers and no Connect topics here"
_JAVA_ONLY = "it tunes the Java client, which is not used here"
_UNCHANGED = "batches pass as the producer made them; compression is never changed"
_ALWAYS_SAFE = "writing is always idempotent, acknowledged by all replicas and in order"

KNOWN: tuple[Key[Any], ...] = (
    *_soon(
        Scope.LINK,
        "groups groups.exclude groups.blacklist refresh.groups.enabled refresh.groups.interval.seconds "
        "emit.checkpoints.enabled emit.checkpoints.interval.seconds checkpoints.topic.replication.factor "
        "sync.group.offsets.enabled sync.group.offsets.interval.seconds emit.heartbeats.enabled "
        "emit.heartbeats.interval.seconds heartbeats.topic.replication.factor heartbeats.topic.name "
        "sync.topic.acls.enabled sync.topic.acls.interval.seconds sync.topic.configs.interval.seconds "
        "offset-syncs.topic.location offset-syncs.topic.replication.factor emit.offset-syncs.enabled offset.lag.max "
        "transforms predicates errors.tolerance",
    ),
    *_soon(Scope.LINK_ONLY, "use.defaults.from transforms.* predicates.*"),
    *_never(
        Scope.LINK,
        "Java classes cannot be loaded here",
        "topic.filter.class group.filter.class config.property.filter.class forwarding.admin.class connector.class "
        "connector.plugin.version metric.reporters.* config.action.reload",
    ),
    *_never(
        Scope.LINK,
        "each record is written once without it",
        "exactly.once.support transaction.boundary transaction.boundary.interval.ms",
    ),
    *_never(
        Scope.LINK,
        _NO_CONNECT,
        "name source.cluster.alias target.cluster.alias consumer.poll.timeout.ms offsets.storage.topic "
        "tasks.max.enforce "
        "key.converter.* value.converter.* header.converter.* topic.creation.* errors.log.enable errors.retry.timeout "
        "errors.log.include.messages errors.retry.delay.max.ms metric.names.formats",
    ),
    *_never(
        Scope.LINK,
        "MirrorMaker 2 removed it in 4.0; what it switched on is always on",
        "use.incremental.alter.configs add.source.alias.to.metrics",
    ),
    *_never(Scope.LINK, "it stands in MirrorMaker 2's documentation but does nothing; the key is enabled", "enable"),
    *_never(
        Scope.LINK,
        "it stands in MirrorMaker 2's documentation but does nothing; see emit.heartbeats.enabled",
        "emit.heartbeats",
    ),
    *_never(
        Scope.FILE,
        "Twinlog's nodes need no REST server between them",
        "dedicated.mode.enable.internal.rest listeners rest.* access.control.* response.http.headers.config "
        "ssl.client.auth admin.listeners",
    ),
    *_never(Scope.FILE, "it would switch on every direction between all clusters; write A->B.enabled", "enabled"),
    *_never(Scope.FILE, _NO_CONNECT, "offset.storage.* config.storage.* status.storage.* task.* worker.* plugin.path"),
    *_never(
        Scope.WORKER,
        _NO_CONNECT,
        "offset.flush.interval.ms offset.flush.timeout.ms offset.storage.* config.storage.* status.storage.* "
        "key.converter.* value.converter.* header.converter.* task.* worker.* group.id client.id plugin.path "
        "scheduled.rebalance.max.delay.ms connect.protocol exactly.once.source.support rebalance.timeout.ms "
        "session.timeout.ms heartbeat.interval.ms topic.creation.enable inter.worker.* metrics.* "
        "connector.client.config.override.policy request.timeout.ms retry.backoff.ms plugin.discovery listeners",
    ),
    *_soon(
        Scope.SHARED,
        "ssl.cipher.suites ssl.enabled.protocols ssl.protocol sasl.kerberos.* sasl.login.* client.dns.lookup",
    ),
    *_soon(Scope.SHARED, "sasl.oauthbearer.*", secret=True),
    *_never(
        Scope.SHARED,
        "Java classes and providers cannot be loaded here",
        "ssl.engine.factory.class ssl.keymanager.algorithm ssl.trustmanager.algorithm ssl.provider "
        "ssl.secure.random.implementation sasl.client.callback.handler.class security.providers",
    ),
    *_soon(Scope.CONSUMER, "client.rack"),
    *_never(
        Scope.CONSUMER,
        "positions are kept in Twinlog's ledger, not in a consumer group",
        "group.id group.instance.id group.protocol group.remote.assignor enable.auto.commit auto.commit.interval.ms "
        "session.timeout.ms heartbeat.interval.ms partition.assignment.strategy max.poll.interval.ms max.poll.records",
    ),
    *_never(Scope.CONSUMER, "every batch is checked", "check.crcs"),
    *_never(
        Scope.CONSUMER,
        _JAVA_ONLY,
        "key.deserializer value.deserializer exclude.internal.topics allow.auto.create.topics default.api.timeout.ms",
    ),
    *_never(
        Scope.PRODUCER,
        _UNCHANGED,
        "compression.type compression.gzip.level compression.lz4.level compression.zstd.level batch.size linger.ms "
        "buffer.memory",
    ),
    *_never(
        Scope.PRODUCER,
        _ALWAYS_SAFE,
        "acks enable.idempotence max.in.flight.requests.per.connection retries delivery.timeout.ms max.block.ms "
        "transactional.id transaction.timeout.ms transaction.two.phase.commit.enable",
    ),
    *_never(Scope.PRODUCER, "a record keeps its partition", "partitioner.* "),
    *_never(Scope.PRODUCER, _JAVA_ONLY, "key.serializer value.serializer metadata.max.idle.ms"),
    *_never(Scope.ADMIN, _JAVA_ONLY, "default.api.timeout.ms retries bootstrap.controllers"),
    *_never(
        _ANY_CLIENT,
        _JAVA_ONLY,
        "receive.buffer.bytes send.buffer.bytes metadata.max.age.ms connections.max.idle.ms reconnect.backoff.ms "
        "reconnect.backoff.max.ms retry.backoff.ms retry.backoff.max.ms socket.connection.setup.timeout.ms "
        "socket.connection.setup.timeout.max.ms interceptor.classes metric.reporters metrics.* "
        "auto.include.jmx.reporter "
        "enable.metrics.push metadata.recovery.strategy metadata.recovery.rebootstrap.trigger.ms client.dns.lookup "
        "config.providers",
    ),
)

SUPPORTED: tuple[Key[Any], ...] = (
    CLUSTERS, CONFIG_PROVIDERS, PROVIDER_CLASSES, ENABLED, TOPICS, TOPICS_EXCLUDE, POLICY_CLASS, SEPARATOR,
    SEPARATOR_INTERNAL, HEARTBEATS_REPLICATION, REPLICATION_FACTOR, TASKS_MAX, REFRESH_TOPICS, REFRESH_TOPICS_SECONDS,
    SYNC_TOPIC_CONFIGS, CONFIG_EXCLUDE, ADMIN_TIMEOUT_MS, START_FROM, ON_GAP, MERGE_TARGET_BYTES, MERGE_LINGER_MS,
    EPOCH_SECONDS, LEDGER_SHARDS, MAX_BYTES_IN_FLIGHT, FAULT_RETRY_SECONDS, BOOTSTRAP_SERVERS, SECURITY_PROTOCOL,
    SASL_MECHANISM, SASL_JAAS_CONFIG, SSL_ENDPOINT, SSL_TRUSTSTORE_TYPE, SSL_TRUSTSTORE_LOCATION,
    SSL_TRUSTSTORE_PASSWORD, SSL_TRUSTSTORE_CERTIFICATES, SSL_KEYSTORE_TYPE, SSL_KEYSTORE_LOCATION,
    SSL_KEYSTORE_PASSWORD, SSL_KEYSTORE_KEY, SSL_KEYSTORE_CHAIN, SSL_KEY_PASSWORD, CLIENT_ID, REQUEST_TIMEOUT_MS,
    AUTO_OFFSET_RESET, ISOLATION_LEVEL, FETCH_MAX_BYTES, PARTITION_FETCH_BYTES, FETCH_MAX_WAIT_MS, FETCH_MIN_BYTES,
    MAX_REQUEST_SIZE,
)  # fmt: skip
CATALOGUE: tuple[Key[Any], ...] = (*SUPPORTED, *KNOWN)
