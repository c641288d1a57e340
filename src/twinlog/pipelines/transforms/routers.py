"""RegexRouter, TimestampRouter and Filter: where a record goes, and whether it is kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pyspark.sql import functions as F

from twinlog.pipelines.records import RecordColumns
from twinlog.pipelines.settings import Finding, Setting, SettingsRefused, read_settings, setting
from twinlog.pipelines.transforms.java_text import java_pattern, java_replacement
from twinlog.pipelines.transforms.sides import KAFKA


@setting
class RegexRouterSettings:
    """Keys of RegexRouter."""

    regex: str = Setting("regex", "must match the whole name of the topic")
    replacement: str = Setting("replacement", "the new name; $1 is the first group")


class RegexRouter:
    """Another topic for records whose topic matches. The names are worked out once, not for each record."""

    also = (f"{KAFKA}.RegexRouter",)
    settings = RegexRouterSettings
    sides = ()

    def __init__(self, config: Mapping[str, str]) -> None:
        s = read_settings(RegexRouterSettings, config)
        try:
            self.regex, self.replacement = java_pattern(s.regex), java_replacement(s.replacement)
        except ValueError as error:
            raise SettingsRefused([Finding("regex", str(error))]) from error

    def routed(self, topic: str) -> str:
        return self.regex.sub(self.replacement, topic, count=1) if self.regex.fullmatch(topic) else topic

    def apply(self, record: RecordColumns) -> RecordColumns:
        routes = {topic: self.routed(topic) for topic in record.topics}
        moved = {old: new for old, new in routes.items() if old != new}
        if not moved:
            return record
        choice = None
        for old, new in moved.items():
            condition = record.topic == old
            choice = F.when(condition, F.lit(new)) if choice is None else choice.when(condition, F.lit(new))
        after = record.topic if choice is None else choice.otherwise(record.topic)
        return replace(record, topic=after, topics=tuple(dict.fromkeys(routes.values())))


@setting
class TimestampRouterSettings:
    """Keys of TimestampRouter."""

    topic: str = Setting("topic.format", "the new name", "${topic}-${timestamp}")
    timestamp: str = Setting("timestamp.format", "letters of SimpleDateFormat", "yyyyMMdd")


class TimestampRouter:
    """The time of a record as part of its topic's name, in UTC."""

    also = (f"{KAFKA}.TimestampRouter",)
    settings = TimestampRouterSettings
    sides = ()

    def __init__(self, config: Mapping[str, str]) -> None:
        self.s = read_settings(TimestampRouterSettings, config)

    def apply(self, record: RecordColumns) -> RecordColumns:
        missing = F.isnull(record.timestamp) & F.isnotnull(record.topic)
        record = record.refused_when(missing, "Timestamp missing on record: ")
        shown = F.date_format(F.timestamp_millis(record.timestamp), self.s.timestamp)
        name = F.replace(F.lit(self.s.topic), F.lit("${topic}"), record.topic)
        return replace(record, topic=F.coalesce(F.replace(name, F.lit("${timestamp}"), shown), record.topic))


class Filter:
    """Leaves a record out. Meant for use with a predicate."""

    also = (f"{KAFKA}.Filter",)
    sides = ()

    def __init__(self, config: Mapping[str, str]) -> None:
        self.config = config

    def apply(self, record: RecordColumns) -> RecordColumns:
        return replace(record, drop=F.lit(True))
