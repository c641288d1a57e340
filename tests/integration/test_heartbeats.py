"""Heartbeats over real clusters: of the link, of the pair that is no link, and what the canary makes of them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.kit.ends import Ends
from tests.kit.logs import read_logs
from tests.kit.threads import engine_running
from tests.kit.waiting import wait_until

from twinlog.config.resolve import resolve
from twinlog.model.mirrormaker.records import Heartbeat
from twinlog.model.naming import HEARTBEATS
from twinlog.sync.heartbeat_pairs import HeartbeatPairs

MakeEnds = Callable[..., Ends]


@contextmanager
def beating(ends: Ends) -> Iterator[None]:
    """The pairs of the file that are no links, as the service lets them beat."""
    pairs = resolve(ends.properties.encode("latin-1"), "test.properties", (), {}).heartbeats
    assert [pair.name for pair in pairs] == [f"T->{ends.alias}"]
    loop, over = asyncio.new_event_loop(), asyncio.Event()

    async def beat() -> None:
        here = HeartbeatPairs()
        await here.become(pairs)
        await over.wait()
        await here.become(())

    thread = threading.Thread(target=lambda: loop.run_until_complete(beat()), daemon=True)
    thread.start()
    try:
        yield
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(20)
        assert not thread.is_alive(), "the heartbeats do not end"
        loop.close()


def test_heartbeats_tell_the_pair_and_the_canary_tells_the_latency(make_ends: MakeEnds, tmp_path: Path) -> None:
    ends = make_ends()
    ends.create("orders")
    with beating(ends), engine_running(ends.link, tmp_path, with_chores=True) as engine:
        note = wait_until(
            lambda: engine.chores.notes.get("heartbeats"),
            # Heartbeats that were there before are old when they arrive; one of this test is not.
            lambda note: note is not None and 0 <= note.counts.get("canary_ms", -1) < 10_000,
            within_s=30,
            what="a heartbeat that went round",
        )
    assert note is not None
    assert (note.findings, note.trouble) == ([], None)
    told = [
        Heartbeat.read(record.key, record.value)
        for record in read_logs(ends.target_logs, HEARTBEATS, "read_committed")[0]
    ]
    assert (ends.alias, "T") in {(beat.source, beat.target) for beat in told}
    carried = [
        Heartbeat.read(record.key, record.value)
        for record in read_logs(ends.target_logs, f"{ends.alias}.{HEARTBEATS}", "read_committed")[0]
    ]
    assert ("T", ends.alias) in {(beat.source, beat.target) for beat in carried}
