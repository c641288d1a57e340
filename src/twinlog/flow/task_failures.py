"""Why a task failed, written to the ledger: Spark starts it again at once and reports nothing (R14).

The reader or writer that fails leaves a memo and pauses, longer with each attempt, so that a lasting cause burns no
producer epochs in a loop. The engine reads the memos and reports the newest as its trouble, until it is not renewed.
"""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass, field
from typing import Final

from twinlog.config.settings import LinkSettings
from twinlog.errors import ClusterError, OwnershipLost, told
from twinlog.ledger.writer import roster_writer
from twinlog.model.backoff import Backoff
from twinlog.model.ledger.records import Memo
from twinlog.wire.connection import Cluster

log = logging.getLogger("twinlog.task")

TASK_FAILURES: Final = "task-failures"
NO_MEMORY: Final = "a Python worker has no memory left"
_TELL_S: Final = 3.0
_BACKOFF: Final = Backoff(0.5, 10.0)
_FRESH_S: Final = 30.0
"""Longer than the longest pause and an attempt: a failure that is not renewed by then is over."""


def leave_failure(link: LinkSettings, generation: int, task: int, attempt: int, error: Exception) -> None:
    """On an executor: tell the ledger, then pause. Blocks; never raises."""
    if not isinstance(error, OwnershipLost):  # somebody else writes the shard, which is not what hinders the link
        body = {"error": cause_of(error), "generation": generation, "attempt": attempt}
        asyncio.run(_tell(link, Memo(chore=TASK_FAILURES, name=str(task), body=body)))
    time.sleep(_BACKOFF.after_s(attempt + 1))


def cause_of(error: Exception) -> str:
    """What a task failed with, in words: Python has none for the want of memory."""
    return NO_MEMORY if isinstance(error, MemoryError) else told(error)


async def _tell(link: LinkSettings, memo: Memo) -> None:
    target = Cluster(link.clients.target_producer, f"twinlog|{link.name}|task-{memo.name}")
    try:
        async with asyncio.timeout(_TELL_S):
            await roster_writer(target, link.source, link.name).write([memo])
    except (TimeoutError, ClusterError) as trouble:
        log.warning("%s: task %s failed: %s; not reported: %s", link.name, memo.name, memo.body["error"], trouble)
    finally:
        await target.close()


@dataclass
class TaskFailures:
    """In the service: what the tasks of a running query failed with lately."""

    _heard: dict[str, tuple[str, float]] = field(default_factory=dict)

    def hear(self, memo: Memo, generation: int, now: float) -> None:
        """Take note of a memo, unless it is about an earlier engine's task."""
        if memo.chore == TASK_FAILURES and memo.body.get("generation") == generation:
            self._heard[memo.name] = (str(memo.body.get("error")), now)

    def trouble(self, now: float) -> str | None:
        """What the newest failure says; None when no task failed lately."""
        self._heard = {name: failure for name, failure in self._heard.items() if now - failure[1] < _FRESH_S}
        newest = max(self._heard.values(), key=lambda failure: failure[1], default=None)
        return None if newest is None else f"a task failed and is tried again: {newest[0]}"
