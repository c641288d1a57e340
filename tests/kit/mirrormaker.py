"""A real MirrorMaker 2 beside the tests, on the same properties file that Twinlog reads."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.kit.ends import Ends

from twinlog.local.jars import CONNECT_MIRROR, class_path, resolve
from twinlog.machine.java import find_java

ONE_BROKER: Final = "replication.factor = 1\n" + "".join(
    f"{what}.replication.factor = 1\n"
    for what in (
        *("offset-syncs.topic", "checkpoints.topic", "heartbeats.topic"),
        *("offset.storage", "status.storage", "config.storage"),
    )
)
_JAVA: Final = ("-Xmx512m", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn")
_STOP_WITHIN_S: Final = 60


class MirrorMaker:
    """One process of it."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def stop(self) -> None:
        """As its operator stops it: it notes its offsets and ends."""
        self._process.terminate()
        self._process.wait(_STOP_WITHIN_S)

    def kill(self) -> None:
        """As a machine dies."""
        self._process.kill()
        self._process.wait(_STOP_WITHIN_S)


def properties_file(ends: Ends, folder: Path, extra: str = "") -> Path:
    """One file for both mirrors."""
    path = folder / f"{ends.alias}.properties"
    path.write_text(ends.properties + ONE_BROKER + extra, encoding="latin-1")
    return path


@contextmanager
def mirrormaker_running(file: Path) -> Iterator[MirrorMaker]:
    """MirrorMaker 2 in its dedicated mode; nothing of it is left at the end."""
    command = [str(find_java().java), *_JAVA, "-cp", class_path(resolve(CONNECT_MIRROR))]
    command += ["org.apache.kafka.connect.mirror.MirrorMaker", str(file)]
    with file.with_suffix(".mm2.log").open("wb") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
    mirror = MirrorMaker(process)
    try:
        yield mirror
    finally:
        if process.poll() is None:
            mirror.kill()
