"""How long somebody may take to say what they want. Runs in the service's loop, once per connection.

The gate limits a request once its head is there. Whoever sends half of a head and then nothing would hold a connection
for ever, and a thousand of them the whole service.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS: Final = 15.0


class PatientProtocol(H11Protocol):
    """HTTP with a limit for the time between a connection, or the first byte of a request, and the end of its head."""

    _giving_up: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody connected."""
        super().connection_made(transport)
        self._wait_for_head()

    def data_received(self, data: bytes) -> None:
        """They said something."""
        super().data_received(data)
        if self._is_answering():
            self._stop_waiting()
        else:
            self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """They left."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait_for_head(self) -> None:
        # Not from the last byte on: a byte now and then must not prolong it.
        if self._giving_up is None:
            self._giving_up = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def _stop_waiting(self) -> None:
        if self._giving_up is not None:
            self._giving_up.cancel()
            self._giving_up = None

    def _give_up(self) -> None:
        self._giving_up = None
        if not self._is_answering():
            self.transport.close()

    def _is_answering(self) -> bool:
        """Whether a head was read to its end and its answer was not; there is no cycle before."""
        cycle: Any = self.cycle
        return cycle is not None and not cycle.response_complete
