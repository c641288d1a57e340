"""A settings file that changes under a running engine: what it concerns changes, nothing else does."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.kit.ends import Ends
from tests.kit.engine import EngineProcess, twinlog, twinlog_run
from tests.kit.waiting import wait_until

pytestmark = pytest.mark.timeout(300)


def status_of(engine: EngineProcess, file: Path | None = None) -> dict[str, dict[str, Any]]:
    answer = twinlog("status", "-c", str(file or engine.file), "-o", "json")
    return {link["link"]: link for link in json.loads(answer.stdout)}


def await_event(engine: EngineProcess, phase: str, link: str | None, detail: str) -> None:
    wait_until(
        lambda: [event["detail"] for event in engine.events if (event["phase"], event["link"]) == (phase, link)],
        lambda told: any(detail in one for one in told),
        within_s=30,
        what=f"{phase} of {link}",
    )


def rejections(engine: EngineProcess, link: str, file: Path) -> list[str]:
    """What the status of a link says about the settings file, seen with a file that is in order."""
    chores = status_of(engine, file)[link]["chores"]
    return [finding for chore in chores if chore["chore"] == "settings" for finding in chore["findings"]]


@pytest.mark.chaos
@pytest.mark.proves("R7", "R8")
def test_a_changed_file_reaches_the_links_that_it_concerns(make_ends: Callable[..., Ends], tmp_path: Path) -> None:
    first, second = make_ends(), make_ends()
    for ends in (first, second):
        ends.load(ends.create("orders"), 1).produce(100)
    with twinlog_run(first, tmp_path) as engine:
        first.await_copied(within_s=120)
        engine_id = status_of(engine)[first.link.name]["engine"]["engine_id"]

        valid = engine.file.read_text(encoding="latin-1")
        good = tmp_path / "good.properties"
        good.write_text(valid, encoding="latin-1")
        engine.file.write_text(valid + "on.gap = maybe\n", encoding="latin-1")
        await_event(engine, "rejected", None, "continue with the settings read before")
        assert "on.gap: maybe is not valid" in engine.output
        wait_until(
            lambda: rejections(engine, first.link.name, good), bool, within_s=30, what="the wrong file in the status"
        )
        both = valid.replace(f"clusters = {first.alias}, T", f"clusters = {first.alias}, {second.alias}, T")
        others = [line for line in second.properties.splitlines() if line.startswith(second.alias)]
        engine.file.write_text("\n".join([both, *others, ""]), encoding="latin-1")
        os.kill(engine.pid, signal.SIGHUP)
        await_event(engine, "changed", second.link.name, "added")
        second.await_copied(within_s=60)

        second.set(topics=f"{second.prefix}.none")
        others = [line for line in second.properties.splitlines() if line.startswith(second.alias)]
        engine.file.write_text("\n".join([both, *others, ""]), encoding="latin-1")
        await_event(engine, "changed", second.link.name, "changed in topics")
        assert status_of(engine)[first.link.name]["engine"]["engine_id"] == engine_id
        assert engine.stop() == 0
    assert first.check().target_records == 100
    assert second.check().target_records == 100
