"""Whether the workers of a Connect cluster are alive: they are members of a group, as consumers are."""

from __future__ import annotations

from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from twinlog.config.settings import ClientSettings
from twinlog.kafka.client_options import client_options
from twinlog.kafka.foreign_errors import translated


def count_members(settings: ClientSettings, group: str) -> int:
    """How many members a group of any kind has now; none when it does not exist."""
    options: dict[str, Any] = dict(client_options(settings))
    timeout_s = settings.request_timeout_ms / 1000
    client = AdminClient(options)  # held until the answer: its requests end with it
    future = client.describe_consumer_groups([group], request_timeout=timeout_s)[group]
    try:
        return len(future.result(timeout_s + 5).members)
    except KafkaException as error:
        raise translated(settings.cluster, error.args[0]) from error
