"""A registry without Kafka: the log is a list. For tests of the rules and of the REST interface."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.registry.checking import checked
from twinlog.registry.records import NOOP_RECORD, Record
from twinlog.registry.state import State
from twinlog.registry.writes.round import CheckAgain, Order, Round, Written


@dataclass
class MemoryStore:
    """Writes every order at once."""

    state: State = field(default_factory=State)
    log: list[Record] = field(default_factory=list)
    now_ms: Callable[[], int] = SYSTEM_CLOCK.now_ms

    def __post_init__(self) -> None:
        self.append(NOOP_RECORD)
        self.append(NOOP_RECORD)

    def append(self, record: Record) -> None:
        self.log.append(record)
        self.state.apply(record.key, record.value, len(self.log) - 1, self.now_ms())

    async def submit(self, order: Order) -> Written:
        """Plan and write."""
        for _ in itertools.count():
            await checked(self.state, order)
            try:
                plan = order.plan(self.state, Round())
            except CheckAgain:
                continue
            for record in plan.records:
                self.append(record)
            return Written(plan, len(self.log))
        raise AssertionError

    async def caught_up(self) -> bool:
        """True: no other process writes to a registry in memory."""
        return True
