"""Logs with an elected writer, in memory: the same methods and the same rules as `logs.elected.ElectedLog`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from twinlog.errors import LogFenced
from twinlog.logs.topic import KeyValue, LogRecord

State = TypeVar("State")


@dataclass
class FakeTopic:
    """One partition, shared by the processes of a group. The first one in line is elected."""

    records: list[LogRecord] = field(default_factory=list)
    line: list[FakeElectedLog[Any]] = field(default_factory=list)
    leader: FakeElectedLog[Any] | None = None

    def write(self, by: FakeElectedLog[Any], pairs: Sequence[KeyValue]) -> None:
        if self.leader is not by:
            raise LogFenced("fake", "this process does not lead")
        self.plant(pairs)

    def plant(self, pairs: Sequence[KeyValue]) -> None:
        """Records of whoever: all readers hear of them."""
        for key, value in pairs:
            self.records.append(LogRecord(len(self.records), 0, key, value))
        for reader in list(self.line):
            reader.read()


class FakeElectedLog(Generic[State]):
    """One process of the group."""

    def __init__(
        self,
        topic: FakeTopic,
        *,
        start: State,
        apply: Callable[[State, LogRecord], State],
        on_change: Callable[[State], None],
        on_elected: Callable[[], None],
    ) -> None:
        self._topic, self.state, self._apply = topic, start, apply
        self._on_change, self._on_elected = on_change, on_elected
        self.position = 0
        self.trouble: str | None = None

    @property
    def leads(self) -> bool:
        return self._topic.leader is self

    def open(self) -> State:
        self._fold()
        self._topic.line.append(self)
        if self._topic.line[0] is self:
            self._on_elected()
        return self.state

    def lead(self, records: Sequence[KeyValue]) -> State:
        self._topic.leader = self
        return self.append(records)

    def append(self, records: Sequence[KeyValue]) -> State:
        self._topic.write(self, records)
        return self.state

    def close(self) -> None:
        first = self._topic.line[:1] == [self]
        if self in self._topic.line:
            self._topic.line.remove(self)
        if first and self._topic.line:
            self._topic.line[0]._on_elected()

    def read(self) -> None:
        """Take what is new, and tell of it."""
        if self.position < len(self._topic.records):
            self._fold()
            self._on_change(self.state)

    def _fold(self) -> None:
        for record in self._topic.records[self.position :]:
            self.state = self._apply(self.state, record)
        self.position = len(self._topic.records)
