"""The worker of slow checks ends with its service, also when the service is killed."""

from __future__ import annotations

import subprocess
import sys

import psutil
from tests.kit.waiting import wait_until

SERVICE = """
import asyncio, time
from twinlog.registry.checking import _workers, in_worker

if __name__ == "__main__":
    print(asyncio.run(in_worker(list, ["warm"])), flush=True)
    print(*_workers.pool()._processes, flush=True)
    time.sleep(600)
"""


def _alive(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def test_a_killed_service_leaves_no_worker() -> None:
    service = subprocess.Popen([sys.executable, "-c", SERVICE], stdout=subprocess.PIPE, text=True)
    assert service.stdout is not None
    try:
        assert service.stdout.readline() == "['warm']\n"
        (worker,) = map(int, service.stdout.readline().split())
        assert _alive(worker)
    finally:
        service.kill()
        service.wait(10)
    wait_until(lambda: _alive(worker), lambda alive: not alive, within_s=30, what="the worker's end")
