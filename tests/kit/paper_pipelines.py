"""A pipeline that never runs, with whatever progress a test gives it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from twinlog.pipelines.connector import read_connector
from twinlog.pipelines.engine import Engine

SINK: Mapping[str, str] = MappingProxyType({"connector.class": "FileStreamSink", "file": "/x", "topics": "t"})


class PaperPlanner:
    """Knows how far behind it is."""

    lag = 17

    def plan(self, *_: Any) -> Any: ...

    def heard(self, _: Any) -> None: ...


def paper_engine(config: Mapping[str, str] = SINK, planner: Any = None, **counts: int) -> Engine:
    """A pipeline `orders` that counted so much in epochs that ended."""
    connector = read_connector("orders", dict(config), {})
    engine = Engine(connector, planner or PaperPlanner(), None, Path("/nowhere"))  # type: ignore[arg-type]
    engine.progress.counts.update(counts)
    return engine
