"""The mirrors under test as processes, and a supervisor that starts them again as systemd would."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Protocol

import psutil
from tests.faults.site import Site
from tests.kit.ends import Ends
from tests.kit.engine import EngineProcess

from twinlog.local.jars import CONNECT_MIRROR, class_path, resolve
from twinlog.machine.java import find_java

RESTART_S = 5.0
"""RestartSec of deploy/systemd/twinlog@.service."""
_LEFT_ALONE = {2, 4}
"""Exit codes after which that unit does not start again."""
_PEER_JAVA = ("-Xmx512m", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn")


class Mirror(Protocol):
    """One mirror between two sites."""

    name: str
    held: bool
    """The supervisor leaves it alone."""

    def remote(self, topic: str) -> str: ...
    def start(self) -> None: ...
    def kill(self) -> None: ...
    def alive(self) -> bool: ...
    def supervise(self) -> None: ...
    def close(self) -> None: ...
    def last_words(self) -> str: ...
    def processes(self) -> list[psutil.Process]: ...


class _Supervised:
    """Starts what died again, after a while."""

    held = False
    restarts = 0
    """How often the supervisor had to start it."""
    _dead_since: float | None = None

    def alive(self) -> bool:
        raise NotImplementedError

    def start(self) -> None:
        raise NotImplementedError

    def may_restart(self) -> bool:
        return True

    def supervise(self) -> None:
        """Called often: notice a death, and start again when its time has come."""
        if self.held or self.alive() or not self.may_restart():
            self._dead_since = None
            return
        now = time.monotonic()
        self._dead_since = self._dead_since or now
        if now - self._dead_since >= RESTART_S:
            self._dead_since = None
            self.restarts += 1
            self.start()


class WanEnds(Ends):
    """Ends whose settings file leads mirrors to the listener that can be cut; the test itself takes the other one."""

    source_cluster: Site
    target_cluster: Site

    def write_file(self, folder: Path) -> Path:
        path = folder / f"{self.alias}.properties"
        path.write_text(self.mirror_properties, encoding="latin-1")
        return path

    @property
    def mirror_properties(self) -> str:
        text = self.properties
        for site in (self.source_cluster, self.target_cluster):
            if isinstance(site, Site):
                text = text.replace(f" = {site.bootstrap_servers}", f" = {site.wan_servers}")
        return text


class Twinlog(_Supervised):
    """`twinlog run` with real Spark."""

    name = "Twinlog"

    def __init__(self, ends: Ends, folder: Path, *arguments: str) -> None:
        self.ends = ends
        self.folder = folder
        self.file = ends.write_file(folder)
        self._arguments = arguments
        self.process: EngineProcess | None = None

    def remote(self, topic: str) -> str:
        return self.ends.remote(topic)

    @property
    def engine(self) -> EngineProcess:
        assert self.process is not None, "Twinlog was never started"
        return self.process

    def start(self) -> None:
        if self.process is not None:
            self.process.clean_up()
        self.process = EngineProcess(self.ends, self.folder, *self._arguments, settings=self.file)

    def alive(self) -> bool:
        return self.process is not None and self.process.exit_code is None

    def may_restart(self) -> bool:
        return self.process is not None and self.process.exit_code not in _LEFT_ALONE

    def kill(self) -> None:
        self.engine.kill_all()

    def close(self) -> None:
        if self.process is not None:
            self.process.clean_up()

    def processes(self) -> list[psutil.Process]:
        return [psutil.Process(self.engine.pid), *self.engine.family()] if self.alive() else []

    def last_words(self) -> str:
        return "" if self.process is None else self.process.output[-3000:]


class MirrorMaker(_Supervised):
    """MirrorMaker 2 in its dedicated mode, with its defaults; only intervals are short, as for Twinlog."""

    name = "MirrorMaker 2"

    def __init__(self, ends: WanEnds, folder: Path) -> None:
        self.alias = f"m{ends.alias}"
        self.folder = folder
        self.log = folder / f"{self.alias}.log"
        factor = len(ends.target_cluster.brokers)
        factors = ("replication.factor", *(f"{what}.replication.factor" for what in _INTERNAL))
        link = f"{self.alias}->T"
        lines = {
            "clusters": f"{self.alias}, T",
            f"{self.alias}.bootstrap.servers": ends.source_cluster.wan_servers,
            "T.bootstrap.servers": ends.target_cluster.wan_servers,
            f"{link}.enabled": "true",
            f"{link}.topics": f"{ends.prefix}.*",
            "tasks.max": "2",
            "refresh.topics.interval.seconds": "2",
            **dict.fromkeys(factors, str(min(3, factor))),
        }
        self.file = folder / f"{self.alias}.properties"
        self.file.write_text("".join(f"{key} = {value}\n" for key, value in lines.items()), encoding="latin-1")
        self.process: subprocess.Popen[bytes] | None = None

    def remote(self, topic: str) -> str:
        return f"{self.alias}.{topic}"

    def start(self) -> None:
        command = [str(find_java().java), *_PEER_JAVA, "-cp", class_path(resolve(CONNECT_MIRROR))]
        command += ["org.apache.kafka.connect.mirror.MirrorMaker", str(self.file)]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)

    def alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def close(self) -> None:
        self.kill()

    def processes(self) -> list[psutil.Process]:
        return [psutil.Process(self.process.pid)] if self.process is not None and self.alive() else []

    def last_words(self) -> str:
        with contextlib.suppress(FileNotFoundError):
            return self.log.read_text(encoding="utf-8", errors="replace")[-3000:]
        return ""


_INTERNAL = (
    *("offset-syncs.topic", "checkpoints.topic", "heartbeats.topic"),
    *("offset.storage", "status.storage", "config.storage"),
)


def scratch(prefix: str) -> Path:
    """A short-lived folder; sockets live in some, so the name is short."""
    return Path(tempfile.mkdtemp(prefix=prefix, dir=os.environ.get("TMPDIR")))


def remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
