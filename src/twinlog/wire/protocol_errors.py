"""Kafka's error codes: what they are called and what they mean for a mirror. The one place where they are judged."""

from __future__ import annotations

from typing import Final

from aiokafka.errors import for_code

NONE: Final = 0
OFFSET_OUT_OF_RANGE: Final = 1
CORRUPT_MESSAGE: Final = 2
UNKNOWN_TOPIC_OR_PARTITION: Final = 3
LEADER_NOT_AVAILABLE: Final = 5
NOT_LEADER: Final = 6
REQUEST_TIMED_OUT: Final = 7
MESSAGE_TOO_LARGE: Final = 10
COORDINATOR_LOADING: Final = 14
COORDINATOR_NOT_AVAILABLE: Final = 15
NOT_COORDINATOR: Final = 16
INVALID_RECORD_LIST: Final = 18
UNKNOWN_MEMBER_ID: Final = 25
TOPIC_AUTHORIZATION_FAILED: Final = 29
GROUP_AUTHORIZATION_FAILED: Final = 30
CLUSTER_AUTHORIZATION_FAILED: Final = 31
INVALID_TIMESTAMP: Final = 32
OUT_OF_ORDER_SEQUENCE: Final = 45
DUPLICATE_SEQUENCE: Final = 46
INVALID_PRODUCER_EPOCH: Final = 47
CONCURRENT_TRANSACTIONS: Final = 51
TRANSACTIONAL_ID_AUTHORIZATION_FAILED: Final = 53
SECURITY_DISABLED: Final = 54
OPERATION_NOT_ATTEMPTED: Final = 55
UNKNOWN_PRODUCER_ID: Final = 59
GROUP_ID_NOT_FOUND: Final = 69
FETCH_SESSION_NOT_FOUND: Final = 70
INVALID_FETCH_SESSION_EPOCH: Final = 71
INVALID_RECORD: Final = 87
PRODUCER_FENCED: Final = 90
UNKNOWN_TOPIC_ID: Final = 100
INCONSISTENT_TOPIC_ID: Final = 103
FETCH_SESSION_TOPIC_ID_ERROR: Final = 106

SESSION_LOST: Final = frozenset({FETCH_SESSION_NOT_FOUND, INVALID_FETCH_SESSION_EPOCH, FETCH_SESSION_TOPIC_ID_ERROR})
FENCED: Final = frozenset({INVALID_PRODUCER_EPOCH, PRODUCER_FENCED})

# Waiting, or asking another broker, mends these: leaders move, brokers restart, replicas fall behind (R9).
PASSING: Final = frozenset(
    {
        LEADER_NOT_AVAILABLE,
        NOT_LEADER,
        REQUEST_TIMED_OUT,
        8,  # broker not available
        9,  # replica not available
        13,  # network exception
        COORDINATOR_LOADING,
        COORDINATOR_NOT_AVAILABLE,
        NOT_COORDINATOR,
        19,  # not enough replicas
        20,  # not enough replicas after append
        CONCURRENT_TRANSACTIONS,
        56,  # storage error: the disk of one replica is gone, another may lead
        72,  # listener not found
        74,  # fenced leader epoch
        75,  # unknown leader epoch
        78,  # offset not available
        82,  # fenced instance
        89,  # throttling quota exceeded
    }
)


def name_of(code: int) -> str:
    """Kafka's own name of an error code, e.g. `MESSAGE_TOO_LARGE`, and the number."""
    error = for_code(code)
    return f"{getattr(error, 'message', None) or error.__name__} ({code})"
