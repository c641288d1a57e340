"""Servers of Debian packages, unpacked into .state/debian: this needs no rights and starts no service.

Only what the machine lacks is fetched. On other systems the server must be on the PATH already.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parents[2] / ".state" / "debian"
_SYSTEM: Final = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/sbin"))
_WITHIN_S: Final = 300


class NotHere(Exception):
    """A server is not installed and its package cannot be had."""


def server_command(program: str, package: str) -> tuple[str, dict[str, str]]:
    """Return the path of a server and the environment in which it finds its libraries; fetch it if need be."""
    installed = shutil.which(program, path=_SYSTEM)
    if installed is not None:
        return installed, dict(os.environ)
    root = _unpacked(package)
    path = shutil.which(program, path=os.pathsep.join(str(root / place) for place in ("usr/sbin", "usr/bin", "sbin")))
    if path is None:
        raise NotHere(f"Debian's package {package} holds no {program}")
    libraries = sorted({str(library.parent) for library in root.glob("usr/lib/**/*.so*")})
    return path, {**os.environ, "LD_LIBRARY_PATH": os.pathsep.join(libraries)}


def _unpacked(package: str) -> Path:
    """Return the folder with the package and all that it needs and this machine lacks."""
    complete = FOLDER / package
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / f".{package}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not complete.is_dir():
            _unpack(package, complete)
    return complete


def _unpack(package: str, complete: Path) -> None:
    if shutil.which("apt-get") is None:
        raise NotHere(f"install {package}: it can be fetched on Debian and Ubuntu only")
    partial = FOLDER / f".{package}"
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    _run(["apt-get", "download", *_missing(package)], partial)
    for file in sorted(partial.glob("*.deb")):
        _run(["dpkg", "-x", file.name, "."], partial)
        file.unlink()
    partial.rename(complete)


def _missing(package: str) -> list[str]:
    """Names of the packages that an installation would add."""
    plan = _run(["apt-get", "install", "--simulate", "--no-install-recommends", package], FOLDER)
    return [line.split()[1] for line in plan.splitlines() if line.startswith("Inst ")]


def _run(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=_WITHIN_S, check=False)
    if done.returncode != 0:
        raise NotHere(f"{' '.join(command)}: {(done.stderr or done.stdout).strip()[-1000:]}")
    return done.stdout
