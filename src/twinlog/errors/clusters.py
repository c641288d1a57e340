"""A broker or a whole cluster does not answer, or refuses a request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from twinlog.errors.root import TwinlogError

# What a problem says, in small letters, and the likely cause. The first that fits counts.
_LIKELY: Final = (
    (
        ("of this client expired",),
        "Renew the certificate and change ssl.keystore.* of {cluster} in the file; a running engine picks it up.",
    ),
    (
        ("mismatch, certificate is not valid for", "hostname mismatch"),
        (
            "The certificate of the broker is for another name. Use a name of the certificate in bootstrap.servers and "
            "in the brokers' advertised.listeners, or give the broker a certificate with this name."
        ),
    ),
    (
        ("certificate verify failed", "certificate could not be verified", "certificate is not trusted"),
        "Set ssl.truststore.location of {cluster} to the CA that signed the certificates of its brokers.",
    ),
    (
        ("certificate required", "bad certificate", "handshake failure"),
        "The broker asks for a certificate of the client: set ssl.keystore.location of {cluster}.",
    ),
    (
        (
            "connection reset by peer",
            "closed the connection",
            "wrong version number",
            "record layer failure",
            "broker listener?",
        ),
        (
            "Compare security.protocol of {cluster} with the listener of this port: a client without TLS at a TLS "
            "port, or with TLS at a plaintext port, ends like this. If they agree, look into the log of the broker; "
            "links that run keep trying."
        ),
    ),
    (
        ("invalid credentials", "authentication failed"),
        "Correct sasl.jaas.config of {cluster}: the password is wrong, or {cluster} has no such user.",
    ),
    (
        ("no answer in time",),
        (
            "Check that the cluster runs, that no firewall drops the packets, and that security.protocol of {cluster} "
            "is that of the listener; links that run keep trying."
        ),
    ),
    (
        ("name or service not known", "resolve", "no address associated", "name resolution"),
        "This machine cannot resolve the host name: correct bootstrap.servers of {cluster}, or the name service.",
    ),
)


def likely_remedy(cluster: str, problem: str) -> str:
    """What to do about a cluster that cannot be reached, by what the attempt met; empty when that shows no cause."""
    said = problem.lower()
    remedy = next((way for marks, way in _LIKELY if any(mark in said for mark in marks)), "")
    return remedy.format(cluster=cluster)


@dataclass(eq=False)
class ClusterError(TwinlogError):
    """A broker or a whole cluster does not answer, or refuses a request."""

    code = "CLUSTER"
    says = "{cluster}: {problem}"

    cluster: str
    problem: str


@dataclass(eq=False)
class ClusterUnreachable(ClusterError):
    """No broker answers at the bootstrap addresses. Not a fault: Twinlog waits and continues by itself (R9)."""

    code = "CLUSTER_UNREACHABLE"
    says = "{cluster}: no broker answers: {problem}"
    remedy = "Check that the cluster runs and that its address is right; links that run keep trying."
    retriable = True

    def remedy_text(self) -> str:
        """Name the likely cause, where the problem shows one."""
        return likely_remedy(self.cluster, self.problem) or self.remedy


@dataclass(eq=False)
class BrokerAway(ClusterUnreachable):
    """One broker cannot be reached, or its connection broke. Never a fault of a partition (R9)."""

    code = "BROKER_AWAY"
    says = "{cluster}: {problem}"

    reason: str = ""  # the problem without the address

    @classmethod
    def at(cls, cluster: str, address: str, reason: str) -> BrokerAway:
        """The broker at this address."""
        return cls(cluster, f"{address}: {reason}", reason)


@dataclass(eq=False)
class TokenUnavailable(ClusterUnreachable):
    """The issuer gives no token, so Twinlog cannot log in. It waits, as for a broker (R9)."""

    code = "TOKEN_UNAVAILABLE"
    says = "{cluster}: no token: {problem}"
    remedy = "Check sasl.oauthbearer.token.endpoint.url, client id and secret; links that run keep trying."

    def remedy_text(self) -> str:
        """What to do about the token: the brokers were not asked."""
        return self.remedy


@dataclass(eq=False)
class LoginUnavailable(ClusterError):
    """The way to log in that the file asks for needs a library that is not installed here."""

    code = "LOGIN_UNAVAILABLE"
    says = "{cluster}: {problem}"
    remedy = (
        "Install Kerberos, then `pip install gssapi`, and `pip install --no-binary confluent-kafka confluent-kafka` "
        "against a librdkafka of that version that was built with libsasl2; or choose SCRAM, OAUTHBEARER or mutual TLS."
    )


@dataclass(eq=False)
class KerberosTaken(ClusterError):
    """A process has one Kerberos identity, and a link wants another."""

    code = "KERBEROS_TAKEN"
    says = "{cluster}: {problem}"
    remedy = "Run links with different Kerberos identities in services of their own, or give them one key tab."


@dataclass(eq=False)
class BrokerTooOld(ClusterError):
    """A broker has no topic ids: a mirror could not tell a topic from one that was created again."""

    code = "BROKER_TOO_OLD"
    says = "{cluster}: the broker at {problem} is older than Kafka {oldest}, the oldest version that Twinlog mirrors"
    remedy = "Upgrade the brokers of {cluster} to Kafka {oldest} or newer."

    oldest: str


@dataclass(eq=False)
class AccessDenied(ClusterError):
    """The cluster accepted the login and denied the request."""

    code = "ACCESS_DENIED"
    says = "{cluster}: access denied: {problem}"
    remedy = "Grant the right to Twinlog's principal on {cluster}, or correct its credentials."

    def remedy_text(self) -> str:
        """A refused login needs another password, not a right."""
        return likely_remedy(self.cluster, self.problem) or self.remedy.format(**self.facts())


@dataclass(eq=False)
class RecordsUnreadable(ClusterError):
    """A topic that MirrorMaker 2 or an application wrote holds records that are not in its format."""

    code = "RECORDS_UNREADABLE"
    says = "{cluster}: {problem}"
    remedy = "Look at the record with a console consumer; an answer without it might be wrong, so none is given."


@dataclass(eq=False)
class RegistryTopicUnsafe(ClusterError):
    """The topic of the schema registry is set up so that schemas are lost or read out of order."""

    code = "REGISTRY_TOPIC_UNSAFE"
    says = "{cluster}: {topic}: {problem}"
    remedy = (
        "Set cleanup.policy=compact on {topic} with kafka-configs, or name another topic with kafkastore.topic. "
        "kafkastore.topic.skip.validation = true starts all the same."
    )

    topic: str


@dataclass(eq=False)
class RegistryUnreachable(TwinlogError):
    """A schema registry does not answer."""

    code = "REGISTRY_UNREACHABLE"
    says = "{url}: the schema registry does not answer: {problem}"
    remedy = "Check the address, and whether the registry runs (`curl {url}/subjects`)."
    retriable = True

    url: str
    problem: str


@dataclass(eq=False)
class RegistryRefused(TwinlogError):
    """A schema registry refuses what a command asks of it."""

    code = "REGISTRY_REFUSED"
    says = "{url}: {order}: {answer}"
    remedy = "The answer says why. An import needs an empty registry in a mode that may be changed, or --force."

    url: str
    order: str
    answer: str


@dataclass(eq=False)
class LinkToItself(ClusterError):
    """Source and target are one cluster, and the names are the same: each topic would be copied onto itself."""

    code = "LINK_TO_ITSELF"
    says = "{cluster}: source and target are the same cluster (id {problem}), so topics would be copied onto themselves"
    remedy = "Correct the bootstrap.servers of one of the two; to copy within a cluster give the copies other names."


@dataclass(eq=False)
class LedgerOfOtherClusters(ClusterError):
    """The ledger on the target was written for another cluster of the same alias. Nothing was changed."""

    code = "LEDGER_OF_OTHER_CLUSTERS"
    says = "{cluster}: {alias} is the cluster with id {problem} here, but {ledger} on {target} belongs to id {noted}"
    remedy = (
        "If two deployments use one alias for different clusters, give one of the clusters another alias. If the "
        "cluster was replaced for good, delete the topic {ledger} on {target}: the link then starts by start.from, "
        "behind what is in the copies."
    )

    alias: str
    noted: str
    ledger: str
    target: str


@dataclass(eq=False)
class TopicNotKnownYet(ClusterError):
    """A broker's metadata is behind: it would answer that the topic does not exist."""

    code = "TOPIC_NOT_KNOWN_YET"
    says = "{cluster}: broker {node} does not know {problem} yet"
    remedy = "Nothing to do: Twinlog waits until all brokers know it."
    retriable = True

    node: int


@dataclass(eq=False)
class MirrorMakerRuns(ClusterError):
    """MirrorMaker 2 still copies what is to be taken over: two mirrors would write every record twice."""

    code = "MIRRORMAKER_RUNS"
    says = "{cluster}: MirrorMaker 2 still runs: {problem}"
    remedy = "Stop it; a killed one is forgotten within seconds. Twinlog waits and continues by itself."
    retriable = True


@dataclass(eq=False)
class ClusterRightMissing(AccessDenied):
    """The login is accepted, but one right on the cluster is missing."""

    code = "CLUSTER_RIGHT_MISSING"
    says = "{cluster}: {problem} is denied, {operation} on Cluster is needed"
    remedy = "Grant {operation} on Cluster to Twinlog's principal on {cluster}."

    operation: str


@dataclass(eq=False)
class BrokerRefused(ClusterError):
    """The protocol answered with an error code that has no better translation."""

    code = "BROKER_REFUSED"
    says = "{cluster}: the broker refused: {problem}"


@dataclass(eq=False)
class LogFenced(BrokerRefused):
    """Another process took over the right to write this log (R10)."""

    code = "LOG_FENCED"
    says = "{cluster}: {problem}: another process writes here now"
    remedy = "Nothing to do if another process took over on purpose; otherwise stop one of the two."


@dataclass(eq=False)
class TopicUnknown(BrokerRefused):
    """The topic or the partition asked about is not there (any more, or not yet)."""

    code = "TOPIC_UNKNOWN"
    says = "{cluster}: no such topic or partition: {problem}"


@dataclass(eq=False)
class GroupWithoutOffsets(ClusterError):
    """`start.from = group:NAME` names a group that has committed no offset."""

    code = "GROUP_WITHOUT_OFFSETS"
    says = "{cluster}: the group {problem} has no committed offsets, so the link cannot begin there"
    remedy = "Correct the name in `start.from = group:NAME`, or begin at `earliest`."


@dataclass(eq=False)
class LeaderMissing(BrokerRefused):
    """A partition has no leader at the moment, or its leader moved: after its creation, or after an election."""

    code = "LEADER_MISSING"
    says = "{cluster}: a partition has no leader just now: {problem}"
    remedy = "Ask again in a few seconds; if it stays so, look at the brokers that hold its replicas."
    retriable = True


@dataclass(eq=False)
class TopicNameInvalid(BrokerRefused):
    """No topic can have that name: too long, or a character that Kafka does not allow."""

    code = "TOPIC_NAME_INVALID"


@dataclass(eq=False)
class TopicExists(BrokerRefused):
    """The topic exists: another client created it first."""

    code = "TOPIC_EXISTS"


@dataclass(eq=False)
class PartitionsExist(BrokerRefused):
    """The topic has at least as many partitions as it was to grow to."""

    code = "PARTITIONS_EXIST"


@dataclass(eq=False)
class ConfigRefused(BrokerRefused):
    """The broker does not take a topic config: it does not know the name, or forbids the value."""

    code = "CONFIG_REFUSED"
    says = "{cluster}: the broker refused a topic config: {problem}"


@dataclass(eq=False)
class AuthorizerMissing(BrokerRefused):
    """The cluster has no authorizer: everybody may do everything, and there are no ACLs."""

    code = "AUTHORIZER_MISSING"
    says = "{cluster}: it has no authorizer: {problem}"
