"""A command of twinlog whose process is killed with SIGKILL at one moment of a step that moves the registry.

    python -m tests.kit.killed_in_registry_step STEP MOMENT WORDS

A signal from outside hits a step of a tenth of a second only if both processes get the processor in time. Here the
process kills itself, with everything it started: the moment is the same on every machine.

    begun        the journal says that the step runs, and nothing was done yet
    fenced       the instance that led the registry can write no more
    sent         records are given to the socket; whether the broker has them is not known
    written      the broker has acknowledged the first records; nobody was told
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from functools import wraps
from typing import Any, Final, ParamSpec, TypeVar
from unittest.mock import patch

from twinlog.logs.append import LogWriter
from twinlog.recovery import execute
from twinlog.recovery.context import StepResult, SwitchContext
from twinlog.surface.cli.main import main
from twinlog.wire.broker_connection import BrokerConnection
from twinlog.wire.fence import Fence

P = ParamSpec("P")
T = TypeVar("T")

_PRODUCE: Final = 0
_IN_STEP: Final = ContextVar("_IN_STEP", default=False)
"""Also in the tasks that the step starts, and not in the one that writes signs of life."""


def _die() -> None:
    os.killpg(os.getpgrp(), signal.SIGKILL)


def _deadly(call: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
    """The process dies when this has returned, within the step."""

    @wraps(call)
    async def doomed(*args: P.args, **kwargs: P.kwargs) -> T:
        answer = await call(*args, **kwargs)
        if _IN_STEP.get():
            _die()
        return answer

    return doomed


def _arm(moment: str) -> None:
    if moment == "fenced":
        patch.object(Fence, "plant_on_ledger", _deadly(Fence.plant_on_ledger)).start()
    elif moment == "written":
        patch.object(LogWriter, "append", _deadly(LogWriter.append)).start()
    elif moment == "sent":
        begin = BrokerConnection.begin

        def doomed(self: BrokerConnection, api_key: int, *args: Any, **kwargs: Any) -> Any:
            answer = begin(self, api_key, *args, **kwargs)
            if api_key == _PRODUCE and _IN_STEP.get():
                _die()
            return answer

        patch.object(BrokerConnection, "begin", doomed).start()


def _doom(step: str, moment: str) -> None:
    run = execute.STEPS[step]

    async def doomed(ctx: SwitchContext) -> StepResult:
        if moment == "begun":
            _die()
        _IN_STEP.set(True)
        return await run(ctx)

    _arm(moment)
    patch.object(execute, "STEPS", {**execute.STEPS, step: doomed}).start()


if __name__ == "__main__":
    _doom(sys.argv[1], sys.argv[2])
    sys.argv[1:3] = []
    main()
