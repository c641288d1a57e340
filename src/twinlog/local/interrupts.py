"""Delays Ctrl-C and SIGTERM while a process is being started, so that none is left behind. Runs in the demo."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def signals_later() -> Iterator[None]:
    """Let signals wait until the block is done: a process that was started and not yet noted would outlive us.

    They are handled, not blocked, because a child inherits what is blocked. Only the main thread hears of signals; in
    any other nothing can come between.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard: list[int] = []
    before = {number: signal.signal(number, lambda heard_one, _: heard.append(heard_one)) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if heard:
        signal.raise_signal(heard[0])
