"""Keys that are recognised but ignored, with the reason for each. One table, no logic; part of the catalogue."""

from __future__ import annotations

from typing import Any

from twinlog.config.text.keys import Key, Meaningless, Scope
from twinlog.config.text.values import Text


def _never(scopes: Scope | tuple[Scope, ...], reason: str, text: str) -> tuple[Key[Any], ...]:
    places = scopes if isinstance(scopes, tuple) else (scopes,)
    return tuple(Key(name, places, Text(), None, reason, Meaningless(reason)) for name in text.split())


_NO_CONNECT = "there are no Connect workers and no Connect topics here"
_JAVA_ONLY = "it tunes the Java client, which is not used here"
_UNCHANGED = "batches pass as the producer made them; compression is never changed"
_ALWAYS_SAFE = "writing is always idempotent, acknowledged by all replicas and in order"

KNOWN: tuple[Key[Any], ...] = (
    *_never(
        Scope.LINK,
        "the topic is always called heartbeats: clients find the topology by that name",
        "heartbeats.topic.name",
    ),
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
        "header.converter.* topic.creation.* errors.log.enable errors.retry.timeout "
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
    *_never(
        Scope.SHARED,
        "TLS 1.2 and newer are spoken, with the ciphers that OpenSSL allows",
        "ssl.cipher.suites ssl.enabled.protocols ssl.protocol",
    ),
    *_never(
        Scope.SHARED, "tickets and their renewal are the matter of the machine's Kerberos library", "sasl.kerberos.*"
    ),
    *_never(
        Scope.SHARED,
        "passwords and tokens are used as they are; a token is renewed after four fifths of its life",
        "sasl.login.*",
    ),
    *_never(
        Scope.SHARED,
        "tokens are got with client credentials; the other keys concern Java classes, or brokers",
        "sasl.oauthbearer.*",
    ),
    *_never(Scope.SHARED, "every address of a name is tried", "client.dns.lookup"),
    *_never(
        Scope.SHARED,
        "Java classes and providers cannot be loaded here",
        "ssl.engine.factory.class ssl.keymanager.algorithm ssl.trustmanager.algorithm ssl.provider "
        "ssl.secure.random.implementation sasl.client.callback.handler.class security.providers",
    ),
    *_never(
        Scope.CONSUMER, "records are read from the leader: a follower that lags would delay the copy", "client.rack"
    ),
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
        (Scope.CONSUMER, Scope.PRODUCER, Scope.ADMIN),
        _JAVA_ONLY,
        "receive.buffer.bytes send.buffer.bytes metadata.max.age.ms connections.max.idle.ms reconnect.backoff.ms "
        "reconnect.backoff.max.ms retry.backoff.ms retry.backoff.max.ms socket.connection.setup.timeout.ms "
        "socket.connection.setup.timeout.max.ms interceptor.classes metric.reporters metrics.* "
        "auto.include.jmx.reporter "
        "enable.metrics.push metadata.recovery.strategy metadata.recovery.rebootstrap.trigger.ms client.dns.lookup "
        "config.providers",
    ),
)
