"""confluent-kafka's errors as ours: the one place where its codes are judged. Runs with every ordinary client."""

from __future__ import annotations

import re

from confluent_kafka import KafkaError

from twinlog.errors import (
    AccessDenied,
    AuthorizerMissing,
    BrokerRefused,
    ClusterError,
    ClusterUnreachable,
    ConfigRefused,
    LeaderMissing,
    PartitionsExist,
    TokenUnavailable,
    TopicExists,
    TopicNameInvalid,
    TopicUnknown,
)

# librdkafka has no code of its own for this.
_NO_TOKEN = "Failed to acquire SASL OAUTHBEARER token: "  # noqa: S105
# "HOST:PORT/bootstrap: Connect to ipv4#ADDRESS failed: REASON (after 0ms in state CONNECT)"
_CONNECT_FAILED = re.compile(r"(?:\w+://)?([^/]+)/\w+: Connect to \S+ failed: (.+?)(?: \(after .*)?")
# "ssl://HOST:PORT/bootstrap: SSL handshake failed: error:0A000086:SSL routines::REASON (after 8ms in state ...)"
_HANDSHAKE_FAILED = re.compile(
    r"(?:\w+://)?([^/]+)/\w+: SSL handshake failed: (?:error:\w+:SSL routines::)?(.+?)(?:, verify that .*| \(after .*)?"
)
# "sasl_ssl://HOST:PORT/bootstrap: SASL authentication error: REASON (after 378ms in state AUTH_REQ)"
_ABOUT_A_BROKER = re.compile(r"\w+://([^/]+)/\w+: (?:SASL authentication error: )?(.+?)(?: \(after \d+ms in state .*)?")
_NO_CONTROLLER = "Failed while waiting for controller: Local: Timed out"
_MEANS: dict[int, type[ClusterError]] = {
    # Nobody answers, or the answer did not arrive in time.
    KafkaError._TRANSPORT: ClusterUnreachable,  # noqa: SLF001 (librdkafka's own codes are spelled with an underscore)
    KafkaError._ALL_BROKERS_DOWN: ClusterUnreachable,  # noqa: SLF001
    KafkaError._TIMED_OUT: ClusterUnreachable,  # noqa: SLF001
    KafkaError._TIMED_OUT_QUEUE: ClusterUnreachable,  # noqa: SLF001
    KafkaError._RESOLVE: ClusterUnreachable,  # noqa: SLF001
    KafkaError._SSL: ClusterUnreachable,  # noqa: SLF001
    KafkaError.REQUEST_TIMED_OUT: ClusterUnreachable,
    KafkaError.NETWORK_EXCEPTION: ClusterUnreachable,
    KafkaError.BROKER_NOT_AVAILABLE: ClusterUnreachable,
    KafkaError.NOT_CONTROLLER: ClusterUnreachable,
    # It knows us and says no.
    KafkaError._AUTHENTICATION: AccessDenied,  # noqa: SLF001
    KafkaError.SASL_AUTHENTICATION_FAILED: AccessDenied,
    KafkaError.UNSUPPORTED_SASL_MECHANISM: AccessDenied,
    KafkaError.ILLEGAL_SASL_STATE: AccessDenied,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: AccessDenied,
    KafkaError.TOPIC_AUTHORIZATION_FAILED: AccessDenied,
    KafkaError.GROUP_AUTHORIZATION_FAILED: AccessDenied,
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: AccessDenied,
    # Answers that callers act on.
    KafkaError.UNKNOWN_TOPIC_OR_PART: TopicUnknown,
    KafkaError._UNKNOWN_TOPIC: TopicUnknown,  # noqa: SLF001
    KafkaError._UNKNOWN_PARTITION: TopicUnknown,  # noqa: SLF001
    KafkaError.UNKNOWN_TOPIC_ID: TopicUnknown,
    KafkaError.LEADER_NOT_AVAILABLE: LeaderMissing,
    KafkaError.NOT_LEADER_FOR_PARTITION: LeaderMissing,
    KafkaError.FENCED_LEADER_EPOCH: LeaderMissing,
    KafkaError.UNKNOWN_LEADER_EPOCH: LeaderMissing,
    KafkaError.OFFSET_NOT_AVAILABLE: LeaderMissing,
    KafkaError.TOPIC_EXCEPTION: TopicNameInvalid,
    KafkaError.TOPIC_ALREADY_EXISTS: TopicExists,
    KafkaError.INVALID_PARTITIONS: PartitionsExist,
    KafkaError.INVALID_CONFIG: ConfigRefused,
    KafkaError.SECURITY_DISABLED: AuthorizerMissing,
}


def translated(cluster: str, error: KafkaError, cause: KafkaError | None = None) -> ClusterError:
    """Return our error for `error`. `cause` is the last thing the client's background threads complained about.

    librdkafka answers a call to a cluster that refuses the password with "timed out": the true cause (R14) arrives
    apart, so a time-out takes meaning and sentence from `cause`.
    """
    meaning = _meaning(error, BrokerRefused)
    if meaning is ClusterUnreachable and cause is not None:
        return _meaning(cause, ClusterUnreachable)(cluster, _plain(cause))
    if meaning is BrokerRefused:
        return BrokerRefused(cluster, f"{error.name()}: {error.str()}")
    return meaning(cluster, _plain(error))


def denies_access(error: KafkaError) -> bool:
    """Tell whether waiting is in vain: the cluster rejects who we are, or we cannot say who we are."""
    return _meaning(error, BrokerRefused) in {AccessDenied, TokenUnavailable}


def lacks_token(error: KafkaError) -> bool:
    """Tell whether the client complains that the token endpoint gave it nothing."""
    return error.str().startswith(_NO_TOKEN)


def _meaning(error: KafkaError, otherwise: type[ClusterError]) -> type[ClusterError]:
    return TokenUnavailable if lacks_token(error) else _MEANS.get(error.code(), otherwise)


def _plain(error: KafkaError) -> str:
    """Say it as the wire room says it, without the library's own state."""
    text = error.str().removeprefix(_NO_TOKEN)
    failed = _CONNECT_FAILED.fullmatch(text)
    if failed:
        return f"{failed[1]}: {failed[2].lower()}"
    handshake = _HANDSHAKE_FAILED.fullmatch(text)
    if handshake:
        return f"{handshake[1]}: TLS handshake failed: {handshake[2]}"
    if text == _NO_CONTROLLER:
        return "no answer in time"
    about = _ABOUT_A_BROKER.fullmatch(text)
    return f"{about[1]}: {about[2]}" if about else text
