"""Reading for a source: a system that is away is waited for, visibly, and nothing is read twice."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from unittest import mock

from twinlog.config.settings import ClientSettings
from twinlog.pipelines import source_task
from twinlog.pipelines.api import Chunk, Owner, Retriable, SourcePartition
from twinlog.pipelines.run import ErrorSettings, SourceRun
from twinlog.pipelines.schemas import Schema, struct
from twinlog.pipelines.settings import read_settings
from twinlog.pipelines.source_task import SourceTask
from twinlog.pipelines.task_line import LineAddress

PLACE = SourcePartition({"table": "t"})
VALUE = struct(("n", Schema("int64")))


class PaperSource:
    """Goes away behind its first row, and comes back."""

    def __init__(self) -> None:
        self.starts: list[Any] = []

    def read(self, at: SourcePartition, start: Any, _: Any) -> Iterator[Chunk]:
        self.starts.append(start)
        if start is None:
            yield Chunk("t", [{"n": 1}], at, {"n": 1}, schema=VALUE)
            raise Retriable("it is away", 0)
        if start == {"n": 1} and len(self.starts) > 2:
            yield Chunk("t", [{"n": 2}], at, {"n": 2}, schema=VALUE)
        elif start == {"n": 1}:
            raise Retriable("it is still away", 0)


class PaperLine:
    """Takes reports; asks for the end once it was told that the source is back."""

    def __init__(self) -> None:
        self.reports: list[dict[str, Any]] = []

    def send(self, **facts: Any) -> None:
        self.reports.append(facts)

    @property
    def stopping(self) -> bool:
        return {"waiting": ""} in self.reports


def test_a_source_that_is_away_is_waited_for_and_read_on() -> None:
    run = SourceRun(
        Owner("c", 1), "x", {}, ClientSettings(cluster="k", bootstrap_servers=("x:1",)), "g", "offsets", 1,
        (("t", None, VALUE),), ((PLACE,),), {}, read_settings(ErrorSettings, {}), LineAddress("", 0, ""), 600_000, 1,
    )  # fmt: skip
    source, line = PaperSource(), PaperLine()
    with (
        mock.patch.object(source_task, "connector", return_value=source),
        mock.patch("twinlog.pipelines.source_task.OffsetsTopic.read", return_value=[]),
        mock.patch("time.sleep"),
    ):
        rows = [one for batch in SourceTask(run, 0, line).batches() for one in batch.to_pylist()]  # type: ignore[arg-type]
    assert [one["value_0"]["n"] for one in rows if one["topic"] is not None] == [1, 2]
    marks = [json.loads(one["mark"]) for one in rows if one["mark"] is not None]
    assert [(one["start"], one["next"]) for one in marks if "next" in one] == [(None, {"n": 1}), ({"n": 1}, {"n": 2})]
    assert [one["waiting"] for one in line.reports] == ["it is away", "it is still away", ""]
