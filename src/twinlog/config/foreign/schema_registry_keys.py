"""The keys of Confluent's `schema-registry.properties`, and what each of them sets here."""

from __future__ import annotations

from typing import Any, Final

from twinlog.config.text.keys import Key, Scope
from twinlog.config.text.values import Flag, OneOf, Text, Whole

_LEVELS: Final = (
    "NONE", "BACKWARD", "BACKWARD_TRANSITIVE", "FORWARD", "FORWARD_TRANSITIVE", "FULL", "FULL_TRANSITIVE",
)  # fmt: skip


def _key(name: str, kind: Any, default: str | None, meaning: str, *old: str, secret: bool = False) -> Key[Any]:
    return Key(name, (Scope.FILE,), kind, default, meaning, old_names=old, secret=secret)


LISTENERS = _key("listeners", Text(), "http://0.0.0.0:8081", "Addresses that clients reach, separated by commas.")
HOST_NAME = _key("host.name", Text(), None, "The name under which the other instances reach this one.")
HOST_PORT = _key("host.port", Whole(1, 65535), None, "The port under which the other instances reach this one.")
PROTOCOL = _key(
    "inter.instance.protocol", OneOf(("http", "https")), "http", "How instances speak to each other.",
    "schema.registry.inter.instance.protocol",
)  # fmt: skip
LISTENER_NAME = _key("inter.instance.listener.name", Text(), None, "Which listener instances use among each other.")
FORWARDED_HEADERS = _key("inter.instance.headers.whitelist", Text(), "", "More headers that are passed to the leader.")
GROUP_ID = _key("schema.registry.group.id", Text(), "schema-registry", "The group that elects the leader.")
ELIGIBLE = _key("leader.eligibility", Flag(), "true", "Whether this instance may lead.", "master.eligibility")
LEVEL = _key(
    "schema.compatibility.level", OneOf(_LEVELS), "BACKWARD", "The compatibility level where nothing else is set.",
    "avro.compatibility.level",
)  # fmt: skip
MODE_MUTABILITY = _key("mode.mutability", Flag(), "true", "Whether modes may be changed over HTTP.")
TOPIC = _key("kafkastore.topic", Text(), "_schemas", "The topic that holds the schemas.")
REPLICAS = _key(
    "kafkastore.topic.replication.factor", Whole(1, 32767), "3", "Replicas of the topic when it is created."
)
SKIP_CHECKS = _key(
    "kafkastore.topic.skip.validation", Flag(), "false", "Start with a topic that is not compacted, too."
)
TIMEOUT = _key("kafkastore.timeout.ms", Whole(1), "500", "How long a follower may take to read what was just written.")
SESSION = _key("kafkagroup.session.timeout.ms", Whole(1000), "10000", "After which silence a leader is replaced.")
CONNECT_TIMEOUT = _key("leader.connect.timeout.ms", Whole(1), "60000", "How long a connection to the leader may take.")
READ_TIMEOUT = _key("leader.read.timeout.ms", Whole(1), "60000", "How long the leader may take to answer.")
CACHE_SIZE = _key("schema.cache.size", Whole(1), "1000", "How many parsed schemas are kept.")
MOST_LISTED = _key("schema.search.max.limit", Whole(1), "1000", "How many schemas one answer lists.")
VALIDATE_FIELDS = _key("schema.validate.fields", Flag(), "false", "Whether names of fields are checked.")
VALIDATE_NAMES = _key(
    "schema.validate.names",
    Flag(),
    "true",
    "Whether names and defaults of new schemas are checked when they are normalized.",
)
INCOMPATIBLE_CODE = _key(
    "twinlog.registry.incompatible.code", OneOf(("409", "40901")), "409",
    "The error code of an incompatible schema: 409 as Confluent up to 8.1, 40901 as from 8.2 on.",
)  # fmt: skip
SNAPSHOT = _key(
    "twinlog.registry.snapshot.file", Text(), None,
    "Where this instance writes down what it reads. It serves reads from there after a restart while Kafka is gone.",
)  # fmt: skip
SUBJECT_PREFIXES = _key(
    "twinlog.registry.subject.prefixes", Text(), "",
    "Prefixes of mirrored topics, separated by commas. With `A.` the subject A.orders-value is another name of "
    "orders-value, unless there is one of that name.",
)  # fmt: skip
SSL_LOCATION = _key("ssl.keystore.location", Text(), None, "The store with the certificate of the https listeners.")
SSL_PASSWORD = _key("ssl.keystore.password", Text(), None, "Its password.", secret=True)
SSL_TYPE = _key("ssl.keystore.type", OneOf(("JKS", "PKCS12", "PEM")), "JKS", "Its kind.")
SSL_KEY_PASSWORD = _key("ssl.key.password", Text(), None, "The password of the key in it.", secret=True)
TRUST_LOCATION = _key("ssl.truststore.location", Text(), None, "The store with authorities that are believed.")
TRUST_PASSWORD = _key("ssl.truststore.password", Text(), None, "Its password.", secret=True)
TRUST_TYPE = _key("ssl.truststore.type", OneOf(("JKS", "PKCS12", "PEM")), "JKS", "Its kind.")
CLIENT_AUTH = _key(
    "ssl.client.authentication", OneOf(("NONE", "REQUESTED", "REQUIRED")), None, "Whether clients show certificates."
)
OLD_CLIENT_AUTH = _key("ssl.client.auth", Flag(), "false", "The older way to demand certificates of clients.")
AUTHENTICATION = _key("authentication.method", OneOf(("NONE", "BASIC", "BEARER")), "NONE", "How clients log in.")
ENCODER_SECRET = _key(
    "metadata.encoder.secret", Text(), None,
    "Confluent encrypts sensitive metadata with it. Here schemas with such metadata are refused.", secret=True,
)  # fmt: skip

MEANINGLESS: Final = {
    "kafkastore.connection.url": "instances elect their leader through Kafka, not through ZooKeeper",
    "schema.registry.zk.namespace": "instances elect their leader through Kafka, not through ZooKeeper",
    "kafkastore.group.id": "the topic is read without a group",
    "kafkastore.init.timeout.ms": "the start waits for Kafka and says so",
    "kafkastore.init.wait.for.reader": "who has not read the topic does not lead",
    "kafkastore.write.max.retries": "a write is tried again until its time is over",
    "kafkastore.checkpoint.dir": "the topic is read from its beginning",
    "kafkastore.checkpoint.version": "the topic is read from its beginning",
    "kafkastore.update.handlers": "classes of Java cannot be loaded",
    "kafkagroup.heartbeat.interval.ms": "a heartbeat is sent every second",
    "kafkagroup.rebalance.timeout.ms": "a rebalance waits 10 s for members that are silent",
    "leader.election.delay": "who has not read the topic does not lead",
    "leader.election.sticky": "leadership always stays where it is while that instance is there",
    "schema.cache.expiry.secs": "the cache is limited by its size",
    "schema.canonicalize.on.consume": "records are served as they were written",
    "schema.providers": "classes of Java cannot be loaded; Avro, JSON Schema and Protobuf are there",
    "schema.search.default.limit": "schema.search.max.limit is also the default",
    "schema.registry.resource.extension.class": "classes of Java cannot be loaded",
    "resource.extension.class": "classes of Java cannot be loaded",
    "init.resource.extension.class": "classes of Java cannot be loaded",
    "resource.static.locations": "there are no files to serve",
    "enable.fips": "what TLS may use is what Python's OpenSSL allows",
    "enable.store.health.check": "/readyz always looks at the store",
    "metadata.encoder.topic": "metadata is not encrypted here",
    "metadata.encoder.old.secret": "metadata is not encrypted here",
    "debug": "answers never show a stack",
    "compression.enable": "answers are sent as they are",
    "request.logger.name": "the log has one line for each order",
    "response.mediatype.default": "answers have Confluent's types",
    "response.mediatype.preferred": "answers have Confluent's types",
    "authentication.realm": "users are in http.users.file",
    "authentication.roles": "users are in http.users.file, with their roles",
    "authentication.skip.paths": "/livez and /readyz need no login",
    "request.queue.capacity": "requests are answered by one loop",
    "shutdown.graceful.ms": "requests that are under way have 3 s",
}
"""Keys that Confluent's server knows and that have no effect here, with the reason."""
MEANINGLESS_FAMILIES: Final = (
    ("metric", "metrics are at /metrics and in the log"),
    ("confluent.", "it is for products that are not part of the registry"),
    ("rest.servlet.", "there are no servlets"),
    ("websocket.", "there are no websockets"),
    ("thread.pool.", "requests are answered by one loop"),
    ("access.control.", "requests of browsers are not answered across origins"),
    ("subject.search.", "lists of subjects have no limit"),
    ("subject.version.search.", "lists of versions have no limit"),
    ("context.search.", "lists of contexts have no limit"),
    ("ssl.", "what TLS may use is what Python's OpenSSL allows"),
    ("kafkastore.ssl.", "what TLS may use is what Python's OpenSSL allows"),
    ("kafkastore.sasl.kerberos.", "tickets are renewed by the Kerberos library"),
    ("dos.filter.", "limits are http.connections.per.address and http.max.request.bytes"),
)
REFUSED: Final = {
    "schema.registry.auth.mechanism": "use http.users.file for logins",
}
"""Keys that change what is stored or who may ask: they are never passed over."""
