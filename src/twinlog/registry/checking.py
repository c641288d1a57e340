"""Compatibility checks that may take long, outside of the event loop and within a time limit.

A check of two small schemas takes less time than handing it over, so only slow ones go to a worker process. A worker
that exceeds the limit is ended; the client is told that the schema is too complex.
"""

import asyncio
import concurrent.futures
import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool
from typing import Final

from twinlog.registry.compatibility_check import problems
from twinlog.registry.state import State
from twinlog.registry.writes.register import Register
from twinlog.registry.writes.round import Order

LIMIT_S: Final = 10.0
_ATTEMPTS: Final = 3
_TOO_LONG: Final = "The schema is too complex: the check was stopped after {limit:g} s"


async def checked(state: State, order: Order) -> None:
    """Run the slow check of an order ahead of its round. Raises Refusal."""
    if not isinstance(order, Register) or not order.is_slow(state):
        return
    asked = order.question(state)
    if asked is None:
        return
    stamp, *rest = asked
    order.decided(stamp, await in_worker(problems, *rest))


class _Workers:
    """One worker process, started when the first slow check comes."""

    def __init__(self) -> None:
        self._pool: concurrent.futures.ProcessPoolExecutor | None = None

    def pool(self) -> concurrent.futures.ProcessPoolExecutor:
        if self._pool is None:
            context = multiprocessing.get_context("forkserver")
            self._pool = concurrent.futures.ProcessPoolExecutor(1, context, initializer=_begin)
        return self._pool

    def end(self, pool: concurrent.futures.ProcessPoolExecutor | None = None) -> None:
        """End the worker, whatever it does; the next check starts another."""
        ended = self._pool if pool is None else pool
        if ended is self._pool:
            self._pool = None
        if ended is None:
            return
        for process in list((getattr(ended, "_processes", None) or {}).values()):
            process.kill()
        ended.shutdown(wait=False, cancel_futures=True)


_workers: Final = _Workers()


async def in_worker(work: Callable[..., list[str]], *given: object, limit_s: float = LIMIT_S) -> list[str]:
    """The messages of a check, or the message that it took too long."""
    loop = asyncio.get_running_loop()
    for _ in range(_ATTEMPTS):
        pool = _workers.pool()
        try:
            async with asyncio.timeout(limit_s):
                return await loop.run_in_executor(pool, work, *given)
        except TimeoutError:
            _workers.end(pool)
            break
        except (BrokenProcessPool, asyncio.CancelledError) as ended:
            # The check of somebody else exceeded its limit and took the worker with it: this one begins again.
            if isinstance(ended, asyncio.CancelledError) and (task := asyncio.current_task()) and task.cancelling():
                raise
            _workers.end(pool)
    return [_TOO_LONG.format(limit=limit_s)]


def end_workers() -> None:
    """End the worker process with the service."""
    _workers.end()


def _begin() -> None:
    """In the worker: signals to the service's terminal are not for it, and it takes no time from the service."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_service, daemon=True).start()
    with contextlib.suppress(OSError):
        os.nice(5)


def _end_with_service() -> None:
    """A service that is killed cannot end its worker; without this the worker would wait for work for ever."""
    service = multiprocessing.parent_process()
    if service is not None:
        service.join()
        os._exit(0)
