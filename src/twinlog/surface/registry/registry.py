"""What the HTTP interface needs of a registry: the state, and a way to write."""

import asyncio
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from twinlog.registry.parsing import Parser, how_to_read
from twinlog.registry.refusals import too_large
from twinlog.registry.requests import SchemaRequest
from twinlog.registry.rules import Rules
from twinlog.registry.state import State
from twinlog.registry.writes.round import Order, Written
from twinlog.surface.registry.known_answers import KnownAnswers

_LARGE: Final = 65_536
_LARGEST: Final = 2
"""Times the size of a record: no canonical text is so much shorter than what was sent."""


class Store(Protocol):
    """Where the state comes from and where orders go. Implemented by the topic and, for tests, by memory."""

    @property
    def state(self) -> State: ...

    async def submit(self, order: Order) -> Written:
        """Carry an order out. Raises Refusal."""
        ...

    async def caught_up(self) -> bool:
        """Read what the topic holds now; False when that could not be done in time."""
        ...


@dataclass
class Registry:
    """The parts that handlers use."""

    store: Store
    rules: Rules = field(default_factory=Rules)
    parser: Parser = field(default_factory=Parser)
    cluster_id: str = ""
    group_id: str = "schema-registry"
    version: dict[str, Any] = field(default_factory=dict)
    prefixes: tuple[str, ...] = ()
    """What stands before the names of mirrored topics."""

    known: KnownAnswers = field(default_factory=KnownAnswers)

    @property
    def state(self) -> State:
        return self.store.state

    async def read_large(self, wanted: SchemaRequest, *, normalize: bool) -> None:
        """Parse a large text beside the loop, so that it is parsed already when it is needed. Raises Refusal."""
        size = len(wanted.text or "")
        if size > _LARGEST * self.rules.most_bytes:
            raise too_large()
        if size > _LARGE:
            how = how_to_read(self.state, wanted, self.rules, normalize=normalize)
            await asyncio.to_thread(self.parser.of_request, self.state, wanted, how)
