"""Writes that reach an instance that does not lead go to the one that does. Runs in the service's loop.

While nobody leads, a write waits instead of failing. When the leader changes under a write that was passed on, the
write goes to the new one: the old one can write nothing any more. A write that was passed on to us is never passed on
again.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from twinlog.registry.identity import Identity
from twinlog.registry.leader import LeadershipLost
from twinlog.registry.node import RegistryNode
from twinlog.registry.refusals import NoLeader, forwarding_failed
from twinlog.surface.registry.exchange import Answer, Request
from twinlog.surface.registry.peers import PeerAnswer, PeerAway, Peers
from twinlog.surface.registry.told_records import RECORDS, WANTED, unpacked
from twinlog.surface.registry.writing import OFFSET

FORWARDED: Final = b"x-forward"
_PASSED_ON: Final = frozenset(
    {b"content-type", b"accept", b"confluent-accept-unknown-properties", b"authorization", b"x-request-id"}
)
_BACK: Final = frozenset({OFFSET, b"retry-after"})
_READ_BACK_S: Final = 5.0
_ASK_AGAIN_S: Final = 0.2


@dataclass
class Forwarding:
    """Finds who carries a write out. `wait_s` is how long a write waits for a leader."""

    node: RegistryNode
    peers: Peers
    wait_s: float = 25.0
    read_timeout_s: float = 60.0
    more_headers: frozenset[bytes] = frozenset()
    forwarded: int = 0

    async def write(self, request: Request, target: bytes, here: Callable[[], Awaitable[Answer]]) -> Answer:
        """The answer of the leader, be it this instance or another."""
        until = time.monotonic() + self.wait_s
        while True:
            self.node.refuse_on_copy()
            if self.node.leads:
                try:
                    return await here()
                except LeadershipLost:
                    pass
            role = self.node.role
            if role.leader is not None and not role.mine:
                if FORWARDED in request.headers:
                    await self._wait(until, passed_on=True)
                    continue
                answer = await self._pass_on(role.leader, request, target, until)
                if answer is not None:
                    return answer
            elif role.certain and role.leader is None:
                raise NoLeader
            await self._wait(until)

    async def _wait(self, until: float, *, passed_on: bool = False) -> None:
        """Wait for news of the leadership. Who passed a write on may know more than we do, so it is given a moment."""
        left = until - time.monotonic()
        if left <= 0 or (passed_on and left < self.wait_s - 2.0):
            raise NoLeader(retry_after_s=1)
        await self.node.changed(min(left, 1.0))

    async def _pass_on(self, leader: Identity, request: Request, target: bytes, until: float) -> Answer | None:
        """None when the leader did not answer and another one may."""
        kept = _PASSED_ON | self.more_headers
        headers = [(name, value) for name, value in request.headers.items() if name in kept] + [
            (FORWARDED, b"true"),
            WANTED,
        ]
        asking = asyncio.create_task(self.peers.ask(leader.url, request.method, target, headers, request.body))
        try:
            answer = await self._answer_or_change(asking, leader)
        except PeerAway as away:
            if time.monotonic() >= until:
                raise forwarding_failed(f"Error while forwarding the request to the leader: {away}") from None
            await self.node.changed(_ASK_AGAIN_S)
            return None
        if answer is None:
            return None
        self.forwarded += 1
        return await self._read_back(answer)

    async def _answer_or_change(self, asking: "asyncio.Task[PeerAnswer]", leader: Identity) -> PeerAnswer | None:
        limit = time.monotonic() + self.read_timeout_s
        try:
            while not asking.done():
                change = asyncio.create_task(self.node.changed(1.0))
                await asyncio.wait({asking, change}, return_when=asyncio.FIRST_COMPLETED)
                change.cancel()
                if asking.done():
                    break
                if self.node.role.leader != leader and (self.node.role.leader is not None or self.node.role.certain):
                    return None
                if time.monotonic() > limit:
                    raise PeerAway(f"{leader.url}: no answer within {self.read_timeout_s:g} s")
            return asking.result()
        finally:
            asking.cancel()

    async def _read_back(self, answer: PeerAnswer) -> Answer:
        """Read what the leader wrote before its answer is given: the client's next question may come here."""
        offset, body = answer.header(OFFSET), answer.body
        if (told := answer.header(RECORDS)) is not None:
            try:
                body, records = unpacked(told, body)
            except ValueError as broken:
                raise forwarding_failed(f"The answer of the leader cannot be read: {broken}") from None
            self.node.reader.told(records.first, records.records, records.ts)
        if offset is not None and offset.isdigit():
            await self.node.reader.reached(int(offset), _READ_BACK_S)
        elif answer.status < 300:
            await self.node.caught_up()
        headers = [(name, value) for name, value in answer.headers if name in _BACK]
        return Answer(answer.status, body, answer.header(b"content-type") is not None, headers=headers)
