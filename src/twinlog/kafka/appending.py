"""One record appended to a topic, and where it lies. Blocking."""

from __future__ import annotations

from typing import Any, Final

from confluent_kafka import KafkaError, Message, Producer

from twinlog.config.settings import ClientSettings
from twinlog.errors import ClusterUnreachable
from twinlog.kafka.client_options import client_options
from twinlog.kafka.foreign_errors import translated

_WITHIN_S: Final = 30.0


def append_record(settings: ClientSettings, topic: str, key: bytes, value: bytes | None) -> int:
    """The offset of the record. Raises ClusterError.

    After a lost answer it may lie there twice, and the later offset is told. An idempotent client would need half a
    second for its producer id.
    """
    answers: list[tuple[KafkaError | None, Message]] = []
    options: dict[str, Any] = {
        **client_options(settings), "acks": "all", "partitioner": "murmur2_random", "linger.ms": 0,
    }  # fmt: skip
    producer = Producer(options)
    producer.produce(topic, value, key, on_delivery=lambda error, message: answers.append((error, message)))
    producer.flush(_WITHIN_S)
    if not answers:
        raise ClusterUnreachable(settings.cluster, f"{topic}: a record was not acknowledged within {_WITHIN_S:.0f} s")
    error, message = answers[0]
    if error is not None:
        raise translated(settings.cluster, error)
    return message.offset() or 0
