"""An offset map as the ledger would hold it: a span of offsets and its runs."""

from __future__ import annotations

from dataclasses import dataclass

from twinlog.model.ledger.runs import RunMap
from twinlog.model.ledger.translation import Span, Translation, to_source, to_target


@dataclass(frozen=True)
class OffsetMap:
    """Translates positions both ways."""

    span: Span
    runs: RunMap

    def to_target(self, position: int) -> Translation:
        return to_target(position, self.span, [self.runs])

    def to_source(self, position: int) -> Translation:
        return to_source(position, self.span, [self.runs])
