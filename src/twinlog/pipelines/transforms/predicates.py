"""Kafka's predicates: HasHeaderKey, RecordIsTombstone, TopicNameMatches."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column
from pyspark.sql import functions as F

from twinlog.model.javaregex import compile_java
from twinlog.pipelines.records import RecordColumns
from twinlog.pipelines.settings import Finding, Setting, SettingsRefused, read_settings, setting
from twinlog.pipelines.transforms.sides import KAFKA


@setting
class HasHeaderKeySettings:
    """Keys of HasHeaderKey."""

    name: str = Setting("name", "name of a header")


class HasHeaderKey:
    """True for records with at least one header of a name."""

    also = (f"{KAFKA}.predicates.HasHeaderKey",)
    settings = HasHeaderKeySettings

    def __init__(self, config: Mapping[str, str]) -> None:
        self.name = read_settings(HasHeaderKeySettings, config).name

    def test(self, record: RecordColumns) -> Column:
        there = F.exists(record.headers, lambda header: header.getField("key") == self.name)
        return F.coalesce(there, F.lit(False))


class RecordIsTombstone:
    """True for records without a value."""

    also = (f"{KAFKA}.predicates.RecordIsTombstone",)

    def __init__(self, config: Mapping[str, str]) -> None:
        self.config = config

    def test(self, record: RecordColumns) -> Column:
        if record.value_shape.unread:
            return F.isnull(record.value) | (record.value.cast("string") == "null")
        return F.isnull(record.value)


@setting
class TopicNameMatchesSettings:
    """Keys of TopicNameMatches."""

    pattern: str = Setting("pattern", "regular expression of Java; must match the whole name")


class TopicNameMatches:
    """True for records whose topic matches. Worked out once for each topic."""

    also = (f"{KAFKA}.predicates.TopicNameMatches",)
    settings = TopicNameMatchesSettings

    def __init__(self, config: Mapping[str, str]) -> None:
        self.text = read_settings(TopicNameMatchesSettings, config).pattern
        try:
            self.pattern = compile_java(self.text)
        except ValueError as error:
            raise SettingsRefused([Finding("pattern", str(error))]) from error

    def known(self, record: RecordColumns) -> bool | None:
        """The answer when it is the same for all topics of the records."""
        answers = {self.pattern.fullmatch(topic) is not None for topic in record.topics}
        return answers.pop() if len(answers) == 1 else None

    def test(self, record: RecordColumns) -> Column:
        if not record.topics:  # a link: topics come while it runs
            return F.coalesce(record.topic.rlike(f"\\A(?:{self.text})\\z"), F.lit(False))
        return F.coalesce(
            record.topic.isin(*[topic for topic in record.topics if self.pattern.fullmatch(topic)]), F.lit(False)
        )
