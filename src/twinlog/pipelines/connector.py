"""A connector's configuration, read: common keys of Connect, converters, errors, client overrides. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeVar

from twinlog.config.text.provided import NOTHING_PROVIDED, Provided
from twinlog.model.cron import Cron
from twinlog.model.pace import Limits
from twinlog.pipelines.chain import listed, under
from twinlog.pipelines.plugins import find
from twinlog.pipelines.run import Converters, ErrorSettings
from twinlog.pipelines.settings import Finding, Setting, SettingsRefused, read_settings, setting

T = TypeVar("T")

_RDKAFKA: Final = {
    # Java's names that librdkafka knows by the same name and meaning.
    "fetch.min.bytes", "fetch.max.bytes", "max.partition.fetch.bytes", "isolation.level", "client.id", "linger.ms",
    "compression.type", "client.rack", "acks", "max.in.flight.requests.per.connection",
}  # fmt: skip


@setting
class CommonSettings:
    """Keys that every connector has."""

    plugin: str = Setting("connector.class", "class of the connector")
    tasks: int = Setting("tasks.max", "at most so many tasks", 1, at_least=1)
    topics: tuple[str, ...] = Setting("topics", "topics of a sink", ())
    topics_regex: str = Setting("topics.regex", "topics of a sink, as a regular expression", "")
    run: str = Setting(
        "run", "continuous, or available: until everything that is there was handled", "continuous",
        choices=("continuous", "available"),
    )  # fmt: skip
    schedule: str = Setting(
        "schedule", "with run=available: when it runs, as cron says it, in UTC (30 2 * * *); empty: once, now", ""
    )
    records_per_second: int = Setting("limit.records.per.second", "most records a second; 0: no limit", 0, at_least=0)
    bytes_per_second: int = Setting("limit.bytes.per.second", "most bytes a second; 0: no limit", 0, at_least=0)
    poll_ms: int = Setting("poll.interval.ms", "pause of a source that found nothing new", 1000, at_least=1)
    rescan_ms: int = Setting(
        "rescan.ms", "how often new tables, files, topics and partitions are looked for", 30_000, at_least=1000
    )
    epoch_ms: int = Setting("epoch.ms", "longest time until the work is planned again", 600_000, at_least=1000)
    boundary: str = Setting(
        "transaction.boundary",
        "when a transaction ends",
        "interval",
        choices=("poll", "interval", "connector"),
    )
    boundary_ms: int = Setting("transaction.boundary.interval.ms", "longest transaction of a source", 200, at_least=1)
    idle_ms: int = Setting(
        "idle.ms",
        "a sink without a record for so long gives its processes back; -1: it keeps them",
        60_000,
        at_least=-1,
    )
    flush_ms: int = Setting(
        "flush.ms", "shortest pause between two flushes of a sink that is up to date; -1: as the sink needs it", -1,
        at_least=-1,
    )  # fmt: skip


@dataclass(frozen=True)
class Connector:
    """A connector whose config was checked."""

    name: str
    kind: Literal["source", "sink"]
    config: Mapping[str, str]
    common: CommonSettings
    errors: ErrorSettings
    converters: Converters
    provided: Provided = NOTHING_PROVIDED  # what of the config is never shown

    @property
    def group(self) -> str:
        """The group whose offsets show a sink's progress."""
        return self.config.get("consumer.override.group.id", f"connect-{self.name}")

    def overrides(self, client: Literal["consumer", "producer"]) -> dict[str, str | int | bool]:
        overridden = under(self.config, f"{client}.override.")
        return {key: value for key, value in overridden.items() if key in _RDKAFKA}

    @property
    def limits(self) -> Limits:
        return Limits(self.common.bytes_per_second, self.common.records_per_second)

    @property
    def cron(self) -> Cron | None:
        """When it runs; None: all the time, or once."""
        return Cron.parse(self.common.schedule) if self.common.schedule else None

    @property
    def start(self) -> str:
        return self.config.get("consumer.override.auto.offset.reset", "earliest")


def read_connector(
    name: str, config: Mapping[str, str], worker: Mapping[str, str], provided: Provided = NOTHING_PROVIDED
) -> Connector:
    """A connector of its configuration and the worker's defaults. Raises SettingsRefused with every error."""
    findings = _schedule_findings(config)
    common = _tried(lambda: read_settings(CommonSettings, config), findings)
    errors = _tried(lambda: read_settings(ErrorSettings, config), findings)
    named = config.get("connector.class")
    plugin = _tried(lambda: find(named, "source", "sink"), findings) if named else None
    if common is None or errors is None or plugin is None:
        raise SettingsRefused(findings)
    if plugin.kind == "sink" and bool(common.topics) == bool(common.topics_regex):
        findings.append(Finding("topics", "a sink needs exactly one of topics and topics.regex"))
    if errors.dead_letters and errors.dead_letters in common.topics:
        findings.append(Finding("errors.deadletterqueue.topic.name", "is one of the topics that the sink reads"))
    key, key_config = _converter("key.converter", config, worker)
    value, value_config = _converter("value.converter", config, worker)
    for name_of, it in (("key.converter", key), ("value.converter", value)):
        try:
            find(it, "converter")
        except SettingsRefused as error:
            findings += [Finding(name_of, finding.message) for finding in error.findings]
    if findings:
        raise SettingsRefused(findings)
    kind: Literal["source", "sink"] = "sink" if plugin.kind == "sink" else "source"
    converters = Converters(key, key_config, value, value_config)
    return Connector(name, kind, dict(config), common, errors, converters, provided)


def _tried(read: Callable[[], T], findings: list[Finding]) -> T | None:
    """What could be read; what could not is added to the findings."""
    try:
        return read()
    except SettingsRefused as error:
        findings += [replace(finding, key=finding.key or "connector.class") for finding in error.findings]
        return None


def _schedule_findings(config: Mapping[str, str]) -> list[Finding]:
    text = str(config.get("schedule", "")).strip()
    if not text:
        return []
    if str(config.get("run", "")).strip().lower() != "available":
        return [Finding("schedule", "needs run=available: a pipeline that never ends is not started again")]
    try:
        Cron.parse(text)
    except ValueError as error:
        return [Finding("schedule", f"{text!r}: {error}")]
    return []


def _converter(key: str, config: Mapping[str, str], worker: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """The connector's own converter with its own keys, or the worker's with the worker's keys."""
    chosen = config if config.get(key) else worker
    return chosen.get(key, "org.apache.kafka.connect.json.JsonConverter"), under(chosen, f"{key}.")


__all__ = ["CommonSettings", "Connector", "listed", "read_connector"]
