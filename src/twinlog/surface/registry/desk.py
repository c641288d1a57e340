"""What the HTTP interface needs of a registry, whoever stores it: the state, and a way to write."""

from dataclasses import dataclass, field
from typing import Any, Protocol

from twinlog.registry.parsing import Parser
from twinlog.registry.rules import Rules
from twinlog.registry.state import State
from twinlog.registry.writes.round import Order, Plan


class Store(Protocol):
    """Where the state comes from and where orders go. Implemented by the topic and, for tests, by memory."""

    @property
    def state(self) -> State: ...

    async def submit(self, order: Order) -> tuple[Plan, int]:
        """Write; returns the plan that was carried out and the offset behind it. Raises Refusal."""
        ...

    async def caught_up(self) -> bool:
        """Read what the topic holds now; False when that could not be done in time."""
        ...


@dataclass
class Desk:
    """The parts that handlers use."""

    store: Store
    rules: Rules = field(default_factory=Rules)
    parser: Parser = field(default_factory=Parser)
    cluster_id: str = ""
    group_id: str = "schema-registry"
    version: dict[str, Any] = field(default_factory=dict)

    @property
    def state(self) -> State:
        return self.store.state
