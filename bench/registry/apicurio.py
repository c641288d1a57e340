"""Apicurio 3 as a process beside: its own server with a database in memory, asked through its Confluent face."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.kit.registry import free_port

from twinlog.machine.folders import cache_folder
from twinlog.machine.java import find_java

VERSION = "3.0.9"
BASE = "/apis/ccompat/v7"
WARM_S = 40.0
"""A JVM that has just started answers a tenth of what it answers later."""


class Apicurio:
    """A running server."""

    def __init__(self, port: int, pid: int) -> None:
        self.port, self.pid, self.base = port, pid, BASE

    @property
    def cpu_s(self) -> float:
        parts = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def rss_mib(self) -> float:
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def _runner() -> Path:
    """The server's jar; Maven fetches it once per machine."""
    folder = cache_folder() / f"apicurio-{VERSION}"
    if not list(folder.glob("**/*-runner.jar")):
        folder.mkdir(parents=True, exist_ok=True)
        artifact = f"io.apicurio:apicurio-registry-app:{VERSION}:zip:all"
        command = ["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={folder}"]
        subprocess.run(command, check=True, timeout=600)
        (packed,) = folder.glob("*.zip")
        with zipfile.ZipFile(packed) as archive:
            archive.extractall(folder)
        packed.unlink()
    (jar,) = folder.glob("**/*-runner.jar")
    return jar


@contextmanager
def running(folder: Path) -> Iterator[Apicurio | None]:
    """The server while the block lasts; None where Maven is missing."""
    if shutil.which("mvn") is None:
        yield None
        return
    port = free_port()
    options = ["-Xmx512m", "-Dquarkus.http.host=127.0.0.1", f"-Dquarkus.http.port={port}"]
    with (folder / "apicurio.log").open("wb") as log:
        process = subprocess.Popen(
            [str(find_java().java), *options, "-jar", str(_runner())], stdout=log, stderr=log, cwd=folder
        )
    try:
        _await(port, process)
        yield Apicurio(port, process.pid)
    finally:
        process.kill()
        process.wait(20)


def _await(port: int, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 120
    while time.monotonic() < until and process.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{BASE}/subjects", timeout=5):
                return
        except OSError:
            time.sleep(0.3)
    raise RuntimeError("Apicurio did not start")
