"""Names of a partition, a link, a position. Pure and picklable; used wherever Twinlog runs."""

from __future__ import annotations

from typing import NamedTuple, NewType

NextOffset = NewType("NextOffset", int)
"""The position to read (or write) next: one more than the last offset that is done."""


class TopicPartition(NamedTuple):
    """One partition of one topic, in the name that the cluster at hand gives it."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"

    @classmethod
    def parse(cls, text: str) -> TopicPartition:
        """Read `orders-eu-3`: the last dash separates, because a topic name may contain dashes itself."""
        topic, dash, number = text.rpartition("-")
        if not (dash and topic and number.isdecimal()):
            msg = f"{text!r} is not a topic-partition"
            raise ValueError(msg)
        return cls(topic, int(number))


class LinkName(NamedTuple):
    """A link by its two ends: what is written as `A->B` in the settings, the logs and the status."""

    source: str
    target: str

    def __str__(self) -> str:
        return f"{self.source}->{self.target}"

    @classmethod
    def parse(cls, text: str) -> LinkName:
        """Read `A->B`."""
        source, arrow, target = (part.strip() for part in text.partition("->"))
        if not (arrow and source and target):
            msg = f"{text!r} is not a link name; expected source->target"
            raise ValueError(msg)
        return cls(source, target)
