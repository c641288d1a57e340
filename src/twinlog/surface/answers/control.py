"""Orders to a running link, as faces take and show them: limits, topics first, pauses, and what they cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field

from twinlog.config.settings import LinkSettings
from twinlog.errors import SelectionEmpty, UsageError
from twinlog.model.health.catch_up import LimitCost, limit_cost, load_of
from twinlog.model.health.states import LinkStatus
from twinlog.model.javaregex import RegexError
from twinlog.model.ledger.control import Control, parse_schedule
from twinlog.model.ledger.records import RosterTopic
from twinlog.model.names import TopicPartition
from twinlog.model.selection import Patterns

if TYPE_CHECKING:
    from twinlog.ledger.view import LedgerView


class Place(BaseModel):
    """A topic of the source, or one partition of it."""

    model_config = ConfigDict(extra="forbid")

    topic: str = Field(min_length=1, max_length=249)
    partition: int | None = Field(None, ge=0, le=2**31 - 1, description="Absent: the whole topic.")


class ControlWish(BaseModel):
    """What is to change. A field that is absent stays as it is; null leaves it to the settings file."""

    model_config = ConfigDict(extra="forbid")

    bytes_per_second: int | None = Field(None, ge=0, le=2**53, description="0 is no limit.")
    records_per_second: int | None = Field(None, ge=0, le=2**53, description="0 is no limit.")
    schedule: str = Field("", max_length=2000, description="Limits by time of day (UTC): 22:00-06:00=none; …")
    first: list[str] | None = Field(None, max_length=100, description="Expressions over topics that are copied first.")
    pause: list[Place] = Field(default_factory=list, max_length=1000)
    resume: list[Place] = Field(default_factory=list, max_length=1000)
    dry_run: bool = Field(False, description="Only tell what it would cost.")

    def applied(self, link: str, now: Control, view: LedgerView) -> Control:
        """Return the order with the change. Raises UsageError or SelectionEmpty for what cannot be meant."""
        given = self.model_fields_set
        if "bytes_per_second" in given:
            now = replace(now, bytes_per_second=self.bytes_per_second)
        if "records_per_second" in given:
            now = replace(now, records_per_second=self.records_per_second)
        if "schedule" in given:
            try:
                now = replace(now, schedule=parse_schedule(self.schedule))
            except ValueError as error:
                raise UsageError(f"schedule: {error}") from None
        if "first" in given:
            now = replace(now, first=None if self.first is None else _known(link, self.first, view.roster))
        now = now.with_paused(*_chosen(link, self.pause, view.roster))
        return now.with_resumed(*_chosen(link, self.resume, view.roster))


class LimitsNow(BaseModel):
    """The limits of this moment; 0 is none."""

    bytes_per_second: float
    records_per_second: float


class CostAnswer(BaseModel):
    """What the order costs. Null is unknown, or never; `says` tells which."""

    left_records: int | None
    arriving_records_per_second: float | None
    caught_up_seconds: float | None
    caught_up_at_ms: int | None
    falls_behind_records_per_second: float | None
    says: str


class ControlAnswer(BaseModel):
    """What an operator ordered for a link, and what it comes to."""

    link: str
    bytes_per_second: int | None = Field(description="As ordered; null: the settings file decides.")
    records_per_second: int | None
    schedule: str
    first: list[str] | None
    paused: list[Place]
    by: str
    at_ms: int
    now: LimitsNow
    first_now: list[str]
    schedule_now: str
    cost: CostAnswer
    changed: bool = False


def control_answer(link: LinkSettings, control: Control, status: LinkStatus, *, changed: bool = False) -> ControlAnswer:
    """Render an order; `status` is the last look at the link."""
    of_file = link.reading.limits
    cost = order_cost(link, control, status)
    ordered = control.schedule or (control.bytes_per_second, control.records_per_second) != (None, None)
    body = control.body()
    return ControlAnswer(
        link=link.name,
        bytes_per_second=control.bytes_per_second,
        records_per_second=control.records_per_second,
        schedule=body["schedule"],
        first=body["first"],
        paused=[
            *(Place(topic=topic) for topic in sorted(control.topics)),
            *(Place(topic=partition.topic, partition=partition.partition) for partition in sorted(control.partitions)),
        ],
        by=control.by,
        at_ms=control.at_ms,
        now=LimitsNow(**cost.limits._asdict()),
        first_now=list(control.first_of(of_file).patterns),
        schedule_now="; ".join(map(str, control.schedule if ordered else of_file.schedule)),
        cost=CostAnswer(
            left_records=cost.load.left,
            arriving_records_per_second=cost.load.arriving_per_second,
            caught_up_seconds=cost.caught_up_s,
            caught_up_at_ms=None if cost.caught_up_s is None else status.now_ms + int(cost.caught_up_s * 1000),
            falls_behind_records_per_second=cost.falls_behind_per_second,
            says=cost.says,
        ),
        changed=changed,
    )


def order_cost(link: LinkSettings, control: Control, status: LinkStatus) -> LimitCost:
    """What an order costs, by the last look at the link. The load is that of the order in force."""
    of_file = link.reading.limits
    held = status.control.limits_at(status.now_ms, of_file)
    return limit_cost(control, of_file, load_of(status.exposure, status.records_per_second, held), status.now_ms)


def _known(link: str, patterns: Iterable[str], roster: Mapping[str, RosterTopic]) -> tuple[str, ...]:
    """Check expressions over topics; each must match a topic that is mirrored."""
    cleaned = tuple(pattern.strip() for pattern in patterns)
    for pattern in cleaned:
        try:
            hits = any(map(Patterns((pattern,)).matches, roster))
        except RegexError as error:
            raise UsageError(f"{pattern}: it has {error}") from None
        if not hits:
            raise _nothing(link, pattern, roster)
    return cleaned


def _chosen(
    link: str, places: Iterable[Place], roster: Mapping[str, RosterTopic]
) -> tuple[list[str], list[TopicPartition]]:
    """Check topics and partitions against those that are mirrored."""
    topics: list[str] = []
    partitions: list[TopicPartition] = []
    for place in places:
        known = roster.get(place.topic)
        if known is None:
            raise _nothing(link, place.topic, roster)
        if place.partition is None:
            topics.append(place.topic)
        elif place.partition >= known.partitions:
            raise UsageError(f"{place.topic}: it has {known.partitions} partitions; there is no {place.partition}")
        else:
            partitions.append(TopicPartition(place.topic, place.partition))
    return topics, partitions


def _nothing(link: str, asked: str, roster: Mapping[str, RosterTopic]) -> SelectionEmpty:
    near = f"it mirrors: {', '.join(sorted(roster)[:10]) or 'none yet'}"
    return SelectionEmpty(asked, f"the topics that {link} mirrors", near)
