"""How much is lost with a source that does not answer: a range with its times, in one sentence for all faces. Pure.

    ends known at t0 ──────── last sign of life L ─ ─ ─ ─ (dead, or only cut off)
    E = end at t0              S = copied up to here

    at least  E - S, when the copy had not reached the known end
    at most   what the topic grows by in (L - t0 + one look), minus what was copied beyond E

The last sign of life is the later of two times: when the engine last heard the source, and the time of the last record
that was copied. While no engine lives nobody listens: the source may have lived all that time, and it counts too. What
producers write to a source that is only cut off comes on top, and nobody can count it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from twinlog.model.ledger.records import ENGINE_DEAD_MS, Engine
from twinlog.model.ledger.source_ends import KnownEnd
from twinlog.model.moments import clock
from twinlog.model.names import TopicPartition

_LOOK_S: Final = 5.0
"""A source may have lived this long after its last sign of life: it is looked at every few seconds."""


@dataclass(frozen=True)
class LossRange:
    """Records. None is unknown, never 0."""

    at_least: int | None
    at_most: int | None
    heard_ms: int | None = None  # when the engine last heard the source
    copied_ms: int | None = None  # the time of the last record that was copied

    @property
    def sign_ms(self) -> int | None:
        """The last sign of life of the source."""
        return max(self.heard_ms or 0, self.copied_ms or 0) or None

    def says(self, source: str) -> str:
        """The sentence of plan, report, page and status."""
        heard = f"{source} last heard {clock(self.heard_ms)}, last record copied {clock(self.copied_ms)}"
        if self.at_least is None or self.at_most is None:
            return f"not known how many records; {heard}"
        if self.at_least == self.at_most:
            return f"{count(self.at_least)}; {heard}"
        return f"at least {self.at_least:,}, at most {count(self.at_most)}; {heard}"


def count(records: int) -> str:
    """A number of records."""
    return f"{records:,} record{'' if records == 1 else 's'}"


def last_copied(times: Iterable[tuple[int, int]]) -> int | None:
    """The time of the newest copied record, from (its own time, when it was noted): a producer's clock may be ahead."""
    return max((min(newest, noted) if noted > 0 else newest for newest, noted in times if newest > 0), default=None)


def lived_until(heard_ms: int | None, copied_ms: int | None, engine: Engine | None, now_ms: int) -> int:
    """Until when the source may have taken records, as far as somebody listened."""
    sign = max(heard_ms or 0, copied_ms or 0)
    if not sign or engine is None:
        return now_ms
    # Once the other side is active nobody listens any more, and the figure of the failover's report stays.
    listens = engine.phase == "switched" or (engine.phase == "running" and now_ms - engine.at_ms <= ENGINE_DEAD_MS)
    listened = now_ms if listens else engine.at_ms
    return sign + max(0, now_ms - max(listened, sign))


def since_known(known: KnownEnd, source_next: int, until_ms: int) -> int:
    """Records that may have come behind the known end while the source lived, without those that were copied."""
    grown = known.rate * (max(0, until_ms - known.at_ms) / 1000 + _LOOK_S)
    return max(0, math.ceil(grown) - max(0, source_next - known.end))


def loss_range(
    known: Mapping[TopicPartition, KnownEnd],
    positions: Mapping[TopicPartition, int],
    heard_ms: int | None,
    copied_ms: int | None,
    until_ms: int,
) -> LossRange:
    """The range over all partitions of `positions`; unknown when the end of one of them was never seen."""
    if heard_ms is None or any(partition not in known for partition in positions):
        return LossRange(None, None, heard_ms, copied_ms)
    at_least = sum(max(0, known[p].end - reached) for p, reached in positions.items())
    more = sum(since_known(known[p], reached, until_ms) for p, reached in positions.items())
    return LossRange(at_least, at_least + more, heard_ms, copied_ms)
