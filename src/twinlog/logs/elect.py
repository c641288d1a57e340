"""Election of a leader: of all processes with the same group id, Kafka chooses one. Runs a thread.

The group's members subscribe to a topic of one partition. Kafka gives the partition to one member; that member may
lead. When it ends or falls silent for nine seconds, another one gets it.

Losing the partition ends no leadership by itself: the next leader shuts the former one out of the log (elected.py).

The group is also the list of living processes. What a process announces is in its client id; whoever asks the group's
coordinator for the members reads it there.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

from twinlog.config.settings import ClientSettings
from twinlog.kafka.admin import ClusterAdmin
from twinlog.kafka.group_members import fetch_client_ids
from twinlog.kafka.membership import stand_in_line

_LEAVE_WITHIN_S: Final = 15.0


class Election:
    """One candidate. `on_elected` is called in a thread of this object, each time when this process may lead.

    `on_members` is called there when members came or went.
    """

    def __init__(
        self,
        settings: ClientSettings,
        group: str,
        topic: str,
        on_elected: Callable[[], None],
        on_members: Callable[[], None] = lambda: None,
    ) -> None:
        """Nothing is sent yet."""
        self._settings = settings
        self._group = group
        self._admin: ClusterAdmin | None = None
        self._announced: str | None = None
        self._closing = threading.Event()
        self._thread = threading.Thread(
            target=stand_in_line,
            args=(settings, group, topic, self._closing),
            kwargs={"on_owned": on_elected, "on_members": on_members, "client_id": lambda: self._announced},
            name=f"election-{topic}",
            daemon=True,
        )

    def start(self) -> None:
        """Become a candidate. The topic must exist."""
        self._thread.start()

    def announce(self, text: str) -> None:
        """Tell the other processes something, soon. The one that was elected need not: it knows itself."""
        self._announced = text

    def members(self) -> tuple[str, ...] | None:
        """What living processes announced, or their client ids; None while some come or go. Raises ClusterError."""
        if self._admin is None:
            self._admin = ClusterAdmin(self._settings)
        return fetch_client_ids(self._admin, self._group)

    def close(self) -> None:
        """Leave the group, so that another process is elected at once. Blocking."""
        self._closing.set()
        if self._thread.ident is not None:
            self._thread.join(_LEAVE_WITHIN_S)
