"""A Chromium for the tests of the page: one that is there, or `python -m tests.kit.chromium` gets one.

It tries what needs no rights first: the build that playwright downloads into .state/browsers, then Debian's package.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parents[2] / ".state" / "browsers"
_NAMES: Final = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome")
_ON_MACS: Final = Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")
_WITHIN_S: Final = 600
HOW: Final = f"""\
No Chromium was found, and none could be fetched. Any of these will do:
  apt-get install chromium-headless-shell        (Debian, Ubuntu; as root)
  brew install --cask google-chrome              (macOS)
  PLAYWRIGHT_BROWSERS_PATH={FOLDER} {sys.executable} -m playwright install --with-deps --only-shell chromium
or put any chromium on the PATH. Without one the tests of the page are skipped by `make test`."""


def find_chromium() -> str | None:
    """Return the path of a Chromium that starts; None when there is none."""
    return next((path for path in _candidates() if _starts(path)), None)


def _candidates() -> Iterator[str]:
    yield from filter(None, map(shutil.which, _NAMES))
    yield from map(str, sorted(FOLDER.glob("chromium*/*/*headless*shell")))
    if _ON_MACS.exists():
        yield str(_ON_MACS)


def _starts(path: str) -> bool:
    """Tell whether it runs at all: a downloaded one may lack libraries of the system."""
    return _run([path, "--version"], 30)


def _run(command: Sequence[str], within_s: int = _WITHIN_S, env: Mapping[str, str] | None = None) -> bool:
    quiet = within_s < _WITHIN_S
    try:
        done = subprocess.run(
            command, check=False, capture_output=quiet, timeout=within_s, env={**os.environ, **(env or {})}
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        print(f"{command[0]}: {error}", file=sys.stderr)
        return False
    return done.returncode == 0


def get_chromium() -> str | None:
    """Find one, or fetch one."""
    found = find_chromium()
    if found is None:
        print(f"no Chromium here: fetching one into {FOLDER}", flush=True)
        install = [sys.executable, "-m", "playwright", "install", "--only-shell", "chromium"]
        _run(install, env={"PLAYWRIGHT_BROWSERS_PATH": str(FOLDER)})
        found = find_chromium()
    apt = shutil.which("apt-get")
    if found is None and apt is not None and os.geteuid() == 0:
        print("trying Debian's package", flush=True)
        _run([apt, "install", "--yes", "--no-install-recommends", "chromium-headless-shell"])
        found = find_chromium()
    return found


if __name__ == "__main__":
    there = get_chromium()
    print(f"Chromium: {there}" if there else HOW, file=sys.stdout if there else sys.stderr)
    sys.exit(0 if there else 1)
