"""Fetch the jars of Kafka and its tools from Maven Central, once per machine.

Ivy does the work; it ships inside pyspark, so neither Docker nor a tarball nor another tool is needed. A set lands in
the user's cache under a name made of its pinned versions: present means complete, and a second call costs nothing.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
import urllib.parse
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from xml.sax.saxutils import quoteattr

from twinlog.errors import JarsUnavailable
from twinlog.local.jar_hashes import problem_of
from twinlog.machine.folders import cache_folder
from twinlog.machine.java import find_java

KAFKA_VERSION = "4.3.1"
CENTRAL = "Maven Central"
"""Where Ivy looks unless told otherwise: it knows the address itself, and reads it over https."""


@dataclass(frozen=True, slots=True)
class Module:
    """One artifact with its pinned version; `alone` leaves out what it depends on."""

    organisation: str
    name: str
    revision: str
    alone: bool = False


@dataclass(frozen=True, slots=True)
class JarSet:
    """A class path with a name."""

    name: str
    modules: tuple[Module, ...]

    @property
    def key(self) -> str:
        """Name the set's folder in the cache; another version of anything is another folder."""
        return f"{self.name}-{hashlib.sha256(repr(self.modules).encode()).hexdigest()[:12]}"


def kafka_jars(version: str) -> JarSet:
    """Return broker and command-line tools of one Kafka version."""
    return JarSet(
        "kafka",
        (
            Module("org.apache.kafka", "kafka_2.13", version),
            # The console tools. With all they depend on they would bring a web server; the commands we run do without.
            Module("org.apache.kafka", "kafka-tools", version, alone=True),
            # Prints the broker's log to its standard error, from where we read it.
            Module("org.slf4j", "slf4j-simple", "1.7.36"),
        ),
    )


KAFKA = kafka_jars(KAFKA_VERSION)
"""Broker and command-line tools of the version that runs unless another one is asked for."""

CONNECT_MIRROR = JarSet(
    "connect-mirror",
    (
        *KAFKA.modules,
        Module("org.apache.kafka", "connect-mirror", KAFKA_VERSION),
        Module("org.apache.kafka", "connect-mirror-client", KAFKA_VERSION),
        Module("org.apache.kafka", "connect-runtime", KAFKA_VERSION),
        Module("org.apache.kafka", "connect-json", KAFKA_VERSION),
    ),
)
"""MirrorMaker 2 with everything it runs on: the peer in benchmarks and the oracle in compatibility tests."""


@dataclass(frozen=True, slots=True)
class JarProgress:
    """How far a set is: modules found while `resolving`, jars fetched of `total` while `downloading`."""

    phase: Literal["resolving", "downloading"]
    done: int
    total: int | None
    what: str


OnProgress = Callable[[JarProgress], None]


def resolve(jar_set: JarSet, on_progress: OnProgress | None = None) -> tuple[Path, ...]:
    """Return the jars of the set in a fixed order, fetching them first if this machine never did."""
    home = cache_folder() / "jars"
    complete = home / jar_set.key
    if not complete.is_dir():
        home.mkdir(parents=True, exist_ok=True)
        with _one_at_a_time(home / ".lock"):
            # Somebody else may have fetched the set while we waited for the lock.
            if not complete.is_dir():
                _fetch(jar_set, home, complete, on_progress or (lambda _: None))
    # A class archive is valid for one class path only, so the order must never change.
    return tuple(sorted(complete.glob("*.jar")))


def is_fetched(jar_set: JarSet) -> bool:
    """Tell whether this machine has the set already."""
    return (cache_folder() / "jars" / jar_set.key).is_dir()


def class_path(jars: tuple[Path, ...]) -> str:
    """Return the jars as the JVM's `-cp` takes them."""
    return os.pathsep.join(str(jar) for jar in jars)


@contextlib.contextmanager
def _one_at_a_time(lock: Path) -> Iterator[None]:
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def _fetch(jar_set: JarSet, home: Path, complete: Path, on_progress: OnProgress) -> None:
    repository = os.environ.get("TWINLOG_MAVEN_URL")
    # The lock is ours, so whoever left these was killed half way.
    for leftover in home.glob(".fetching-*"):
        shutil.rmtree(leftover, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=".fetching-", dir=home) as workplace:
        work = Path(workplace)
        (work / "ivy.xml").write_text(_ivy_module(jar_set), encoding="utf-8")
        (work / "settings.xml").write_text(_ivy_settings(repository), encoding="utf-8")
        command = [
            str(find_java().java),
            *_proxy_options(),
            *("-jar", str(_ivy_jar())),
            *("-settings", str(work / "settings.xml"), "-ivy", str(work / "ivy.xml"), "-cache", str(work / "cache")),
            *("-confs", "default", "-retrieve", str(work / "jars" / "[artifact]-[revision].[ext]")),
            # Some of Kafka's dependencies are published as OSGi bundles; "jar" alone leaves them out, silently.
            *("-types", "jar", "bundle"),
        ]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as ivy:
            assert ivy.stdout is not None  # noqa: S101 - for the type checker; PIPE was asked for
            said = _follow(ivy.stdout, on_progress)
        fetched = work / "jars"
        if ivy.returncode != 0 or not fetched.is_dir():
            raise JarsUnavailable(jar_set=jar_set.name, repository=repository or CENTRAL, problem=_complaint(said))
        if (problem := problem_of(fetched, repository)) is not None:
            raise JarsUnavailable(jar_set=jar_set.name, repository=repository or CENTRAL, problem=problem)
        fetched.rename(complete)


def _follow(output: Iterator[str], on_progress: OnProgress) -> deque[str]:
    """Turn Ivy's report into progress; keep its last lines for an error."""
    said: deque[str] = deque(maxlen=200)
    resolved = fetched = 0
    for line in output:
        said.append(line.rstrip())
        if match := re.match(r"\s*found \S+#(\S+) in ", line):
            resolved += 1
            on_progress(JarProgress("resolving", resolved, None, match.group(1).replace(";", " ")))
        elif match := re.match(r"\s*\[SUCCESSFUL \] \S+#\S+!(\S+)", line):
            fetched += 1
            on_progress(JarProgress("downloading", fetched, resolved, match.group(1)))
    return said


def _complaint(said: deque[str]) -> str:
    """Pick from Ivy's report the line that says why."""
    reasons = [line.strip() for line in said if re.search(r"not found|Exception|FAILED|ERROR", line, re.IGNORECASE)]
    # One unreachable repository makes a complaint per module; the first tells it all.
    return reasons[0] if reasons else (said[-1].strip() if said else "Ivy said nothing")


def _ivy_module(jar_set: JarSet) -> str:
    dependencies = "\n".join(
        f"    <dependency org={quoteattr(module.organisation)} name={quoteattr(module.name)}"
        f' rev={quoteattr(module.revision)} conf="default->default" transitive="{str(not module.alone).lower()}"/>'
        for module in jar_set.modules
    )
    return f"""<ivy-module version="2.0">
  <info organisation="twinlog" module={quoteattr(jar_set.name)}/>
  <configurations><conf name="default"/></configurations>
  <dependencies>
{dependencies}
  </dependencies>
</ivy-module>
"""


def _ivy_settings(repository: str | None) -> str:
    root = "" if repository is None else f" root={quoteattr(repository)}"
    return f"""<ivysettings>
  <settings defaultResolver="maven"/>
  <resolvers><ibiblio name="maven" m2compatible="true"{root}/></resolvers>
</ivysettings>
"""


def _ivy_jar() -> Path:
    # Located, not imported: importing pyspark takes a second that a second call should not pay.
    pyspark = importlib.util.find_spec("pyspark")
    folder = Path(pyspark.origin).parent / "jars" if pyspark and pyspark.origin else Path("pyspark")
    jars = sorted(folder.glob("ivy-*.jar"))
    if not jars:
        raise JarsUnavailable(jar_set="ivy", repository=str(folder), problem="this pyspark has no Ivy inside")
    return jars[-1]


def _proxy_options() -> list[str]:
    """Hand the proxy of the environment to the JVM, which does not look there by itself."""
    proxy = urllib.parse.urlsplit(os.environ.get("HTTPS_PROXY") or os.environ.get("https_proxy") or "")
    if not proxy.hostname:
        return []
    return [f"-Dhttps.proxyHost={proxy.hostname}", f"-Dhttps.proxyPort={proxy.port or 3128}"]
