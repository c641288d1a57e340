"""Telling a ledger where its link begins: at the cut of a switch instead of at the beginning of the logs.

Runs in the command that switches. A roster entry that the engine finds is taken as it is, so an entry with the right
topic ids and origins is all that is needed. Topics that the ledger knows already are left alone, unless told otherwise.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from twinlog.config.settings import LinkSettings
from twinlog.ledger.writer import roster_writer
from twinlog.model.ledger.records import RosterTopic
from twinlog.model.topics.target_topics import TopicFacts
from twinlog.recovery.context import SwitchContext
from twinlog.sync.link_topics import LinkTopics
from twinlog.wire.connection import Cluster


async def seed_ledger(
    ctx: SwitchContext, link: LinkSettings, origins: Mapping[str, Sequence[int]], *, anew: bool = False
) -> list[str]:
    """Let the link begin at these offsets, by source topic. Returns the topics that were seeded.

    `anew` replaces what the ledger knows of other incarnations of a topic; the present one is never touched.
    """
    source, target = ctx.admin(link.source), ctx.admin(link.target)
    await asyncio.to_thread(LinkTopics(link, source, target).ensure_ledger)
    view = await ctx.ledger(link)
    here = await asyncio.to_thread(source.describe_topics, origins)
    remotes = {topic: link.naming.remote(link.source, topic) for topic in origins}
    there = await asyncio.to_thread(target.describe_topics, remotes.values())
    entries: list[RosterTopic] = []
    for topic, offsets in origins.items():
        mine, copy = here[topic], there[remotes[topic]]
        if not isinstance(mine, TopicFacts) or not isinstance(copy, TopicFacts):
            continue  # the engine finds and names what is missing
        known = view.roster.get(topic)
        if known is not None and (not anew or (known.source_id, known.target_id) == (mine.topic_id, copy.topic_id)):
            continue
        carried = min(len(offsets), mine.partitions, copy.partitions)
        entries.append(
            RosterTopic(
                topic=topic,
                source_id=mine.topic_id,
                remote=remotes[topic],
                target_id=copy.topic_id,
                origins=list(offsets[:carried]),
            )
        )
    cluster = Cluster(link.clients.target_producer, f"twinlog|{link.name}|seeding")
    try:
        writer = roster_writer(cluster, link.source, link.name)
        for start in range(0, len(entries), 200):
            await writer.write(entries[start : start + 200])
    finally:
        await cluster.close()
    return [entry.topic for entry in entries]
