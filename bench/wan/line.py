"""The long line between the mirror and its far cluster, as a process (see `relay`)."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, NamedTuple


class Crossed(NamedTuple):
    """Bytes that crossed so far, seen from the mirror."""

    there: int
    back: int


@dataclass(frozen=True)
class LineKind:
    """How long and how wide."""

    round_trip_ms: int
    mbit: int  # 0: no limit

    @property
    def title(self) -> str:
        width = {0: "no limit", 100: "100 Mbit/s", 1000: "1 Gbit/s"}.get(self.mbit, f"{self.mbit} Mbit/s")
        return f"{self.round_trip_ms} ms, {width}"

    @property
    def bytes_per_s(self) -> float:
        return self.mbit * 125_000


class Line:
    """A running relay."""

    def __init__(self, questions: IO[str], answers: IO[str]) -> None:
        self._questions, self._answers = questions, answers

    def crossed(self) -> Crossed:
        self._questions.write("\n")
        self._questions.flush()
        answer = json.loads(self._answers.readline())
        return Crossed(answer["there"], answer["back"])


@contextmanager
def laid(kind: LineKind, broker_port: int, relay_port: int) -> Iterator[Line]:
    """The line while the block lasts."""
    one_way = str(kind.round_trip_ms / 2)
    command = [sys.executable, "-m", "bench.wan.relay", f"{broker_port}:{relay_port}", one_way, str(kind.mbit)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            if process.stdin is None or process.stdout is None or process.stdout.readline().strip() != "ready":
                raise RuntimeError(f"the relay did not start: exit code {process.poll()}")
            yield Line(process.stdin, process.stdout)
        finally:
            process.kill()
