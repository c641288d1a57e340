"""The SHA-256 of every jar that is fetched (jar_hashes.txt): neither a repository nor the way to it can change one.

`python -m twinlog.local.jar_hashes FOLDER…` prints the lines for sets of jars that were fetched and looked at. Versions
of Kafka that are not listed are taken only over a connection that nobody can change.
"""

from __future__ import annotations

import hashlib
import logging
import sys
from functools import cache
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

log = logging.getLogger("twinlog.local")

_LIST: Final = Path(__file__).with_name("jar_hashes.txt")
_HERE: Final = frozenset({"127.0.0.1", "::1", "localhost"})


@cache
def listed() -> dict[str, str]:
    """Jars by name, and their hashes."""
    lines = _LIST.read_text(encoding="utf-8").splitlines()
    return {name: digest for digest, name in (line.split() for line in lines if line and not line.startswith("#"))}


def problem_of(folder: Path, repository: str | None) -> str | None:
    """What is wrong with jars that were just fetched; None when they are what they should be."""
    unlisted = []
    for jar in sorted(folder.glob("*.jar")):
        expected = listed().get(jar.name)
        if expected is None:
            unlisted.append(jar.name)
        elif _digest(jar) != expected:
            return f"{jar.name} is not the jar that was looked at: its SHA-256 differs from the list"
    if unlisted and repository is not None and not _vouched_for(repository):
        return f"the hash of {unlisted[0]} is not listed, and {repository} is not read over https"
    if unlisted:
        log.warning("%d jars have no listed hash, such as %s; https vouches for them", len(unlisted), unlisted[0])
    return None


def _vouched_for(repository: str) -> bool:
    """Whether nobody on the way can change what comes from there."""
    parts = urlsplit(repository)
    return parts.scheme == "https" or parts.hostname in _HERE


def _digest(jar: Path) -> str:
    with jar.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


if __name__ == "__main__":
    jars = {jar.name: _digest(jar) for folder in sys.argv[1:] for jar in Path(folder).glob("*.jar")}
    for name, digest in sorted(jars.items()):
        sys.stdout.write(f"{digest}  {name}\n")
