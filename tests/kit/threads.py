"""The engine of a link with its tasks in threads of the test's process: all of the data path but Spark.

Spark is one of the engine's parts (`start_query`); here its place is taken by a loop that plans an epoch, runs each
task by the same two methods that Spark calls, and plans the next. It starts in a second, which makes room for many
faults. What Spark itself does to the data path is tried in `tests/e2e`.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.kit.waiting import wait_until

from twinlog.config.settings import LinkSettings
from twinlog.engine.engine import LinkEngine
from twinlog.flow.source import EpochReader, LinkRun, ParcelWriter
from twinlog.sync.ends import LinkEnds
from twinlog.sync.jobs import SyncJobs
from twinlog.sync.link_jobs import sync_jobs_of
from twinlog.sync.link_topics import LinkTopics

_CORES = 2


class ThreadedQuery:
    """What the engine asks of a streaming query, with one thread per task."""

    def __init__(self, run: LinkRun) -> None:
        self.run = run
        self._stopping = False
        self._failure: BaseException | None = None
        self.epochs = 0
        self._thread = threading.Thread(target=self._main, name=f"query-{run.link.name}", daemon=True)
        self._thread.start()

    @property
    def isActive(self) -> bool:  # noqa: N802  Spark's name
        return self._thread.is_alive()

    @property
    def lastProgress(self) -> dict[str, int] | None:  # noqa: N802  Spark's name
        return {"batchId": self.epochs - 1} if self.epochs else None

    def exception(self) -> str | None:
        return None if self._failure is None else "".join(traceback.format_exception(self._failure))

    def give_up(self) -> None:
        """Plan no further epoch; the running one goes on until it is shut out or ends."""
        self._stopping = True

    def stop(self) -> None:
        self.give_up()
        self._thread.join(30)
        assert not self._thread.is_alive(), "the tasks do not end"

    def _main(self) -> None:
        try:
            reader, writer = EpochReader(self.run), ParcelWriter(self.run)
            while not self._stopping:
                plans = reader.partitions({"epoch": self.epochs}, {"epoch": self.epochs + 1})
                ended: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()
                for plan in plans:
                    threading.Thread(target=_copy, args=(reader, writer, plan, ended), daemon=True).start()
                # Whichever fails first ends the query, as with Spark; the others are shut out by its successor.
                self._failure = next((failure for failure in (ended.get() for _ in plans) if failure), None)
                if self._failure is not None:
                    return
                self.epochs += 1
        except BaseException as failure:  # noqa: BLE001  the engine asks for it
            self._failure = failure


def _copy(reader: EpochReader, writer: ParcelWriter, plan: Any, ended: queue.SimpleQueue[BaseException | None]) -> None:
    try:
        writer.write(reader.read(plan))
    except BaseException as failure:  # noqa: BLE001  the query raises it
        ended.put(failure)
    else:
        ended.put(None)


class ThreadedEngine:
    """One engine in a thread of its own."""

    def __init__(self, link: LinkSettings, folder: Path, *, with_chores: bool = False, stands_by: bool = False) -> None:
        ends = LinkEnds.of(link)
        topics = LinkTopics(link, ends.source, ends.target)
        self.chores = SyncJobs(link.name, sync_jobs_of(ends) if with_chores else [])
        self.engine = LinkEngine(
            link, topics, self._start_query, folder / "checkpoints", _CORES, self.chores, stands_by=stands_by
        )
        self.queries: list[ThreadedQuery] = []
        self.failure: BaseException | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._main, name=f"engine-{link.name}", daemon=True)
        self._thread.start()

    def _main(self) -> None:
        try:
            self._loop.run_until_complete(self.engine.run())
        except BaseException as failure:  # noqa: BLE001  `stop` raises it
            self.failure = failure
        finally:
            self._loop.close()

    def _start_query(self, run: LinkRun, _: Path) -> ThreadedQuery:
        self.queries.append(ThreadedQuery(run))
        return self.queries[-1]

    @property
    def epochs(self) -> int:
        """How many epochs were brought to an end."""
        return sum(query.epochs for query in self.queries)

    @property
    def ended(self) -> bool:
        return not self._thread.is_alive()

    def await_running(self) -> None:
        """Wait until the query runs."""
        wait_until(
            lambda: (self.engine.phase, self.engine.trouble, self.failure),
            lambda seen: seen[0] == "running" or seen[2] is not None,
            within_s=30,
            what="a running engine",
        )

    def await_end(self, within_s: float = 20) -> None:
        """Wait until it ended, for whatever reason."""
        wait_until(lambda: (self.ended, self.engine.phase), lambda seen: seen[0], within_s=within_s, what="its end")

    def stop(self) -> None:
        """A clean end, as on SIGTERM; raises what the engine failed with."""
        if not self.ended:
            self._loop.call_soon_threadsafe(self.engine.stop)
        self.await_end()
        if self.failure is not None:
            raise self.failure


@contextmanager
def engine_running(link: LinkSettings, folder: Path, *, with_chores: bool = False) -> Iterator[ThreadedEngine]:
    """An engine while the block runs; its sync jobs only where they are what is tried."""
    engine = ThreadedEngine(link, folder, with_chores=with_chores)
    try:
        engine.await_running()
        yield engine
    finally:
        engine.stop()
