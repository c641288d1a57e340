"""Faults of clocks: steps of an hour under a running engine and under running brokers.

The wall clock of the processes jumps, as when an administrator or NTP sets it; the monotonic clock goes on, as it does
on every real machine. wall_clock.c stands between the processes and the C library for that. (libfaketime cannot be
used: it sets the monotonic clock back, too, or it breaks `time.sleep` of Python.)
"""

from __future__ import annotations

import contextlib
import os
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from tests.faults.scenario import scenario

if TYPE_CHECKING:
    from tests.faults.scene import Scene
    from tests.faults.site import Site

_SOURCE = Path(__file__).with_name("wall_clock.c")
_BUILD = ("cc", "-O2", "-Wall", "-Werror", "-shared", "-fPIC")
_HOUR_S = 3600
_HOUR_BACK_S = -3660
_STAMPED = "stamped-by-brokers"
_STEP = struct.Struct("=q")
_FALSE_ALARM = r"STALLED|UNKNOWN|STOPPED|FAULTED"
_HARMLESS = "no promise depends on a clock that is right"


@scenario("the clock of the engine jumps an hour ahead and back", 24, peer=False, spoils=True, tools=["cc"],
          never=_FALSE_ALARM, unnoticed=_HARMLESS, within_s=90)  # fmt: skip
def engine_clock_ahead(scene: Scene) -> None:
    """The clock of the engine is set an hour ahead for 25 s and back again, while it runs."""
    _step_engine(scene, _HOUR_S)


@scenario("the clock of the engine jumps an hour back and ahead", 24, peer=False, spoils=True, tools=["cc"],
          never=_FALSE_ALARM, unnoticed=_HARMLESS, within_s=90)  # fmt: skip
def engine_clock_behind(scene: Scene) -> None:
    """The clock of the engine is set an hour back for 25 s and ahead again, while it runs."""
    _step_engine(scene, _HOUR_BACK_S)


@scenario("the clocks of the target jump an hour ahead and back", 24, tools=["cc"], spoils=True,
          unnoticed=_HARMLESS, within_s=90)  # fmt: skip
def target_clocks_ahead(scene: Scene) -> None:
    """The clocks of all brokers of the target are set an hour ahead for 20 s and back again, while they run."""
    _step_target(scene, _HOUR_S)


@scenario("the clocks of the target jump an hour back and ahead", 24, tools=["cc"], spoils=True,
          named=r"TIMESTAMP_REFUSED <orders>-\d: ", within_s=90)  # fmt: skip
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
        told_s = scene.eye.answers()[-1].facts["engine"]["at_ms"] / 1000 - time.time()
        scene.effect(abs(told_s - step_s) < 120, f"the engine wrote times of {told_s:+,.0f} s")
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
        told_s = _time_of(scene.target) - time.time()
        scene.effect(abs(told_s - step_s) < 120, f"the brokers wrote times of {told_s:+,.0f} s")
        clock.step(0)


def _time_of(site: Site) -> float:
    """The time that a broker gives to a record which it takes now."""
    with contextlib.suppress(KafkaException):  # it is there already
        topic = NewTopic(_STAMPED, 1, config={"message.timestamp.type": "LogAppendTime"})
        AdminClient({"bootstrap.servers": site.bootstrap_servers, "log_level": 0}).create_topics([topic])[
            _STAMPED
        ].result(30)
    seen: list[int] = []
    producer = Producer({"bootstrap.servers": site.bootstrap_servers, "log_level": 0})
    producer.produce(_STAMPED, b"?", on_delivery=lambda _, message: seen.append(message.timestamp()[1]))
    assert producer.flush(30) == 0
    return seen[0] / 1000


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
