"""Lanes: one stream of produce requests to each leader, as many under way as its line wants. Runs in the writer's loop.

A request takes one batch of each partition that has one. Nothing waits to fill a request: while the lane is busy
batches pile up and the next request is fuller, while it is quiet a single record leaves at once.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final, NamedTuple

from twinlog.errors import ClusterError, ClusterUnreachable, told
from twinlog.flow.outbox import Outbox
from twinlog.flow.outgoing import Outgoing
from twinlog.flow.window import FEW, Departure, Window
from twinlog.model.backoff import Backoff
from twinlog.model.names import TopicPartition
from twinlog.wire import protocol_errors as codes
from twinlog.wire.broken import why
from twinlog.wire.connection import Cluster
from twinlog.wire.produce import Produced, begin_produce
from twinlog.wire.writability import NO_LEADER

log = logging.getLogger("twinlog.write")

_PAUSE_S: Final = 0.1
_NOT_THERE: Final = frozenset({codes.UNKNOWN_TOPIC_OR_PARTITION, codes.TOPIC_AUTHORIZATION_FAILED})


class Answer(NamedTuple):
    """What became of one batch."""

    out: Outgoing
    error: int
    base_offset: int
    message: str | None


@dataclass
class Lane:
    """The requests to one leader, and the outboxes that send through them."""

    node: int
    boxes: dict[TopicPartition, Outbox] = field(default_factory=dict)  # with something to send, in turn
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    window: Window = field(default_factory=Window)
    task: asyncio.Task[None] | None = None


@dataclass
class Lanes:
    """All leaders of the target."""

    target: Cluster
    request_bytes: int
    on_answer: Callable[[Outbox, Answer], None]
    on_quiet: Callable[[Outbox], None]  # nothing to send just now; offsets without records may have settled
    on_failure: Callable[[BaseException], None]
    lanes: dict[int, Lane] = field(default_factory=dict)
    homeless: dict[TopicPartition, Outbox] = field(default_factory=dict)
    heard_at: float = float("-inf")  # when a broker last answered anything
    _finding: asyncio.Task[None] | None = None

    def ready(self, box: Outbox) -> None:
        """A box has something to send."""
        leader = self.target.leader(*box.remote)
        if leader is None:
            self.homeless[box.remote] = box
            if self._finding is None or self._finding.done():
                self._finding = asyncio.ensure_future(self._find())
                self._finding.add_done_callback(self._ended)
            return
        lane = self.lanes.get(leader.node)
        if lane is None:
            lane = self.lanes[leader.node] = Lane(leader.node)
            lane.task = asyncio.ensure_future(self._drive(lane))
            lane.task.add_done_callback(self._ended)
        lane.boxes[box.remote] = box
        lane.wake.set()

    def moved(self, topic: str) -> None:
        """The leader is not where we thought: ask before the next request."""
        self.target.topics.pop(topic, None)

    async def _find(self) -> None:
        pause, backoff = _PAUSE_S, Backoff(_PAUSE_S * 2)
        while self.homeless:
            reached = False
            try:
                await self.target.refresh({remote.topic for remote in self.homeless})
                reached, self.heard_at = True, time.monotonic()
                pause = _PAUSE_S
                backoff.reset()
            except ClusterError as trouble:  # also a login that is refused just now
                log.warning("%s: nobody says who leads: %s", self.target.alias, told(trouble))
                pause = backoff.next_s()
            boxes, self.homeless = list(self.homeless.values()), {}
            for box in boxes:
                metadata = self.target.topics.get(box.remote.topic)
                if box.stopped:
                    continue
                if metadata is not None and metadata.error in _NOT_THERE:
                    self._refuse(box, metadata.error)
                elif self.target.leader(*box.remote) is None:
                    if reached:
                        box.hinder(NO_LEADER)
                    self.homeless[box.remote] = box
                else:
                    self.ready(box)
            if self.homeless:
                await asyncio.sleep(pause)

    def _refuse(self, box: Outbox, error: int) -> None:
        out = box.next_to_send()
        if out is not None:
            self.on_answer(box, Answer(out, error, -1, None))

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self.on_failure(error)

    async def _drive(self, lane: Lane) -> None:
        while True:
            if not lane.window.is_open or not lane.boxes:
                lane.wake.clear()
                await lane.wake.wait()
                continue
            chosen = self._choose(lane)
            if not chosen:
                continue
            try:
                connection = await self.target.connection(lane.node, "produce")
                batches = {box.remote: out.parts for box, out in chosen}
                ids = {box.remote: box.target_id for box, _ in chosen}
                answer = begin_produce(connection, batches, self.target.timeout_s, ids)
            except ClusterUnreachable as trouble:
                self._spread(lane, chosen, None, trouble)
                continue
            departure = lane.window.depart(time.monotonic(), sum(out.size for _, out in chosen))
            answer.add_done_callback(partial(self._arrived, lane, chosen, departure))
            if lane.boxes:
                # A large request goes out in pieces; without this pause the loop would never read the answers.
                await asyncio.sleep(0)

    def _choose(self, lane: Lane) -> list[tuple[Outbox, Outgoing]]:
        """One batch of each box, round robin, up to the size of a request."""
        chosen: list[tuple[Outbox, Outgoing]] = []
        size = 0
        depth = max(FEW, lane.window.requests + 1)  # a request holds one batch of each box at most
        for remote in list(lane.boxes):
            box = lane.boxes.pop(remote)
            out = box.next_to_send(depth)
            if out is None:
                self.on_quiet(box)
                continue
            if box.has_more:
                lane.boxes[remote] = box  # to the end of the row
            chosen.append((box, out))
            size += out.size
            if size >= self.request_bytes:
                break
        return chosen

    def _arrived(
        self,
        lane: Lane,
        chosen: list[tuple[Outbox, Outgoing]],
        departure: Departure,
        done: asyncio.Future[dict[TopicPartition, Produced]],
    ) -> None:
        trouble = done.exception() if not done.cancelled() else asyncio.CancelledError()
        if trouble is None:
            self.heard_at = time.monotonic()
            lane.window.answer(departure, self.heard_at)
        else:
            lane.window.fail(departure)
        if lane.boxes:
            lane.wake.set()
        if trouble is not None and not isinstance(trouble, ClusterUnreachable | asyncio.CancelledError):
            self.on_failure(trouble)
            return
        try:
            self._spread(lane, chosen, done.result() if trouble is None else None, trouble)
        except Exception as error:  # noqa: BLE001  the loop would only log it, and the batches would be forgotten
            self.on_failure(error)

    def _spread(
        self,
        lane: Lane,
        chosen: list[tuple[Outbox, Outgoing]],
        answers: dict[TopicPartition, Produced] | None,
        trouble: BaseException | None,
    ) -> None:
        """Give each outbox its part of the answer. Without an answer the request may have arrived or not."""
        problem = None if trouble is None else f"broker {lane.node}, which leads it: {why(trouble)}"
        for box, out in chosen:
            if answers is None or box.remote not in answers:
                lane.boxes.pop(box.remote, None)
                self.on_answer(box, Answer(out, codes.REQUEST_TIMED_OUT, -1, problem))
            else:
                produced = answers[box.remote]
                self.on_answer(box, Answer(out, *produced))

    def stop(self) -> None:
        for lane in self.lanes.values():
            if lane.task is not None:
                lane.task.cancel()
        if self._finding is not None:
            self._finding.cancel()
