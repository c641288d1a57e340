"""A sweep over a setting on real clusters: every value is measured, and nothing of it stays."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from tests.kit.ends import Ends
from tests.kit.threads import ThreadedQuery

from twinlog.drill.sweep import Sweeping, SweepWish


def test_every_value_is_measured_and_nothing_stays(make_ends: Callable[..., Ends], tmp_path: Path) -> None:
    ends = make_ends()
    before = {*ends.source.list_topics()}, {*ends.target.list_topics()}
    links = [(str(tasks), ends.link.updated(reading={"tasks_max": tasks})) for tasks in (1, 2)]
    wish = SweepWish("tasks.max", links, 4_000_000, 20, 4)
    said: list[str] = []
    sweeping = Sweeping(ends.link, wish, lambda: lambda run, _: ThreadedQuery(run), tmp_path, said.append)
    found = asyncio.run(sweeping.run())
    assert [(point.value, point.records, point.whole) for point in found.points] == [
        ("1", 4000, True),
        ("2", 4000, True),
    ]
    assert all(point.records_per_second > 0 for point in found.points)
    assert found.knee is not None
    assert found.left_behind == ()
    made = [name for name in {*ends.source.list_topics()} - before[0] if "sweep" in name or "drill" in name]
    made += [name for name in {*ends.target.list_topics()} - before[1] if "sweep" in name or "drill" in name]
    assert made == []
