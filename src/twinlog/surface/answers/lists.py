"""Lists a page at a time: topics, partitions, groups and events of the links that somebody may see."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from twinlog.model.health.event_log import before_id
from twinlog.surface.answers.history import EventLine, line
from twinlog.surface.answers.rows import RESTS, GroupRow, PartitionRow, TopicRow, group_of, partition_of, topics_of
from twinlog.surface.answers.tables import Part, Wish, part_of
from twinlog.surface.http.app_state import AppState

TOPIC_SORTS = ("topic", "partitions", "lag_records", "rpo_seconds", "records", "bytes", "state", "faults", "skipped")
PARTITION_SORTS = ("topic", "partition", "lag", "records", "bytes", "state", "source_next", "source_end", "target_next")
GROUP_SORTS = ("group", "topic", "partition", "source_offset", "target_offset", "re_read", "movement", "translation")


def topic_part(app_state: AppState, link: str, wish: Wish) -> Part[TopicRow]:
    """A page of topics."""
    return part_of(topics_of(app_state.snapshot(link)), wish, lambda row: row.topic, lambda row: row.state, TOPIC_SORTS)


def partition_part(app_state: AppState, link: str, wish: Wish, topic: str | None) -> Part[PartitionRow]:
    """A page of partitions."""
    snapshot = app_state.snapshot(link)
    partitions = snapshot.status.partitions if snapshot.status else ()
    rests = snapshot.status is not None and snapshot.status.rests
    rows = [
        partition_of(part, RESTS if rests else snapshot.movements.get(part.partition, "OK"))
        for part in partitions
        if topic is None or part.partition.topic == topic
    ]
    return part_of(rows, wish, lambda row: f"{row.topic}-{row.partition}", lambda row: row.state or "", PARTITION_SORTS)


def group_part(app_state: AppState, link: str, wish: Wish) -> Part[GroupRow]:
    """A page of positions of groups, of topics that the link mirrors."""
    snapshot = app_state.snapshot(link)
    standings = snapshot.groups.standings if snapshot.groups else ()
    rests = snapshot.status is not None and snapshot.status.rests
    rows = [
        group_of(standing, RESTS if rests else snapshot.group_movements.get(standing.group, "OK"))
        for standing in sorted(standings, key=lambda each: (each.group, each.source))
        if standing.remote is not None
    ]
    return part_of(rows, wish, lambda row: row.group, lambda row: row.movement or "", GROUP_SORTS)


class EventWish(BaseModel):
    """Which events are wanted."""

    link: str = Field("", max_length=500)
    level: Literal["", "good", "info", "warning", "bad"] = ""
    limit: int = Field(200, ge=1, le=1000)
    before: str = Field("", pattern=r"^(\d{1,15}-[0-9a-f]{8})?$", description="The `id` of the last event seen.")


def events_of(app_state: AppState, wish: EventWish) -> list[EventLine]:
    """What happened to the links in the last week, newest first."""
    newest = [
        event
        for event in before_id(sorted(app_state.events(), key=lambda event: event.at_ms)[::-1], wish.before)
        if wish.link in {"", event.link} and wish.level in {"", event.level}
    ]
    return [line(event) for event in newest[: wish.limit]]
