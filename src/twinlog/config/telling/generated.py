"""Files of the sources that are made from the code: written anew (`make reference`), or compared (`make check`).

Runs at the root of the sources.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path


def keep(files: Mapping[Path, str], origin: str, arguments: list[str]) -> int:
    """Write the files, or with --check return 1 if one is not what `origin` says now."""
    if arguments == ["--check"]:
        stale = [path for path, wanted in files.items() if not _holds(path, wanted)]
        for path in stale:
            sys.stderr.write(f"{path}: it is not what {origin} now; run `make reference`\n")
        return int(bool(stale))
    for path, wanted in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(wanted, encoding="utf-8")
    return 0


def _holds(path: Path, wanted: str) -> bool:
    return path.exists() and path.read_text(encoding="utf-8") == wanted
