"""What commands and faces ask about a link, from anywhere: nothing here needs Spark, an engine or a service."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Final

from twinlog.config.settings import LinkSettings
from twinlog.errors import ClusterError, UsageError
from twinlog.kafka.admin import ClusterAdmin, TopicOrder
from twinlog.ledger.reading import look_at_ledger
from twinlog.ledger.view import LedgerView
from twinlog.model.health.states import LinkStatus
from twinlog.model.ledger.records import Engine as EngineEntry
from twinlog.model.names import TopicPartition
from twinlog.model.wanted import Wanted
from twinlog.sync.ends import LinkEnds

if TYPE_CHECKING:
    from twinlog.doctor.answers import Diagnosis
    from twinlog.model.topics.link_diff import LinkDiff
    from twinlog.sync.answers.explain import GroupExplanation, TopicExplanation
    from twinlog.sync.answers.explain_map import MapListing
    from twinlog.sync.answers.group_report import Answer, GroupReport
    from twinlog.sync.answers.offset_reset import OffsetResets
    from twinlog.sync.answers.record_pair import RecordPair
    from twinlog.sync.answers.takeover_preview import TakeoverPreview
    from twinlog.watch.observe import Observer

_LOOK_AGAIN_S: Final = 1.0
_SOURCE_WITHIN_MS: Final = 4_000
"""A line that drops packets refuses nothing: only time tells that the source is away."""


def observer(link: LinkSettings) -> Observer:
    """Eyes on a link, from anywhere. Who asks for status waits a few seconds for the source, no longer."""
    from twinlog.watch.observe import Observer

    timeout_ms = min(link.clients.source_admin.request_timeout_ms, _SOURCE_WITHIN_MS)
    admin = ClusterAdmin(link.clients.source_admin.model_copy(update={"request_timeout_ms": timeout_ms}))
    committed = link.reading.fetch.isolation == "read_committed"
    return Observer(
        link,
        lambda wanted: admin.fetch_end_offsets(wanted, committed=committed),
        admin.fetch_end_offsets if committed else None,
        admin.fetch_cluster_id,
    )


def looking(link: LinkSettings) -> Callable[[], Awaitable[tuple[LinkStatus, LedgerView]]]:
    """Look at a link and into its ledger, again and again."""
    observers = observer(link)

    async def look() -> tuple[LinkStatus, LedgerView]:
        return await observers.look(), observers.view

    return look


async def living_engine(link: LinkSettings, service: str) -> EngineEntry | None:
    """The engine of somebody else that runs a link now. Waits up to 20 s where it is in doubt whether it lives.

    None when the target does not answer: an engine asks again before it signs in.
    """
    from twinlog.engine.rivals import Rival, has_ended, is_own

    rival: Rival | None = None
    while True:
        try:
            view = await look_at_ledger(link.clients.target_consumer, link.source, part="roster")
        except ClusterError:
            return None
        there = view.engine if view is not None else None
        if there is None or is_own(there, service) or has_ended(there):
            return None
        if rival is None:
            rival = Rival(there)
        elif rival.hear(there):
            return there
        if rival.gone:
            return None
        await asyncio.sleep(_LOOK_AGAIN_S)


async def group_report(link: LinkSettings, wanted: Callable[[str], bool]) -> GroupReport:
    """How the consumer groups of a link stand on both sides."""
    from twinlog.sync.answers.group_report import report_groups

    return await report_groups(LinkEnds.of(link), wanted)


async def translate_position(link: LinkSettings, asked: TopicPartition, offset: int, *, reverse: bool) -> Answer:
    """One position on the other side of a link."""
    from twinlog.sync.answers.group_report import translate

    return await translate(LinkEnds.of(link), asked, offset, reverse=reverse)


async def link_differences(link: LinkSettings, wanted: Wanted) -> LinkDiff:
    """What is not the same on both ends of a link."""
    from twinlog.sync.answers.link_diff import differences

    return await differences(LinkEnds.of(link), wanted)


async def prepare_writers_topics(
    link: LinkSettings, *, dry_run: bool
) -> tuple[list[TopicOrder], dict[str, ClusterError | None]]:
    """Create on the target what producers look for after a failover; what would be made, and what was refused."""
    from twinlog.sync.writers_topics import create_for_writers, orders_for_writers

    ends = LinkEnds.of(link)
    orders = await orders_for_writers(ends)
    return orders, {} if dry_run else await asyncio.to_thread(create_for_writers, ends, orders)


async def topic_explanation(link: LinkSettings, topic: str) -> TopicExplanation:
    """Whether and why a link mirrors a topic."""
    from twinlog.sync.answers.explain import explain_topic

    return await explain_topic(LinkEnds.of(link), topic)


async def record_pair(link: LinkSettings, place: TopicPartition, offset: int) -> RecordPair:
    """One record of a link, and its copy."""
    from twinlog.sync.answers.record_pair import fetch_record_pair

    return await fetch_record_pair(LinkEnds.of(link), place, offset)


async def map_listing(link: LinkSettings, asked: TopicPartition, first: int, limit: int) -> MapListing:
    """The offset map of one partition, row by row."""
    from twinlog.sync.answers.explain_map import list_map

    return await list_map(LinkEnds.of(link), asked, first, limit)


async def group_explanation(link: LinkSettings, group: str) -> GroupExplanation:
    """Whether and why a link translates a group's positions."""
    from twinlog.sync.answers.explain import explain_group

    return await explain_group(LinkEnds.of(link), group)


async def takeover_preview(link: LinkSettings, *, offsets_topic: str | None, connector: str | None) -> TakeoverPreview:
    """Where a link would continue behind MirrorMaker 2."""
    from twinlog.sync.answers.takeover_preview import preview_takeover

    return await preview_takeover(LinkEnds.of(link), offsets_topic=offsets_topic, connector=connector)


async def examine_link(link: LinkSettings, *, of_file: Sequence[LinkSettings] = ()) -> list[Diagnosis]:
    """Ask both clusters everything that a disaster would test, and judge it. `of_file` are all links of its file."""
    from twinlog.doctor.gather import gather
    from twinlog.doctor.registry import examine

    back = f"{link.target}->{link.source}" in {settings.name for settings in of_file} if of_file else None
    return examine(await gather(link, looking(link), back_enabled=back))


def offset_resets(links: Sequence[LinkSettings], cluster: str) -> OffsetResets:
    """The consumer groups of one cluster of the file, by its alias."""
    from twinlog.sync.answers.offset_reset import OffsetResets

    admins = {link.target: link.clients.target_admin for link in links} | {
        link.source: link.clients.source_admin for link in links
    }
    if cluster not in admins:
        raise UsageError(f"{cluster}: no enabled link has that cluster; there are {', '.join(sorted(admins))}")
    return OffsetResets(admins[cluster], ClusterAdmin(admins[cluster]))
