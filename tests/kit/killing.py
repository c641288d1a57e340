"""A worker's processes are killed one after the other."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

from tests.kit.connect_process import ConnectProcess, Victim
from tests.kit.waiting import wait_until

PATIENCE_S = 240.0
VICTIMS: tuple[Victim, ...] = ("python", "jvm", "worker", "python", "worker")


def faults(
    worker: ConnectProcess, start: Callable[[], ConnectProcess], seen: Callable[[], int], dice: random.Random
) -> None:
    """Kill each kind of victim once the target has moved on since the last kill."""
    for victim in VICTIMS:
        before = seen()
        wait_until(seen, lambda now, least=before: now > least, within_s=PATIENCE_S, what=f"news before the {victim}")  # type: ignore[misc]
        time.sleep(dice.random())
        worker.kill(victim, dice.choice)
        if victim == "worker":
            worker = start()
