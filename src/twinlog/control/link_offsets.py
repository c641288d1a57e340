"""Changing the offsets of a link: a topic may be copied again from its start, and nothing else.

An offset cannot be set to a number: the ledger holds what is on the target, and a number would make it lie. A topic
whose copy is gone can be forgotten, with a null offset for all its partitions.
"""

from __future__ import annotations

from collections.abc import Sequence

from twinlog.config.settings import LinkSettings
from twinlog.control.kind import Offset, OffsetsChange, Subject
from twinlog.errors import ConnectorRefused, UsageError


async def change_offsets(subject: Subject, link: LinkSettings, wanted: Sequence[Offset] | None) -> OffsetsChange | None:
    """Check what is wanted; None when it is as it was. Raises ConnectorRefused."""
    name = subject.name
    reached = {(topic, number): offset for topic, number, offset in await subject.runner.positions(link)}
    topics = sorted({topic for topic, _ in reached}) if wanted is None else _forgotten(name, wanted, reached)
    if not topics and wanted is not None:
        return None

    async def apply() -> None:
        if subject.runner.snapshot(link.name) is not None:
            raise ConnectorRefused(name, f"{name}: the link has not come to its end yet; ask again in a few seconds")
        for topic in topics:
            try:
                await subject.runner.forget(link, topic)
            except UsageError as error:
                raise ConnectorRefused(name, str(error)) from error

    return OffsetsChange("forget positions", None if wanted is None else topics, apply)


def _forgotten(name: str, wanted: Sequence[Offset], reached: dict[tuple[str, int], int]) -> list[str]:
    """The topics that are to be copied again."""
    forgotten: dict[str, set[int]] = {}
    for topic, number, offset in map(_wish, wanted):
        if (topic, number) not in reached:
            raise ConnectorRefused(name, f"{topic}-{number}: this connector has no such partition")
        if offset is None:
            forgotten.setdefault(topic, set()).add(number)
        elif offset != reached[topic, number] - 1:
            raise ConnectorRefused(
                name,
                f"{topic}-{number}: a position cannot be set to {offset}: the ledger holds what is on the target. With "
                "a null offset for every partition, and the copy deleted, the topic is copied again from its start.",
            )
    for topic, numbers in forgotten.items():
        if left := {number for known, number in reached if known == topic} - numbers:
            raise ConnectorRefused(
                name, f"{topic}: a topic is forgotten as a whole; {topic}-{min(left)} is missing here"
            )
    return sorted(forgotten)


def _wish(wish: Offset) -> tuple[str, int, int | None]:
    topic, number = wish.partition.get("topic"), wish.partition.get("partition")
    offset = None if wish.offset is None else wish.offset.get("offset")
    if (
        not isinstance(topic, str)
        or not isinstance(number, int)
        or (wish.offset is not None and not isinstance(offset, int))
    ):
        raise ConnectorRefused("offsets", 'Expected {"partition": {"topic", "partition"}, "offset": {"offset"}}')
    return topic, number, offset
