"""Translating with what MirrorMaker 2 wrote down: single pairs of offsets of the same record. Pure.

    source    0 ······ 101 ······ 202 ··· P           the newest pair at or before P is (202, 198):
    target    0 ······  97 ······ 198 ?               the record at P lies at 199 or behind it

Between two pairs nothing is known but the order, so the answer is the place behind the pair before: it skips nothing
and may re-read. MirrorMaker 2 itself keeps 64 pairs per partition; here all that the topic still holds are used.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

from twinlog.model.ledger.translation import AtOrBefore, Exact, Translation, Untranslatable


@dataclass
class SyncHistory:
    """The pairs of one partition since its last rewind, in order on both sides."""

    upstream: list[int] = field(default_factory=list)
    downstream: list[int] = field(default_factory=list)

    def add(self, upstream: int, downstream: int) -> None:
        """Take the next pair of the topic.

        One that does not lie behind the others on both sides says that a topic was created anew or copied again:
        what was known before means nothing any more.
        """
        if self.upstream and (upstream <= self.upstream[-1] or downstream <= self.downstream[-1]):
            if (upstream, downstream) == (self.upstream[-1], self.downstream[-1]):
                return
            self.upstream.clear()
            self.downstream.clear()
        self.upstream.append(upstream)
        self.downstream.append(downstream)

    @property
    def newest(self) -> tuple[int, int] | None:
        """The last pair, source first."""
        return (self.upstream[-1], self.downstream[-1]) if self.upstream else None

    def to_target(self, position: int) -> Translation:
        """Translate a source position."""
        return _behind(position, self.upstream, self.downstream)

    def to_source(self, position: int) -> Translation:
        """Translate a target position back."""
        return _behind(position, self.downstream, self.upstream)


def _behind(position: int, here: list[int], there: list[int]) -> Translation:
    index = bisect_right(here, position) - 1
    if index < 0:
        begin = f"the oldest offset sync is at {here[0]}" if here else "there is no offset sync"
        return Untranslatable(f"offset {position}: {begin}")
    return Exact(there[index]) if here[index] == position else AtOrBefore(there[index] + 1)
