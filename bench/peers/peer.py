"""A mirror under measurement: how it is started and ended, whichever it is."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import psutil
from bench.clusters import Pair

_END_WITHIN_S = 15.0


@dataclass(frozen=True)
class Errand:
    """One run of one mirror: what to copy, under names of its own, so that no run meets another's state."""

    pair: Pair
    number: int
    topic: str
    partitions: int

    @property
    def source(self) -> str:
        """The alias of the source cluster."""
        return f"s{self.number}"

    @property
    def target(self) -> str:
        return f"t{self.number}"

    @property
    def remote(self) -> str:
        """The topic on the target."""
        return f"{self.source}.{self.topic}"

    @property
    def folder(self) -> Path:
        folder = self.pair.folder / f"run-{self.number}"
        folder.mkdir(exist_ok=True)
        return folder

    def properties_file(self, settings: Mapping[str, str]) -> Path:
        """The file that MirrorMaker 2 and Twinlog both read, with these settings added."""
        link = f"{self.source}->{self.target}"
        lines = {
            "clusters": f"{self.source}, {self.target}",
            f"{self.source}.bootstrap.servers": self.pair.mirror_servers("source"),
            f"{self.target}.bootstrap.servers": self.pair.mirror_servers("target"),
            f"{link}.enabled": "true",
            f"{link}.topics": self.topic,
            **{key.replace("LINK", link).replace("SOURCE", self.source): value for key, value in settings.items()},
        }
        file = self.folder / "links.properties"
        file.write_text("".join(f"{key} = {value}\n" for key, value in lines.items()), encoding="latin-1")
        return file


class Peer(Protocol):
    """One mirror."""

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def settings(self) -> str: ...

    def command(self, errand: Errand) -> list[str]:
        """What to run for this errand; called once, so that files and topics it needs can be made."""


@contextmanager
def running(peer: Peer, errand: Errand) -> Iterator[subprocess.Popen[bytes]]:
    """The mirror at work; at the end none of its processes is left."""
    command = peer.command(errand)
    with (errand.folder / "output.log").open("wb") as log:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
        )
    try:
        yield process
    finally:
        _end(process)


def output_tail(errand: Errand, lines: int = 15) -> str:
    """The last words of a mirror, for when it does not do its work."""
    text = (errand.folder / "output.log").read_text(encoding="utf-8", errors="replace")
    return "\n".join(text.splitlines()[-lines:])


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(psutil.NoSuchProcess):
        # Known before the end, because orphans are not found as children.
        family = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(_END_WITHIN_S)
        except subprocess.TimeoutExpired:
            process.kill()
        _, left = psutil.wait_procs(family, timeout=3)
        for straggler in left:
            with contextlib.suppress(psutil.NoSuchProcess):
                straggler.kill()
    process.wait()
