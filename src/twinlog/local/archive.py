"""Halve the start of a broker with a class archive: Java's own cache of loaded classes.

A JVM writes the archive when it ends, so the first broker on a machine records while it runs and the next ones use
it. It is valid for one runtime and one class path; the JVM ignores one that does not fit.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

from twinlog.local.jars import JarSet
from twinlog.machine.folders import cache_folder
from twinlog.machine.java import JavaRuntime

_AHEAD_OF_TIME = 25
"""From this version on Java has the better cache, which needs no archive shipped with the runtime."""


def archive_path(runtime: JavaRuntime, jar_set: JarSet) -> Path:
    """Name the archive of this runtime and these jars."""
    owner = hashlib.sha256(f"{runtime.home} {runtime.version}".encode()).hexdigest()[:12]
    return cache_folder() / "archives" / f"{jar_set.key}-{owner}.jsa"


def archive_options(runtime: JavaRuntime, archive: Path, recording: Path) -> list[str]:
    """Return the options that use the archive or, if there is none yet, record one into `recording`."""
    if runtime.version >= _AHEAD_OF_TIME:
        return [f"-XX:AOTCache={archive}"] if archive.exists() else [f"-XX:AOTCacheOutput={recording}"]
    if archive.exists():
        return [f"-XX:SharedArchiveFile={archive}"]
    # Recording builds on the archive of the JDK's own classes, which slim runtimes leave out.
    if (runtime.home / "lib" / "server" / "classes.jsa").exists():
        return [f"-XX:ArchiveClassesAtExit={recording}"]
    return []


def adopt_recording(recording: Path, archive: Path) -> None:
    """Move what an orderly ended JVM recorded into the cache; the first one stays."""
    if recording.exists() and not archive.exists():
        archive.parent.mkdir(parents=True, exist_ok=True)
        # The cache may be on another disk, where a move is not atomic.
        unfinished = archive.with_name(f".{archive.name}.{os.getpid()}")
        shutil.copyfile(recording, unfinished)
        unfinished.replace(archive)
    recording.unlink(missing_ok=True)
