"""A registry in memory behind a real HTTP server, as a process of its own."""

from __future__ import annotations

import http.client
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from tests.kit.connect_worker import free_port
from tests.kit.waiting import wait_until

from twinlog.registry.memory import MemoryStore
from twinlog.surface.registry.app import RegistryApp
from twinlog.surface.registry.registry import Registry


@contextmanager
def registry_running() -> Iterator[str]:
    """The address of a registry that lives as long as the block."""
    port = free_port()
    process = subprocess.Popen([sys.executable, "-m", "tests.kit.memory_registry", str(port)])
    try:
        wait_until(lambda: _status(port), lambda status: status == 200, within_s=60, what="the registry answers")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(20)


def _status(port: int) -> int | str:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/")
        return connection.getresponse().status
    except OSError as failed:
        return str(failed)
    finally:
        connection.close()


if __name__ == "__main__":
    app = RegistryApp(Registry(MemoryStore(), cluster_id="cluster"))
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning", access_log=False)
