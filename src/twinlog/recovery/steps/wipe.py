"""The step of a full failback that deletes what is left on the old primary."""

from __future__ import annotations

import asyncio

from twinlog.errors import SwitchStopped, TopicUnknown
from twinlog.model.counted import counted
from twinlog.model.ledger.records import ledger_topic
from twinlog.model.switch.facts import FenceNote, Wiped
from twinlog.model.topics.target_topics import TopicFacts
from twinlog.recovery.context import StepResult, SwitchContext
from twinlog.recovery.side_fences import source_fence
from twinlog.recovery.topics import merged_topics, source_topics


async def wipe(ctx: SwitchContext) -> StepResult:
    """Delete the mirrored topics and the ledger of the way back: its history is about logs that are gone."""
    topics = [topic for topic in await source_topics(ctx) if topic not in merged_topics(ctx)]
    doomed = [*topics, ledger_topic(ctx.back.source)]
    for name, refusal in (await asyncio.to_thread(ctx.source.delete_topics, doomed)).items():
        if refusal is not None and not isinstance(refusal, TopicUnknown):
            raise SwitchStopped(ctx.link.name, "wipe", f"{name} could not be deleted: {refusal}")

    async def there() -> list[str]:
        topics = await asyncio.to_thread(ctx.source.describe_topics, doomed)
        return [name for name, answer in topics.items() if isinstance(answer, TopicFacts)]

    await ctx.wait("wipe", "topics that are still there", there, lambda names: not names)
    # New topics know nothing of the fence by config; one by ACL holds for their names and must let the link in.
    fence = await source_fence(ctx)
    if fence.means == "acl":
        await fence.admit_link(topics, ctx.noted(ctx.link.source) or FenceNote())
    else:
        await ctx.journal.note_lifted(ctx.link.source)
    return StepResult(f"{counted(len(topics), 'topic')} of {ctx.link.source} deleted", Wiped(deleted=tuple(topics)))
