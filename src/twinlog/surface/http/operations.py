"""Long actions: begun by a request, done beside it, asked about later. Runs in the service's loop.

An action that must survive the process keeps its own journal (a switch does); an operation only tells how it goes. What
came of it is kept on this machine: reports are read long after the service that made them has ended.
"""

from __future__ import annotations

import asyncio
import logging
import os
import uuid
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol, TypeAlias, get_args

from twinlog.errors import TwinlogError
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.health.event_log import INTERRUPTED, way_out_of
from twinlog.model.switch.events import SwitchEvent, SwitchProgress, line_of

log = logging.getLogger("twinlog.operations")

Kind: TypeAlias = Literal["verification", "examination", "conflicts", "switch", "resume", "abort", "drill"]
Status: TypeAlias = Literal["running", "done", "failed"]
MOVES: Final[frozenset[Kind]] = frozenset({"switch", "resume", "abort"})
"""What changes which side is active, or begins to."""
_KEPT: Final = 200
_LINES: Final = 200


class KeyReusedError(Exception):
    """An idempotency key came back with another request."""


class BusyError(Exception):
    """The same action of the same link runs already."""


@dataclass
class Operation:
    """One action and how far it is."""

    kind: Kind
    link: str
    asked: dict[str, Any]
    by: str = ""
    key: str | None = None
    id: str = field(default_factory=lambda: uuid.uuid4().hex[:12])
    status: Status = "running"
    what: str = "begun"
    done: int = 0
    total: int = 0
    began_ms: int = field(default_factory=SYSTEM_CLOCK.now_ms)
    ended_ms: int | None = None
    lines: deque[str] = field(default_factory=lambda: deque(maxlen=_LINES))
    switch: SwitchProgress = field(default_factory=SwitchProgress)  # lines are forgotten, steps of a switch are not
    result: dict[str, Any] | None = None
    error: dict[str, str] | None = None
    pid: int = field(default_factory=os.getpid)  # who runs it

    def progress(self, what: str, done: int = 0, total: int = 0) -> None:
        """Tell how far it is."""
        self.what, self.done, self.total = what, done, total

    def say(self, line: str) -> None:
        self.what = line
        self.lines.append(line)

    def on_switch_event(self, event: SwitchEvent) -> None:
        """Take what a switch reports."""
        self.switch.take(event)
        line = line_of(event)
        if line is not None:
            self.say(line)

    def interrupt(self) -> None:
        """Its service ended before it did."""
        self.status = "failed"
        self.error = {"code": "INTERRUPTED", "message": INTERRUPTED, "remedy": way_out_of(self.kind)}

    def kept(self) -> dict[str, Any]:
        """For a file. How far the steps of a switch came is in the switch's own journal."""
        return {name: value for name, value in vars(self).items() if name != "switch"} | {"lines": list(self.lines)}


def operation_from(kept: Mapping[str, Any]) -> Operation | None:
    """Read what was kept; None for what a later version, or nobody, understands."""
    try:
        operation = Operation(**{**kept, "lines": deque(kept["lines"], maxlen=_LINES)})
    except (KeyError, TypeError):
        return None
    known = operation.kind in get_args(Kind) and operation.status in get_args(Status)
    return operation if known and isinstance(operation.began_ms, int) and isinstance(operation.pid, int) else None


class OperationStore(Protocol):
    """Where operations outlive the process (connectors.reports). All of it blocks."""

    def keep(self, name: str, report: Mapping[str, Any]) -> None:
        """Write one down."""

    def read(self) -> list[dict[str, Any]]:
        """All that is kept, oldest first."""


Work = Callable[[Operation], Awaitable[dict[str, Any]]]


class Operations:
    """The operations of this machine, newest last; those of former processes are over."""

    def __init__(
        self, on_change: Callable[[Operation], None] = lambda _: None, store: OperationStore | None = None
    ) -> None:
        self._all: OrderedDict[str, Operation] = OrderedDict()
        self._tasks: set[asyncio.Task[None]] = set()
        self._on_change = on_change
        self._store = store

    async def recall(self) -> None:
        """Read what former processes did. What none of them ended was interrupted."""
        if self._store is None:
            return
        for operation in filter(None, map(operation_from, await asyncio.to_thread(self._store.read))):
            if operation.status == "running":
                if operation.pid != os.getpid() and _lives(operation.pid):
                    continue  # of a service beside us, which will tell
                operation.interrupt()
                await asyncio.to_thread(self._store.keep, operation.id, operation.kept())
            self._all.setdefault(operation.id, operation)

    def find(self, operation_id: str) -> Operation | None:
        """One by its id."""
        return self._all.get(operation_id)

    def all(self, kind: Kind | None = None, link: str | None = None) -> list[Operation]:
        """Those of a kind or of a link, newest first."""
        operations = [
            operation
            for operation in self._all.values()
            if kind in {None, operation.kind} and link in {None, operation.link}
        ]
        return operations[::-1]

    def start(self, operation: Operation, work: Work) -> Operation:
        """Begin, or return what the same key began before. Raises KeyReusedError, BusyError."""
        before = next((known for known in self._all.values() if known.key and known.key == operation.key), None)
        if before is not None:
            if (before.kind, before.link, before.asked) != (operation.kind, operation.link, operation.asked):
                raise KeyReusedError(operation.key)
            return before
        if any(
            running.status == "running" and running.kind == operation.kind for running in self.all(link=operation.link)
        ):
            raise BusyError(f"{operation.link}: a {operation.kind} runs already")
        self._all[operation.id] = operation
        while len(self._all) > _KEPT:
            oldest = next((ended for ended in self._all.values() if ended.status != "running"), None)
            if oldest is None:
                break
            del self._all[oldest.id]
        task = asyncio.create_task(self._run(operation, work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self._on_change(operation)
        return operation

    async def _run(self, operation: Operation, work: Work) -> None:
        try:
            if self._store is not None:
                await asyncio.to_thread(self._store.keep, operation.id, operation.kept())
            operation.result = await work(operation)
        except asyncio.CancelledError:  # the service stops
            operation.interrupt()
            self._end(operation)
            raise
        except TwinlogError as error:
            operation.status = "failed"
            operation.error = {"code": error.code, "message": str(error), "remedy": error.remedy_text()}
        except Exception as error:  # it has no caller left to tell, so it is told here
            log.exception("%s of %s", operation.kind, operation.link)
            operation.status = "failed"
            told = f"unexpected: {type(error).__name__}"  # its own words may quote what it stumbled over (R12)
            operation.error = {"code": "UNEXPECTED", "message": told, "remedy": "The log of the service says more."}
        else:
            operation.status = "done"
        self._end(operation)

    def _end(self, operation: Operation) -> None:
        operation.ended_ms = SYSTEM_CLOCK.now_ms()
        if self._store is not None:
            # Before anybody hears of the end: whoever asks then may ask another process already.
            self._store.keep(operation.id, operation.kept())
        self._on_change(operation)

    async def close(self) -> None:
        """End what still runs; a switch continues later from its journal."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # it lives, and belongs to another user
    return True
