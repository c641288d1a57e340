"""What a log with an elected writer promises: the same tests run in memory and on a real broker."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from threading import Event
from typing import Any, Protocol

import pytest
from tests.kit.waiting import wait_until

from twinlog.errors import LogFenced
from twinlog.logs.topic import KeyValue, LogRecord

Rows = Mapping[bytes, bytes | None]
WITHIN_S = 60.0


class Log(Protocol):
    """`ElectedLog`, or the one in memory."""

    @property
    def leads(self) -> bool: ...
    def open(self) -> Rows: ...
    def lead(self, records: Sequence[KeyValue]) -> Rows: ...
    def append(self, records: Sequence[KeyValue]) -> Rows: ...
    def close(self) -> None: ...


def with_record(rows: Rows, record: LogRecord) -> Rows:
    return {**rows, record.key or b"": record.value}


class Member:
    """One process of the group."""

    def __init__(self, make: Callable[..., Log]) -> None:
        self.elected = Event()
        self.heard: list[Rows] = []
        start: Rows = {}
        self.log = make(start=start, apply=with_record, on_change=self.heard.append, on_elected=self.elected.set)
        self.found = self.log.open()


class ElectedContract:
    """The promises. Subclasses have a fixture `make`: it builds a log of one group."""

    @pytest.fixture
    def join(self, make: Callable[..., Log]) -> Iterator[Callable[[], Member]]:
        with ExitStack() as stack:

            def one_more() -> Member:
                member = Member(make)
                stack.callback(member.log.close)
                return member

            yield one_more

    @pytest.mark.proves("R10")
    def test_only_the_leader_writes_and_a_former_one_is_shut_out(self, join: Callable[[], Member]) -> None:
        first = join()
        assert first.elected.wait(WITHIN_S)
        with pytest.raises(LogFenced):
            first.log.append([(b"early", b"")])
        assert first.log.lead([(b"leader", b"1")]) == {b"leader": b"1"}
        assert first.log.append([(b"a", b"1"), (b"b", b"1")]) == {b"leader": b"1", b"a": b"1", b"b": b"1"}
        second = join()
        assert second.found == {b"leader": b"1", b"a": b"1", b"b": b"1"}, "everybody reads"
        assert not second.elected.is_set()
        assert not second.log.leads
        second.log.lead([(b"leader", b"2")])
        with pytest.raises(LogFenced):
            first.log.append([(b"zombie", b"")])
        assert not first.log.leads
        after = second.log.append([(b"a", None)])
        assert after == {b"leader": b"2", b"a": None, b"b": b"1"}
        last: Callable[[], Any] = lambda: first.heard[-1:]  # noqa: E731
        wait_until(last, lambda seen: seen == [after], within_s=WITHIN_S, what="what the new leader wrote")

    @pytest.mark.proves("R9")
    def test_another_member_is_elected_when_the_leader_ends(self, join: Callable[[], Member]) -> None:
        first = join()
        assert first.elected.wait(WITHIN_S)
        first.log.lead([(b"leader", b"1")])
        second = join()
        assert not second.elected.is_set()
        first.log.close()
        assert second.elected.wait(WITHIN_S)
        assert second.log.lead([(b"leader", b"2")]) == {b"leader": b"2"}
