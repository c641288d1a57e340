"""Faults of clocks: steps of an hour under a running engine and under running brokers (libfaketime).

All clocks of the processes jump, also the monotonic one, which no real step moves: their timers fire at once. That is
harsher than what an administrator or NTP can do. (Without it, libfaketime breaks `time.sleep` of Python.)
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.faults.scenario import scenario

if TYPE_CHECKING:
    from tests.faults.scene import Scene

_LIBRARIES = ("/usr/lib/x86_64-linux-gnu/faketime", "/usr/lib/aarch64-linux-gnu/faketime", "/usr/lib/faketime")
_HOUR = "+3600"
_HOUR_BACK = "-3660"
_FALSE_ALARM = r"STALLED|UNKNOWN|STOPPED|FAULTED"


@scenario("the clock of the engine jumps an hour ahead and back", 24, peer=False, spoils=True, tools=["faketime"],
          never=_FALSE_ALARM, within_s=90)  # fmt: skip
def engine_clock_ahead(scene: Scene) -> None:
    """All clocks of the engine are set an hour ahead for 25 s and back again, while it runs."""
    _step_engine(scene, _HOUR)


@scenario("the clock of the engine jumps an hour back and ahead", 24, peer=False, spoils=True, tools=["faketime"],
          never=_FALSE_ALARM, within_s=90)  # fmt: skip
def engine_clock_behind(scene: Scene) -> None:
    """All clocks of the engine are set an hour back for 25 s and ahead again, while it runs."""
    _step_engine(scene, _HOUR_BACK)


@scenario("the clocks of the target jump an hour ahead and back", 24, tools=["faketime"], spoils=True,
          within_s=90)  # fmt: skip
def target_clocks_ahead(scene: Scene) -> None:
    """The clocks of all brokers of the target are set an hour ahead for 20 s and back again, while they run."""
    _step_target(scene, _HOUR)


@scenario("the clocks of the target jump an hour back and ahead", 24, tools=["faketime"], spoils=True,
          named="(?i)TIMESTAMP_REFUSED|clock", within_s=90)  # fmt: skip
def target_clocks_behind(scene: Scene) -> None:
    """The clocks of all target brokers are set 61 minutes back for 20 s: records seem to come from the future."""
    _step_target(scene, _HOUR_BACK)


def _step_engine(scene: Scene, step: str) -> None:
    clock = _Clock()
    with clock.worn():
        scene.restart_twinlog()
    with scene.fault():
        clock.step(step)
        scene.hold(25)
        clock.step("+0")


def _step_target(scene: Scene, step: str) -> None:
    clock = _Clock()
    with clock.worn():
        for broker in scene.target.brokers:
            broker.restart(120)
    scene.hold(5)
    with scene.fault():
        clock.step(step)
        scene.hold(20)
        clock.step("+0")


class _Clock:
    """A clock that processes started within `worn` look at; the step holds for all of them at once."""

    def __init__(self) -> None:
        self._file = Path(tempfile.mkdtemp(prefix="tw")) / "clock"
        self._file.write_text("+0\n")
        found = [path for folder in _LIBRARIES if (path := Path(folder, "libfaketimeMT.so.1")).exists()]
        assert found, "libfaketimeMT.so.1 is not installed"
        self._library = str(found[0])

    def step(self, seconds: str) -> None:
        new = self._file.with_suffix(".new")
        new.write_text(f"{seconds}\n")
        new.replace(self._file)

    @contextmanager
    def worn(self) -> Iterator[None]:
        env = {
            "LD_PRELOAD": self._library,
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_NO_CACHE": "1",
        }
        os.environ.update(env)
        try:
            yield
        finally:
            for name in env:
                del os.environ[name]
