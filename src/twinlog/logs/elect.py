"""Election of a leader: of all processes with the same group id, Kafka chooses one. Runs a thread.

The group's members subscribe to a topic of one partition. Kafka gives the partition to one member; that member may
lead. When it ends or falls silent for nine seconds, another one gets it.

Losing the partition ends no leadership by itself: the next leader shuts the former one out of the log (elected.py).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

from twinlog.config.settings import ClientSettings
from twinlog.kafka.membership import stand_in_line

_LEAVE_WITHIN_S: Final = 15.0


class Election:
    """One candidate. `on_elected` is called in a thread of this object, each time when this process may lead."""

    def __init__(self, settings: ClientSettings, group: str, topic: str, on_elected: Callable[[], None]) -> None:
        """Nothing is sent yet."""
        self._closing = threading.Event()
        self._thread = threading.Thread(
            target=stand_in_line,
            args=(settings, group, topic, on_elected, self._closing),
            name=f"election-{topic}",
            daemon=True,
        )

    def start(self) -> None:
        """Become a candidate. The topic must exist."""
        self._thread.start()

    def close(self) -> None:
        """Leave the group, so that another process is elected at once. Blocking."""
        self._closing.set()
        if self._thread.ident is not None:
            self._thread.join(_LEAVE_WITHIN_S)
