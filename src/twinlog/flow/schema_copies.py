"""How far the schemas of a link's source are on its target, as the ledger tells a reader."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from twinlog.config.registry_mirror import RegistryMirror
from twinlog.ledger.view import LedgerView
from twinlog.model.ledger.records import BROUGHT, SCHEMAS_AHEAD, RosterTopic
from twinlog.model.names import TopicPartition


class SchemaCopy(Protocol):
    """Schemas on the target."""

    @property
    def is_kept(self) -> bool:
        """Whether anybody brings schemas there: otherwise records need not wait for them."""

    @property
    def reached(self) -> int:
        """Up to which offset of the source's topic they are there."""


@dataclass
class MirroredSchemas:
    """The link copies the topic itself."""

    registry: RegistryMirror
    roster: dict[str, RosterTopic]
    ledger: LedgerView
    """The part of the ledger that knows the copy."""

    @property
    def is_kept(self) -> bool:
        """While the topic is mirrored and has no problem."""
        entry = self.roster.get(self.registry.topic)
        return self.registry.mirrored and entry is not None and entry.problem is None

    @property
    def reached(self) -> int:
        """Where the copy of this incarnation ends."""
        entry = self.roster[self.registry.topic]
        state = self.ledger.states.get(TopicPartition(self.registry.topic, 0))
        if state is None or state.incarnation != entry.incarnation:
            return entry.origins[0] if entry.origins else 0
        return state.source_next


@dataclass
class SchemasBroughtAhead:
    """A way back: new schemas of the promoted cluster are written at the old home (registry/pair/ahead)."""

    view: LedgerView

    @property
    def is_kept(self) -> bool:
        """While somebody says how far they are."""
        return BROUGHT in self.view.memos.get(SCHEMAS_AHEAD, {})

    @property
    def reached(self) -> int:
        """What was said last."""
        memo = self.view.memos.get(SCHEMAS_AHEAD, {}).get(BROUGHT)
        return 0 if memo is None else int(memo.body["position"])
