"""Whether librdkafka, as it was built here, can log in the way that the settings ask for. Nothing is sent."""

from __future__ import annotations

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from twinlog.config.settings import ClientSettings
from twinlog.errors import LoginUnavailable
from twinlog.kafka.client_options import NO_KINIT


def see_provider(settings: ClientSettings) -> None:
    """Ask a client that knows no broker. Raises LoginUnavailable with what the library says."""
    options: dict[str, str | int | float | bool] = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": str(settings.security.sasl_mechanism),
        **NO_KINIT,
        "log_level": 0,
    }
    try:
        AdminClient(options)
    except KafkaException as error:
        raise LoginUnavailable(settings.cluster, error.args[0].str()) from error
