"""Servers that speak S3: moto's, which is a Python package, and gofakes3, which Go builds once per machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.request import Request, urlopen

from tests.kit.connect_worker import free_port
from tests.kit.waiting import wait_until

from twinlog.machine.folders import cache_folder

_GOFAKES3: Final = "github.com/johannesboyne/gofakes3/cmd/gofakes3@v1.2.0"


def gofakes3() -> Path:
    """The program, built if it is not there."""
    folder = cache_folder() / "gofakes3-1.2.0"
    program = folder / "gofakes3"
    if not program.exists():
        go = shutil.which("go")
        assert go is not None, "this test needs Go: it builds gofakes3"
        subprocess.run([go, "install", _GOFAKES3], check=True, env={**os.environ, "GOBIN": str(folder)}, timeout=600)
    return program


@contextmanager
def s3_server(name: str) -> Iterator[str]:
    """The address of a server with the bucket `lake`, while the block runs."""
    port = free_port()
    command = {
        "moto": lambda: [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        "gofakes3": lambda: [str(gofakes3()), "-host", f"127.0.0.1:{port}", "-backend", "memory"],
    }[name]()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"

    def made() -> int | str:
        try:
            with urlopen(Request(f"{url}/lake", method="PUT"), timeout=5) as answer:  # noqa: S310
                return int(answer.status)
        except OSError as error:
            return str(error)

    try:
        wait_until(made, lambda status: status == 200, within_s=60, what="a bucket")
        yield url
    finally:
        process.terminate()
        process.wait(20)
