"""Where a run lives: a network, a process tree and mounts of its own, so that nothing of it can be left behind.

The runner starts itself again in new namespaces. There only the loopback interface exists, so packets can be dropped
by port without touching anybody else; tmpfs mounts are private; when the runner ends, the kernel ends all it started.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence

_INSIDE = "TWINLOG_FAULTS_INSIDE"
_PACKAGES = {"nft": "nftables", "cc": "build-essential", "strace": "strace", "ip": "iproute2"}
_NAMESPACES = ("--net", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child")


class ToolMissing(Exception):
    """A program that injects faults is not here and cannot be installed."""


def inside() -> bool:
    return os.environ.get(_INSIDE) == "1"


def missing_tools(names: Iterable[str]) -> list[str]:
    """Which of the programs are missing after an attempt to install them."""
    wanted = [name for name in names if shutil.which(name, path=_path()) is None]
    if wanted and shutil.which("apt-get"):
        packages = [_PACKAGES[name] for name in wanted]
        print(f"installing {', '.join(packages)}", flush=True)
        for command in (["apt-get", "update", "-q"], ["apt-get", "install", "-q", "-y", *packages]):
            subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return [name for name in wanted if shutil.which(name, path=_path()) is None]


def why_not() -> str | None:
    """Why namespaces cannot be made here; None when they can."""
    tried = subprocess.run(["unshare", *_NAMESPACES, "true"], capture_output=True, text=True, check=False)
    return None if tried.returncode == 0 else (tried.stderr.strip() or "unshare fails")


def enter(arguments: Sequence[str]) -> int:
    """Run this program again within namespaces; return its exit code. However we end, the kernel ends it, too."""
    command = [
        "setpriv",
        "--pdeathsig",
        "KILL",
        "unshare",
        *_NAMESPACES,
        sys.executable,
        "-m",
        "tests.faults",
        *arguments,
    ]
    with subprocess.Popen(command, env=os.environ | {_INSIDE: "1", "PATH": _path()}) as run:
        try:
            return run.wait()
        except BaseException:
            run.kill()
            raise


def arrange() -> None:
    """The first thing to do inside: a network that consists of the loopback interface."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


def _path() -> str:
    return os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
