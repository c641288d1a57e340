"""Keys that converters with a schema registry have in common, and the names of subjects. Pure."""

from __future__ import annotations

from typing import Final

from twinlog.config.security.places import leads_to_path, leads_to_urls
from twinlog.config.security.secrets import Secret
from twinlog.pipelines.records import PlanRefused, Side
from twinlog.pipelines.settings import Setting, setting

_STRATEGY: Final = "io.confluent.kafka.serializers.subject."
TOPIC, RECORD, TOPIC_RECORD = "TopicNameStrategy", "RecordNameStrategy", "TopicRecordNameStrategy"


@setting
class RegistrySettings:
    """Keys of Confluent's converters."""

    urls: tuple[str, ...] = Setting(
        "schema.registry.url", "addresses of the schema registry, tried in turn", leads=leads_to_urls
    )
    credentials: str = Setting(
        "basic.auth.credentials.source", "where the login is", "URL", choices=("URL", "USER_INFO")
    )
    login: Secret = Setting(
        "basic.auth.user.info", "user:password", Secret(""), also=("schema.registry.basic.auth.user.info",)
    )
    register: bool = Setting("auto.register.schemas", "register schemas that are new", default=True)
    latest: bool = Setting("use.latest.version", "write with the newest schema of the subject", default=False)
    normalize: bool = Setting("normalize.schemas", "register schemas in their normal form", default=False)
    key_strategy: str = Setting("key.subject.name.strategy", "how subjects of keys are named", _STRATEGY + TOPIC)
    value_strategy: str = Setting("value.subject.name.strategy", "how subjects of values are named", _STRATEGY + TOPIC)
    keep_nulls: bool = Setting(
        "ignore.default.for.nullables", "a field without a value is null, and has not its default", default=False
    )
    timeout_ms: int = Setting("http.read.timeout.ms", "longest wait for an answer", 10_000, at_least=1)
    ca_file: str = Setting(
        "schema.registry.ssl.ca.location", "PEM file with the authorities of https addresses", "", leads=leads_to_path
    )
    cache: int = Setting("schemas.cache.config", "of no meaning here: all schemas of a topic are kept", 1000)


def subject(s: RegistrySettings, side: Side, topic: str, record: str | None) -> str:
    """The subject of one topic's keys or values. Raises PlanRefused."""
    strategy = (s.key_strategy if side == "key" else s.value_strategy).rpartition(".")[2]
    if strategy == TOPIC:
        return f"{topic}-{side}"
    if strategy not in {RECORD, TOPIC_RECORD}:
        raise PlanRefused(f"{side}.subject.name.strategy: {strategy} is not one of {TOPIC}, {RECORD}, {TOPIC_RECORD}")
    if record is None:
        raise PlanRefused(f"{strategy} needs a record with a name; {topic} has {side}s without one")
    return record if strategy == RECORD else f"{topic}-{record}"
