"""A switch in a process of its own that kills itself with SIGKILL once at each point that it reaches.

    python -m tests.kit.doomed_switch FILE LINK FOLDER COMMAND

Points are the beginning of each step, its first sentence, its action and its end. A file in FOLDER names the points at
which a process has died already. A process that finds no other point ends the switch and prints its report.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from tests.kit.ends import Ends
from tests.kit.threads import ThreadedQuery

from twinlog.config.pair import resolve_pair
from twinlog.model.switch.events import Began, SwitchEvent
from twinlog.model.switch.log import Command
from twinlog.recovery.own_engines import EngineCopier
from twinlog.recovery.report import Report
from twinlog.recovery.switching import Switching


class KilledSwitch:
    """Plays a switch to its end, by as many processes as it takes. Runs in the test."""

    def __init__(self, ends: Ends, folder: Path, command: Command) -> None:
        self.words = [str(ends.write_file(folder)), f"{ends.alias}->T", str(folder), command]
        self.points = points_file(folder, command)

    def play(self, within_s: float = 90) -> Mapping[str, Any]:
        """Start processes until one ends the switch; returns its report."""
        while True:
            before = self.died_at()
            words = [sys.executable, "-m", "tests.kit.doomed_switch", *self.words]
            done = subprocess.run(words, capture_output=True, text=True, timeout=within_s, check=False)
            if done.returncode == 0:
                report: Mapping[str, Any] = json.loads(done.stdout.splitlines()[-1])
                return report
            said = f"{self.died_at()[-1:]}: {done.stdout[-2000:]}{done.stderr[-4000:]}"
            assert done.returncode == -signal.SIGKILL, said
            assert len(self.died_at()) == len(before) + 1, said

    def died_at(self) -> list[str]:
        """Points at which a process died, in their order."""
        return self.points.read_text().splitlines() if self.points.exists() else []


def points_file(folder: Path, command: str) -> Path:
    """Where the points of one command are written down."""
    return folder / f"{command}.points"


def main(file: str, link: str, folder: str, command: Command) -> None:
    """Begin the switch, or go on with the open one."""
    points = points_file(Path(folder), command)
    died_at = set(points.read_text().splitlines()) if points.exists() else set()

    pair = resolve_pair(Path(file).read_bytes(), file, link, {})
    running = ""

    def on_event(event: SwitchEvent) -> None:
        nonlocal running
        if isinstance(event, Began):
            running = event.step
        point = f"{running} {type(event).__name__}"
        if running and point not in died_at:
            with points.open("a") as lines:
                lines.write(f"{point}\n")
            os.kill(os.getpid(), signal.SIGKILL)

    async def play() -> Report:
        copier = EngineCopier(lambda: lambda run, _: ThreadedQuery(run), Path(folder))
        switch = Switching(pair, copier, Path(folder) / "switch", on_event)
        # The same runner each time: no process waits to see whether the one before is gone.
        switch.runner = "doomed"
        if (await switch.standing()).open is not None:
            return await switch.resume()
        _, plan = await switch.plan(command)
        return await switch.execute(plan)

    report = asyncio.run(play())
    print(json.dumps({"active": report.active, "steps": [step["step"] for step in report.steps]}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], cast("Command", sys.argv[4]))
