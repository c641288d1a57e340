"""Faults of clocks: steps of an hour under a running engine and under running brokers.

The wall clock of the processes jumps, as when an administrator or NTP sets it; the monotonic clock goes on, as it does
on every real machine. wall_clock.c stands between the processes and the C library for that. (libfaketime cannot be
used: it sets the monotonic clock back, too, or it breaks `time.sleep` of Python.)
"""

from __future__ import annotations

import os
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.faults.scenario import scenario

if TYPE_CHECKING:
    from tests.faults.scene import Scene

_SOURCE = Path(__file__).with_name("wall_clock.c")
_BUILD = ("cc", "-O2", "-Wall", "-Werror", "-shared", "-fPIC")
_HOUR_S = 3600
_HOUR_BACK_S = -3660
_STEP = struct.Struct("=q")
_FALSE_ALARM = r"STALLED|UNKNOWN|STOPPED|FAULTED"


@scenario("the clock of the engine jumps an hour ahead and back", 24, peer=False, spoils=True, tools=["cc"],
          never=_FALSE_ALARM, within_s=90)  # fmt: skip
def engine_clock_ahead(scene: Scene) -> None:
    """The clock of the engine is set an hour ahead for 25 s and back again, while it runs."""
    _step_engine(scene, _HOUR_S)


@scenario("the clock of the engine jumps an hour back and ahead", 24, peer=False, spoils=True, tools=["cc"],
          never=_FALSE_ALARM, within_s=90)  # fmt: skip
def engine_clock_behind(scene: Scene) -> None:
    """The clock of the engine is set an hour back for 25 s and ahead again, while it runs."""
    _step_engine(scene, _HOUR_BACK_S)


@scenario("the clocks of the target jump an hour ahead and back", 24, tools=["cc"], spoils=True,
          within_s=90)  # fmt: skip
def target_clocks_ahead(scene: Scene) -> None:
    """The clocks of all brokers of the target are set an hour ahead for 20 s and back again, while they run."""
    _step_target(scene, _HOUR_S)


@scenario("the clocks of the target jump an hour back and ahead", 24, tools=["cc"], spoils=True,
          named="(?i)TIMESTAMP_REFUSED|clock", within_s=90)  # fmt: skip
def target_clocks_behind(scene: Scene) -> None:
    """The clocks of all target brokers are set 61 minutes back for 20 s: records seem to come from the future."""
    _step_target(scene, _HOUR_BACK_S)


def _step_engine(scene: Scene, step_s: int) -> None:
    clock = _Clock()
    with clock.worn():
        scene.restart_twinlog()
    with scene.fault():
        clock.step(step_s)
        scene.hold(25)
        clock.step(0)


def _step_target(scene: Scene, step_s: int) -> None:
    clock = _Clock()
    with clock.worn():
        for broker in scene.target.brokers:
            broker.restart(120)
    scene.hold(5)
    with scene.fault():
        clock.step(step_s)
        scene.hold(20)
        clock.step(0)


class _Clock:
    """A clock that processes started within `worn` look at; the step holds for all of them at once."""

    def __init__(self) -> None:
        folder = Path(tempfile.mkdtemp(prefix="tw"))
        self._file, self._library = folder / "clock", folder / "wall_clock.so"
        self._file.write_bytes(_STEP.pack(0))
        subprocess.run([*_BUILD, "-o", str(self._library), str(_SOURCE)], check=True)

    def step(self, seconds: int) -> None:
        with self._file.open("r+b") as file:
            file.write(_STEP.pack(seconds * 10**9))

    @contextmanager
    def worn(self) -> Iterator[None]:
        env = {"LD_PRELOAD": str(self._library), "WALL_CLOCK_FILE": str(self._file)}
        os.environ.update(env)
        try:
            yield
        finally:
            for name in env:
                del os.environ[name]
