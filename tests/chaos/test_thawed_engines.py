"""An engine that was frozen while a switch shut it out, and wakes up with everything it had in hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

import psutil
import pytest
from tests.kit.ends import Ends
from tests.kit.engine import EngineProcess, twinlog_run
from tests.kit.steady_load import SETTINGS, end_of, steady_load
from tests.kit.switches import do_switch
from tests.kit.waiting import wait_until

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(600)]


@pytest.mark.proves("R10")
@pytest.mark.parametrize("frozen", ["everything", "driver"])
def test_nothing_of_a_thawed_engine_lies_behind_the_cut(
    make_ends: Callable[..., Ends], tmp_path: Path, frozen: Literal["everything", "driver"]
) -> None:
    """With the driver alone its tasks live on: they are shut out, and Spark tries them again at once."""
    ends = make_ends(**SETTINGS)
    topic = ends.create("payments")
    with (
        twinlog_run(ends, tmp_path) as engine,
        steady_load(ends.source_cluster.bootstrap_servers, topic) as sent,
    ):
        wait_until(lambda: end_of(ends, topic), lambda end: end > 100, within_s=60, what="copies")
        freeze(engine, frozen)
        report = do_switch(ends, tmp_path / "switch", "failover-unplanned")
        assert "by force" in next(step["says"] for step in report.steps if step["step"] == "stop-link")
        at_the_cut = end_of(ends, topic)
        engine.thaw()
        engine.await_phase("switched", within_s=60)
        later = sent() + 200
        wait_until(sent, lambda count: count > later, within_s=60, what="records that are not copied")
        assert end_of(ends, topic) == at_the_cut


def freeze(engine: EngineProcess, what: Literal["everything", "driver"]) -> None:
    if what == "everything":
        engine.freeze()
    else:
        psutil.Process(engine.pid).suspend()
