from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from twinlog.local.interrupts import signals_later


@pytest.fixture(autouse=True)
def ctrl_c_is_not_ignored() -> Iterator[None]:
    """A shell starts a job in the background with SIGINT ignored, and Python then leaves it so."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def begin_and_note(noted: list[str]) -> None:
    with signals_later():
        signal.raise_signal(signal.SIGINT)
        noted.append("begun")


def test_ctrl_c_waits_until_what_was_begun_is_known():
    noted: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        begin_and_note(noted)
    assert noted == ["begun"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_without_a_signal_nothing_changes_and_a_failure_comes_through():
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with pytest.raises(OSError, match="no such program"), signals_later():
        raise OSError("no such program")
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
