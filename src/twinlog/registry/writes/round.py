"""One round of the leader: orders that are planned together, written in one batch and answered together. Pure.

No order of a round may depend on what another one of it writes. So a subject is written once in a round, contents that
are new are noted with the id that they got, and an order that concerns more than one subject has a round of its own.
"""

from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Protocol

from twinlog.registry import refusals
from twinlog.registry.records import Record
from twinlog.registry.state import State

LARGEST: Final = 2**31 - 1
"""Ids have four bytes in records, and Java reads them and versions as numbers with a sign."""


class NextRound(Exception):
    """The order depends on what this round writes: plan it in the next one."""


class CheckAgain(Exception):
    """The state changed since the order was checked: check it again."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Records to write, none for an order that changes nothing, and the answer once they are written."""

    records: list[Record]
    answer: Any
    status: int = 200


class Written(NamedTuple):
    """An order that was carried out. Who has read everything before `end` has read what its answer says."""

    plan: Plan
    end: int
    first: int | None = None
    """The offset of its first record; None where it is not known, or where nothing was written."""
    ts: int = 0


@dataclass
class Round:
    """What the orders of this round have taken so far."""

    subjects: set[str] = field(default_factory=set)
    contexts: set[str] = field(default_factory=set)
    digests: dict[tuple[str, bytes], int] = field(default_factory=dict)
    ids: dict[tuple[str, int], bytes] = field(default_factory=dict)
    highest: dict[str, int] = field(default_factory=dict)

    def take_subject(self, subject: str) -> None:
        """Raises NextRound when an earlier order of the round writes it."""
        if subject in self.subjects:
            raise NextRound

    def next_id(self, state: State, context: str) -> int:
        """One more than the highest id that was ever given in the context. Raises Refusal where ids end for now."""
        home = state.home
        number = max(state.max_id(context), self.highest.get(context, 0), home.floor(context) if home else 0) + 1
        if home is not None and number > home.ceiling(context):
            raise refusals.ids_end(number, home.gap)
        if number > LARGEST:
            raise refusals.not_permitted(f"Context {context} has no id left: {number - 1} is the largest one")
        return number

    def note(self, context: str, schema_id: int, digest: bytes) -> None:
        self.digests[context, digest] = schema_id
        self.ids[context, schema_id] = digest
        self.highest[context] = max(self.highest.get(context, 0), schema_id)


class Order(Protocol):
    """Something that a client wants to be written."""

    @property
    def alone(self) -> bool:
        """Whether it needs a round of its own."""
        ...

    def plan(self, state: State, current: Round) -> Plan:
        """Raises Refusal, NextRound or CheckAgain."""
        ...
