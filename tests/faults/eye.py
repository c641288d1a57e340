"""`python -m tests.faults.eye FILE`: what `twinlog status -o json` answers, asked again and again, one line an answer.

Each question is the whole command with new connections; only the start of the process is saved.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twinlog.surface.cli.main import app

_AT_MOST_EVERY_S = 1.0
_SHOWN = 260
_REASONS = ("trouble", "reason", "says", "cause", "waits_for")
"""The keys of an answer that hold words for an operator. A fault is told as `CODE says`, in one."""


@dataclass(frozen=True)
class Answer:
    """What status said about a link. Times are of the clock that all processes of the machine share."""

    asked: float
    at: float
    facts: dict[str, Any]

    @property
    def state(self) -> str:
        return str(self.facts.get("state"))

    @property
    def healthy(self) -> bool:
        return self.state in {"RUNNING", "CATCHING_UP"}

    @property
    def words(self) -> str:
        """The state, and every reason that is given for it."""
        return re.sub(r"\s+", " ", "; ".join(dict.fromkeys([self.state, *self._phase, *_reasons(self.facts)])))

    @property
    def _phase(self) -> list[str]:
        """What the engine does instead of running."""
        phase = (self.facts.get("engine") or {}).get("phase", "running")
        return [] if phase == "running" else [f"engine {phase}"]

    @property
    def shown(self) -> str:
        return self.words if len(self.words) <= _SHOWN else self.words[:_SHOWN] + "…"


class Eye:
    """The process that asks, and what it heard so far."""

    def __init__(self, file: Path, folder: Path) -> None:
        self._log = folder / f"{file.stem}-{time.monotonic_ns()}.status"
        with self._log.open("wb") as log, self._log.with_suffix(".err").open("wb") as errors:
            command = [sys.executable, "-m", "tests.faults.eye", str(file)]
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=errors)

    def answers(self, since: float = 0.0) -> list[Answer]:
        """All answers that were given since."""
        lines = self._log.read_text(encoding="utf-8").splitlines()
        found = [Answer(**json.loads(line)) for line in lines if line.endswith("}}")]
        return [answer for answer in found if answer.at >= since]

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


def _reasons(facts: Any) -> Iterator[str]:
    if isinstance(facts, list):
        for one in facts:
            yield from _reasons(one)
    elif isinstance(facts, dict):
        if facts.get("held_back"):
            yield f"{facts['topic']}-{facts['partition']}: {facts['held_back']}"
        for key, value in facts.items():
            if key in _REASONS and value and isinstance(value, str):
                yield f"{facts['code']} {value}" if key == "says" and "code" in facts else value
            else:
                yield from _reasons(value)


def _ask(file: Path) -> list[dict[str, Any]]:
    heard = io.StringIO()
    with contextlib.redirect_stdout(heard):
        try:
            app(["status", "-c", str(file), "-o", "json"], prog_name="twinlog", standalone_mode=False)
        except Exception as error:  # noqa: BLE001 - an operator would see it and ask again
            return [{"state": "UNKNOWN", "trouble": f"status failed: {error!r}"}]
    found = json.loads(heard.getvalue() or "[]")
    return found if isinstance(found, list) else [found]


def _ask_for_ever(file: Path) -> None:
    while True:
        asked, began = time.time(), time.monotonic()
        for facts in _ask(file):
            print(json.dumps({"asked": asked, "at": time.time(), "facts": facts}, default=str), flush=True)
        time.sleep(max(0.0, _AT_MOST_EVERY_S - (time.monotonic() - began)))


if __name__ == "__main__":
    _ask_for_ever(Path(sys.argv[1]))
