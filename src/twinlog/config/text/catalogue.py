"""Every key that a settings file may hold: MirrorMaker 2's, Kafka's clients' and our own. One table, no logic.

`resolve` reads the values through the named entries, `review` tells an operator what became of the others, and the
settings reference is generated from it. MirrorMaker 2's defaults are kept where nothing is said to the contrary.
"""

from __future__ import annotations

from typing import Any

from twinlog.config.text.keys import Key, Scope
from twinlog.config.text.known_keys import KNOWN
from twinlog.config.text.registry_keys import REGISTRY_KEYS
from twinlog.config.text.service_keys import SERVICE_KEYS
from twinlog.config.text.switch_keys import SWITCH_KEYS
from twinlog.config.text.transform_keys import TRANSFORM_ALL
from twinlog.config.text.values import (
    Deletion,
    FilePath,
    Flag,
    Kind,
    Mapped,
    OneOf,
    Overrides,
    Regex,
    Regexes,
    RenameFormat,
    Schedule,
    Servers,
    Start,
    T_co,
    Text,
    TopicCharacters,
    TopicNames,
    Url,
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
CONFIG_PROVIDERS = Key(
    "config.providers", (Scope.FILE,), Words(), "",
    "Names of config providers; connectors made over HTTP may use those alone that have a limit.",
)  # fmt: skip
PROVIDER_CLASSES = Key(
    "config.providers.*", (Scope.FILE,), Text(), None,
    "Class of a provider (NAME.class), and its limit for connectors: NAME.param.allowed.paths (file, dir) or "
    "NAME.param.allowlist.pattern (env).",
)  # fmt: skip


# --- a link -----------------------------------------------------------------------------------------------------------


def _link(
    name: str, kind: Kind[T_co], default: str | None, meaning: str, *old: str, mm2: str | None = None
) -> Key[T_co]:
    return Key(name, (Scope.LINK,), kind, default, meaning, old_names=old, mm2_default=mm2)


def _own(name: str, kind: Kind[T_co], default: str | None, meaning: str) -> Key[T_co]:
    return Key(name, (Scope.LINK,), kind, default, meaning, own=True)


# -1 is the cluster's own default.
_REPLICAS = Whole(1, 32767, also=-1)

# Only the link's own key: at the top of the file it would switch on every direction between all clusters at once.
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
    "replication.factor", _REPLICAS, "-1",
    "Replicas of topics made on the target; -1 is the target's own default.", mm2="2",
)  # fmt: skip
TASKS_MAX = _link(
    "tasks.max", Whole(1), None, "Most Spark tasks of the link. Absent: from partitions and cores.", mm2="1"
)
REFRESH_TOPICS = _link("refresh.topics.enabled", Flag(), "true", "Look for new topics and partitions.")
REFRESH_TOPICS_SECONDS = _link(
    "refresh.topics.interval.seconds", Whole(1), "5", "How often to look for new topics.", mm2="600"
)
SYNC_TOPIC_CONFIGS = _link("sync.topic.configs.enabled", Flag(), "true", "Keep topic configs on the target in sync.")
CONFIG_EXCLUDE = _link(
    "config.properties.exclude", Regexes(),
    "follower.replication.throttled.replicas, leader.replication.throttled.replicas, "
    "message.timestamp.difference.max.ms, log.message.timestamp.before.max.ms, log.message.timestamp.after.max.ms, "
    "message.timestamp.type, unclean.leader.election.enable, min.insync.replicas",
    "Topic configs that are not copied.", "config.properties.blacklist",
)  # fmt: skip
SYNC_TOPIC_CONFIGS_SECONDS = _link(
    "sync.topic.configs.interval.seconds", Whole(1), "30", "How often topic configs are compared.", mm2="600"
)
USE_DEFAULTS_FROM = _link(
    "use.defaults.from", OneOf(("target", "source")), "target",
    "Where a topic config that nobody set takes its value from. MirrorMaker 2 reads it only as A->B.use.defaults.from.",
)  # fmt: skip
SYNC_TOPIC_ACLS = _link("sync.topic.acls.enabled", Flag(), "true", "Keep ACLs of mirrored topics in sync.")
SYNC_TOPIC_ACLS_SECONDS = _link(
    "sync.topic.acls.interval.seconds", Whole(1), "60", "How often ACLs are compared.", mm2="600"
)
GROUPS = _link("groups", Regexes(), ".*", "Consumer groups whose positions are translated.")
GROUPS_EXCLUDE = _link(
    "groups.exclude", Regexes(), "console-consumer-.*, connect-.*, __.*", "Groups to leave out; wins over groups.",
    "groups.blacklist",
)  # fmt: skip
REFRESH_GROUPS = _link("refresh.groups.enabled", Flag(), "true", "Look for new consumer groups.")
REFRESH_GROUPS_SECONDS = _link(
    "refresh.groups.interval.seconds", Whole(1), "5", "How often to look for new groups.", mm2="600"
)
EMIT_CHECKPOINTS = _link(
    "emit.checkpoints.enabled", Flag(), "true", "Write translated positions to A.checkpoints.internal on the target."
)
EMIT_CHECKPOINTS_SECONDS = _link(
    "emit.checkpoints.interval.seconds", Whole(1), "5", "How often checkpoints are written.", mm2="60"
)
CHECKPOINTS_REPLICAS = _link(
    "checkpoints.topic.replication.factor", _REPLICAS, "-1", "Replicas of the checkpoints topic.", mm2="3"
)
SYNC_GROUP_OFFSETS = _link(
    "sync.group.offsets.enabled", Flag(), "true",
    "Commit translated positions to groups of the target that have no active member.", mm2="false",
)  # fmt: skip
SYNC_GROUP_OFFSETS_SECONDS = _link(
    "sync.group.offsets.interval.seconds", Whole(1), "5", "How often positions are committed.", mm2="60"
)
EMIT_HEARTBEATS = _link(
    "emit.heartbeats.enabled", Flag(), "true",
    "Write to the heartbeats topic of B; of a pair A->B that is not enabled, too.",
)  # fmt: skip
EMIT_HEARTBEATS_SECONDS = _link("emit.heartbeats.interval.seconds", Whole(1), "1", "How often heartbeats are written.")
HEARTBEATS_REPLICAS = _link(
    "heartbeats.topic.replication.factor", _REPLICAS, "-1", "Replicas of the heartbeats topic.", mm2="3"
)
EMIT_OFFSET_SYNCS = _link(
    "emit.offset-syncs.enabled", Flag(), "true",
    "Write mm2-offset-syncs.B.internal, for Java clients and for a way back to MirrorMaker 2.",
)  # fmt: skip
OFFSET_SYNCS_LOCATION = _link(
    "offset-syncs.topic.location",
    OneOf(("source", "target")),
    "source",
    "The cluster that holds the offset-syncs topic.",
)
OFFSET_SYNCS_REPLICAS = _link(
    "offset-syncs.topic.replication.factor", _REPLICAS, "-1", "Replicas of the offset-syncs topic.", mm2="3"
)
OFFSET_LAG_MAX = _link(
    "offset.lag.max", Whole(0), "100",
    "Most records between two offset-syncs. Our own translation is exact and does not depend on it.",
)  # fmt: skip
ADMIN_TIMEOUT_MS = _link("admin.timeout.ms", Whole(1000), "60000", "Longest wait for an administrative request.")

START_FROM = _own("start.from", Start(), None, "Where a new partition begins. Absent: auto.offset.reset.")
ON_GAP = _own("on.gap", OneOf(("fault", "skip")), "fault", "The source deleted what was not copied: stop, or continue.")
MERGE_TARGET_BYTES = _own("merge.target.bytes", Whole(0, 2**27), "262144", "Small batches are merged up to this size.")
MERGE_LINGER_MS = _own("merge.linger.ms", Whole(0, 10_000), "3", "How long a trickle gathers before the next fetch.")
EPOCH_SECONDS = _own("epoch.seconds", Whole(1, 86_400), "600", "Length of a Spark epoch while the plan is unchanged.")
LEDGER_SHARDS = _own("ledger.shards", Whole(1, 256), "32", "Writers' identities of the link. Fixed once it has run.")
LIMIT_BYTES = _own(
    "limit.bytes.per.second", Whole(0), "0",
    "Most bytes a second that the link reads from the source, as they lie there; 0 is no limit. `twinlog link limit` "
    "changes it while the link runs.",
)  # fmt: skip
LIMIT_RECORDS = _own(
    "limit.records.per.second", Whole(0), "0",
    "Most records a second that the link reads from the source, counted by offsets; 0 is no limit. Of both limits the "
    "one that is reached first holds.",
)  # fmt: skip
LIMIT_SCHEDULE = _own(
    "limit.schedule", Schedule(), "",
    "Other limits by time of day (UTC), e.g. `08:00-18:00=5000000; 18:00-22:00=2000 records; 22:00-06:00=none`. "
    "Outside of all windows limit.bytes.per.second and limit.records.per.second hold.",
)  # fmt: skip
TOPICS_FIRST = _own(
    "topics.first", Regexes(), "",
    "Topics that are copied before all others while they are behind: they have connections of their own, and the "
    "others are read slowly until these have caught up.",
)  # fmt: skip
MAX_BYTES_IN_FLIGHT = _own("max.bytes.in.flight", Whole(65_536), "33554432", "Bytes read but not written, per task.")
TOPIC_WHITELIST = _own("topic.whitelist", TopicNames(), "", "Replicator's key: topics to mirror, by name.")
TOPIC_REGEX = _own(
    "topic.regex", Regex(), None, "Replicator's key: one expression for topics to mirror; may hold commas."
)
TOPIC_BLACKLIST = _own("topic.blacklist", TopicNames(), "", "Replicator's key: topics to leave out, by name.")
RENAME_FORMAT = _own(
    "topic.rename.format", RenameFormat(), "${topic}",
    "What copies are called, as with Replicator; where it is set, replication.policy.class has no effect.",
)  # fmt: skip
PROVENANCE_MODE = _own(
    "provenance.mode", OneOf(("batch", "header", "off")), None,
    "How records are kept from coming home between clusters with the same topic names: by who wrote a batch, or by a "
    "header in each record. Absent: batch where names are the same, else off.",
)  # fmt: skip
PROVENANCE_HEADERS = _own(
    "provenance.header.enable", Flag(), "false", "Replicator's key for provenance.mode = header. A ring needs it."
)
PROVENANCE_RELAY = _own(
    "provenance.relay", OneOf(("auto", "all", "none")), "auto",
    "Records that another link copied to the source: copy them, or only what was produced there. Auto: by topology.",
)  # fmt: skip
PROVENANCE_OVERRIDES = _own(
    "provenance.header.filter.overrides", Overrides(), "",
    "Records to copy back to their origin: clusterRegex,topicRegex,fromMs-untilMs; `-` is any time, `;` separates.",
)  # fmt: skip
CONFIG_CONFLICT = _own(
    "sync.topic.configs.conflict", OneOf(("report", "revert", "keep")), "report",
    "A topic config that was changed by hand on the target: keep and show it as a difference, set the source's value "
    "(MirrorMaker 2's way), or keep it without counting it as a difference.",
)  # fmt: skip
TOPIC_DELETION = _own(
    "topic.deletion", Deletion(), "report",
    "A mirrored topic was deleted on the source: do nothing, show it, or delete the copy after a while.",
)  # fmt: skip
SYNC_TOPIC_ACLS_MODE = _own(
    "sync.topic.acls.mode", OneOf(("mm2", "full")), "mm2",
    "MirrorMaker 2's rules, or also prefixed patterns, groups, writers (held back until failover) and removals.",
)  # fmt: skip
SYNC_CLIENT_QUOTAS_MODE = _own(
    "sync.client.quotas.mode", OneOf(("off", "list", "sync")), "list",
    "Client quotas of users and client ids: list those that differ on the target, or set the source's values there.",
)  # fmt: skip
SYNC_GROUP_CONFIGS_MODE = _own(
    "sync.group.configs.mode", OneOf(("off", "list", "sync")), "list",
    "Configs of the selected groups: list those that differ on the target, or set the source's values there.",
)  # fmt: skip
SYNC_SCRAM_USERS_MODE = _own(
    "sync.scram.users.mode", OneOf(("off", "list")), "list",
    "SCRAM users of the source: list those who could not log in on the target. Kafka never returns their keys.",
)  # fmt: skip
SYNC_LOGINS_SECONDS = _own(
    "sync.logins.interval.seconds", Whole(1), "60", "How often SCRAM users, quotas and group configs are compared.",
)  # fmt: skip
GROUP_REWINDS = _own(
    "group.rewinds", OneOf(("follow", "hold")), "follow",
    "A group went back on the source: take its position on the target back too, or leave it.",
)  # fmt: skip
MM2_TAKEOVER = _own(
    "mm2.takeover", OneOf(("check", "trust", "off")), "check",
    "Topics that MirrorMaker 2 filled: continue where the data says it stopped, where it noted, or by start.from.",
)  # fmt: skip
MM2_OFFSETS_TOPIC = _own(
    "mm2.takeover.offsets.topic", Text(), None,
    "Where MirrorMaker 2 kept its source offsets, on the target. Absent: mm2-offsets.A.internal.",
)  # fmt: skip
MM2_CONNECTOR = _own(
    "mm2.takeover.connector", Text(), "MirrorSourceConnector",
    "Name of its source connector; on a Connect cluster the operator chose one.",
)  # fmt: skip
AUDIT = _own(
    "audit.enabled", Flag(), "true",
    "Compare the newest copied records of each partition with their originals, while the link runs.",
)  # fmt: skip
AUDIT_SECONDS = _own(
    "audit.interval.seconds", Whole(1, 86_400), "60", "How often. At most 32 MB of each side are read."
)
FAULT_RETRY_SECONDS = _own("fault.retry.seconds", Whole(1, 86_400), "15", "How often a faulted partition is tried.")

RPO_SECONDS = _own("rpo.seconds", Whole(1), None, "Objective: at most so much may be lost. Absent: none was set.")
RTO_SECONDS = _own("rto.seconds", Whole(1), None, "Objective: a switch is over within this time. Absent: none was set.")
OBJECTIVES = _own("objectives", Words(), "", "Names of objectives for some topics each; the first that matches counts.")
OBJECTIVE_KEYS = _own(
    "objectives.*", Text(), None,
    "Of each name N: objectives.N.topics (regular expressions), objectives.N.rpo.seconds, objectives.N.rto.seconds.",
)  # fmt: skip

CUT_SETS = _own("cut.sets", Words(), "", "Names of sets of topics that applications read and write together.")
CUT_SET_KEYS = _own(
    "cut.sets.*", Text(), None,
    "Of each name N: cut.sets.N.topics (regular expressions). At an unplanned failover groups that read these topics "
    "start where they stood at the newest time that the copies of all of them have covered.",
)  # fmt: skip

# --- every client -----------------------------------------------------------------------------------------------------


def _shared(
    name: str, kind: Kind[T_co], default: str | None, meaning: str, *, secret: bool = False, mm2: str | None = None
) -> Key[T_co]:
    return Key(name, (Scope.SHARED,), kind, default, meaning, secret=secret, mm2_default=mm2)


_STORES = OneOf(("JKS", "PKCS12", "PEM"))
BOOTSTRAP_SERVERS = _shared("bootstrap.servers", Servers(), None, "Addresses to begin with. Required.")
SECURITY_PROTOCOL = _shared(
    "security.protocol", OneOf(("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")), "PLAINTEXT", "TLS and login or not."
)
SASL_MECHANISM = _shared(
    "sasl.mechanism", OneOf(("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "GSSAPI")), None,
    "How to log in. Required with SASL; Kafka's default, GSSAPI, has to be written too.", mm2="GSSAPI",
)  # fmt: skip
SASL_JAAS_CONFIG = _shared(
    "sasl.jaas.config", Text(), None,
    "The login module and what it needs: PlainLoginModule and ScramLoginModule (username, password), "
    "OAuthBearerLoginModule (clientId, clientSecret, scope, extension_...), Krb5LoginModule (principal, keyTab).",
    secret=True,
)  # fmt: skip
SASL_TOKEN_URL = _shared(
    "sasl.oauthbearer.token.endpoint.url", Url(), None, "Where tokens are got. Required with OAUTHBEARER."
)
SASL_TOKEN_CLIENT_ID = _shared(
    "sasl.oauthbearer.client.credentials.client.id", Text(), None, "Wins over clientId of sasl.jaas.config."
)
SASL_TOKEN_CLIENT_SECRET = _shared(
    "sasl.oauthbearer.client.credentials.client.secret", Text(), None,
    "Wins over clientSecret of sasl.jaas.config.", secret=True,
)  # fmt: skip
SASL_TOKEN_SCOPE = _shared("sasl.oauthbearer.scope", Text(), None, "Wins over scope of sasl.jaas.config.")
SASL_KERBEROS_SERVICE = _shared(
    "sasl.kerberos.service.name", Text(), None, "The name under which brokers are known to Kerberos, mostly kafka."
)
SSL_ENDPOINT = _shared(
    "ssl.endpoint.identification.algorithm", OneOf(("https", "")), "https", "Check host names; empty does not."
)
SSL_TRUSTSTORE_TYPE = _shared(
    "ssl.truststore.type", _STORES, "JKS", "JKS and PKCS12 are told apart by what is in the file, as in Java."
)
SSL_TRUSTSTORE_LOCATION = _shared("ssl.truststore.location", FilePath(), None, "File. Absent: the system's CAs.")
SSL_TRUSTSTORE_PASSWORD = _shared("ssl.truststore.password", Text(), None, "Password of that file.", secret=True)
SSL_TRUSTSTORE_CERTIFICATES = _shared("ssl.truststore.certificates", Text(), None, "PEM text instead of a file.")
SSL_KEYSTORE_TYPE = _shared(
    "ssl.keystore.type", _STORES, "JKS", "JKS and PKCS12 are told apart by what is in the file, as in Java."
)
SSL_KEYSTORE_LOCATION = _shared("ssl.keystore.location", FilePath(), None, "File with our certificate and key.")
SSL_KEYSTORE_PASSWORD = _shared("ssl.keystore.password", Text(), None, "Password of that file.", secret=True)
SSL_KEYSTORE_KEY = _shared("ssl.keystore.key", Text(), None, "PEM text of our key instead of a file.", secret=True)
SSL_KEYSTORE_CHAIN = _shared("ssl.keystore.certificate.chain", Text(), None, "PEM text of our certificate.")
SSL_KEY_PASSWORD = _shared("ssl.key.password", Text(), None, "Password of the key inside.", secret=True)

# --- one kind of client -----------------------------------------------------------------------------------------------

_ANY_CLIENT = (Scope.CONSUMER, Scope.PRODUCER, Scope.ADMIN)
CLIENT_ID = Key("client.id", _ANY_CLIENT, Text(), None, "Shown in the brokers' logs and quotas.")
REQUEST_TIMEOUT_MS = Key("request.timeout.ms", _ANY_CLIENT, Whole(1000), "30000", "Longest wait for an answer.")


def _consumer(name: str, kind: Kind[T_co], default: str, meaning: str, *, mm2: str | None = None) -> Key[T_co]:
    return Key(name, (Scope.CONSUMER,), kind, default, meaning, mm2_default=mm2)


AUTO_OFFSET_RESET = _consumer("auto.offset.reset", OneOf(("earliest", "latest")), "earliest", "See start.from.")
ISOLATION_LEVEL = _consumer(
    "isolation.level", OneOf(("read_committed", "read_uncommitted")), "read_committed",
    "Leave out aborted records, or copy them too.", mm2="read_uncommitted",
)  # fmt: skip
FETCH_MAX_BYTES = _consumer(
    "fetch.max.bytes", Whole(1), "8388608", "Bytes per fetch answer; over a long line more.", mm2="52428800"
)
PARTITION_FETCH_BYTES = _consumer("max.partition.fetch.bytes", Whole(1), "1048576", "The same, per partition.")
FETCH_MAX_WAIT_MS = _consumer("fetch.max.wait.ms", Whole(0, 60_000), "500", "Longest wait for fetch.min.bytes.")
FETCH_MIN_BYTES = _consumer("fetch.min.bytes", Whole(1), "1", "A fetch answers as soon as it has these.")
MAX_REQUEST_SIZE = Key(
    "max.request.size", (Scope.PRODUCER,), Whole(1), "8388608", "Bytes per produce request.", mm2_default="1048576"
)

SUPPORTED: tuple[Key[Any], ...] = (
    CLUSTERS, CONFIG_PROVIDERS, PROVIDER_CLASSES, ENABLED, TOPICS, TOPICS_EXCLUDE, POLICY_CLASS, SEPARATOR,
    TOPIC_WHITELIST, TOPIC_REGEX, TOPIC_BLACKLIST, RENAME_FORMAT, PROVENANCE_MODE, PROVENANCE_HEADERS,
    PROVENANCE_RELAY, PROVENANCE_OVERRIDES,
    SEPARATOR_INTERNAL, HEARTBEATS_REPLICATION, REPLICATION_FACTOR, TASKS_MAX, REFRESH_TOPICS, REFRESH_TOPICS_SECONDS,
    SYNC_TOPIC_CONFIGS, SYNC_TOPIC_CONFIGS_SECONDS, CONFIG_EXCLUDE, USE_DEFAULTS_FROM, CONFIG_CONFLICT, TOPIC_DELETION,
    SYNC_TOPIC_ACLS, SYNC_TOPIC_ACLS_SECONDS, SYNC_TOPIC_ACLS_MODE, SYNC_CLIENT_QUOTAS_MODE,
    SYNC_GROUP_CONFIGS_MODE, SYNC_SCRAM_USERS_MODE, SYNC_LOGINS_SECONDS, GROUPS, GROUPS_EXCLUDE, REFRESH_GROUPS,
    REFRESH_GROUPS_SECONDS, EMIT_CHECKPOINTS, EMIT_CHECKPOINTS_SECONDS, CHECKPOINTS_REPLICAS, SYNC_GROUP_OFFSETS,
    SYNC_GROUP_OFFSETS_SECONDS, GROUP_REWINDS, EMIT_HEARTBEATS, EMIT_HEARTBEATS_SECONDS, HEARTBEATS_REPLICAS,
    EMIT_OFFSET_SYNCS, OFFSET_SYNCS_LOCATION, OFFSET_SYNCS_REPLICAS, OFFSET_LAG_MAX,
    ADMIN_TIMEOUT_MS, START_FROM, MM2_TAKEOVER, MM2_OFFSETS_TOPIC, MM2_CONNECTOR, ON_GAP,
    MERGE_TARGET_BYTES, MERGE_LINGER_MS,
    EPOCH_SECONDS, LEDGER_SHARDS, MAX_BYTES_IN_FLIGHT, LIMIT_BYTES, LIMIT_RECORDS, LIMIT_SCHEDULE, TOPICS_FIRST,
    FAULT_RETRY_SECONDS, AUDIT, AUDIT_SECONDS,
    RPO_SECONDS, RTO_SECONDS,
    OBJECTIVES, OBJECTIVE_KEYS, CUT_SETS, CUT_SET_KEYS,
    *SWITCH_KEYS, BOOTSTRAP_SERVERS, SECURITY_PROTOCOL,
    SASL_MECHANISM, SASL_JAAS_CONFIG, SASL_TOKEN_URL, SASL_TOKEN_CLIENT_ID, SASL_TOKEN_CLIENT_SECRET, SASL_TOKEN_SCOPE,
    SASL_KERBEROS_SERVICE, SSL_ENDPOINT, SSL_TRUSTSTORE_TYPE, SSL_TRUSTSTORE_LOCATION,
    SSL_TRUSTSTORE_PASSWORD, SSL_TRUSTSTORE_CERTIFICATES, SSL_KEYSTORE_TYPE, SSL_KEYSTORE_LOCATION,
    SSL_KEYSTORE_PASSWORD, SSL_KEYSTORE_KEY, SSL_KEYSTORE_CHAIN, SSL_KEY_PASSWORD, CLIENT_ID, REQUEST_TIMEOUT_MS,
    AUTO_OFFSET_RESET, ISOLATION_LEVEL, FETCH_MAX_BYTES, PARTITION_FETCH_BYTES, FETCH_MAX_WAIT_MS, FETCH_MIN_BYTES,
    MAX_REQUEST_SIZE,
    *TRANSFORM_ALL, *REGISTRY_KEYS, *SERVICE_KEYS,
)  # fmt: skip
CATALOGUE: tuple[Key[Any], ...] = (*SUPPORTED, *KNOWN)
