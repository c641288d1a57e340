"""`make scan`: known holes in what is installed with Twinlog, or the plain word that nothing was scanned.

    python -m tests.scan REQUIREMENTS                   asks PyPI (pip-audit does the asking), if PyPI can be asked
    python -m tests.scan REQUIREMENTS --advisories DIR  compares with a checkout of github.com/pypa/advisory-database

Exit code 0: scanned, nothing found. 1: something was found. 2: nothing was scanned.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml
from packaging.version import InvalidVersion, Version

LOCK: Final = Path(__file__).parents[1] / "uv.lock"
PIP_AUDIT: Final = "pip-audit==2.10.1"
_PIN: Final = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^]]*\])?==([^ ;\\]+)")


def pins(text: str) -> dict[str, str]:
    """Packages with their versions, by the name that PyPI gives them."""
    matches = filter(None, map(_PIN.match, text.splitlines()))
    return {re.sub(r"[-_.]+", "-", match.group(1)).lower(): match.group(2) for match in matches}


def is_affected(version: str, affected: Mapping[str, Any]) -> bool:
    """Whether an advisory is about a version: it is listed, or lies in one of the ranges."""
    if version in affected.get("versions", ()):
        return True
    try:
        ours = Version(version)
        ranges = [one["events"] for one in affected.get("ranges", ()) if one.get("type") == "ECOSYSTEM"]
        return any(_is_inside(ours, events) for events in ranges)
    except InvalidVersion:
        return False


def _is_inside(ours: Version, events: Iterable[Mapping[str, str]]) -> bool:
    inside = False
    for event in events:
        if "introduced" in event:
            inside = inside or event["introduced"] == "0" or ours >= Version(event["introduced"])
        elif "fixed" in event:
            inside = inside and ours < Version(event["fixed"])
        elif "last_affected" in event:
            inside = inside and ours <= Version(event["last_affected"])
    return inside


def holes(found: Mapping[str, str], folder: Path) -> Iterator[str]:
    """Every advisory of a folder that is about one of our packages."""
    for name, version in sorted(found.items()):
        for path in sorted((folder / "vulns" / name).glob("*.yaml")):
            advisory = yaml.safe_load(path.read_text(encoding="utf-8"))
            if "withdrawn" not in advisory and any(is_affected(version, one) for one in advisory.get("affected", ())):
                aliases = ", ".join(advisory.get("aliases", ()))
                yield f"{name} {version}: {advisory['id']} ({aliases})"


def index_address() -> str:
    """The address of the package index that uv.lock was made with."""
    locked = tomllib.loads(LOCK.read_text(encoding="utf-8"))
    simple = next(package["source"]["registry"] for package in locked["package"] if "registry" in package["source"])
    return str(simple).removesuffix("/simple")


def pypi_tells(name: str, version: str) -> str | None:
    """Why PyPI cannot be asked for known holes; None when it can."""
    url = f"{index_address()}/pypi/{name}/{version}/json"
    try:
        with urllib.request.urlopen(url, timeout=20) as answer:  # noqa: S310  the address of the lock file
            return None if "vulnerabilities" in json.load(answer) else f"{url} does not tell of vulnerabilities"
    except (urllib.error.URLError, OSError, ValueError) as error:
        return f"{url}: {getattr(error, 'reason', error)}"


def main(words: list[str]) -> int:
    """See the module."""
    file = Path(words[0])
    found = pins(file.read_text(encoding="utf-8"))
    if not found:
        print(f"nothing was scanned: {file} names no package", file=sys.stderr)
        return 2
    if "--advisories" in words:
        folder = Path(words[words.index("--advisories") + 1])
        known = sum(1 for _ in (folder / "vulns").glob("*/*.yaml"))
        if not known:
            print(f"nothing was scanned: {folder} is no checkout of github.com/pypa/advisory-database", file=sys.stderr)
            return 2
        told = list(holes(found, folder))
        print("\n".join(told) or f"{len(found)} packages, {known:,} advisories: no known hole")
        return 1 if told else 0
    if (why := pypi_tells(*next(iter(found.items())))) is not None:
        print(f"nothing was scanned: {why}", file=sys.stderr)
        print("Scan where PyPI can be reached, or `make scan ADVISORIES=DIR` with a checkout of", file=sys.stderr)
        print("github.com/pypa/advisory-database.", file=sys.stderr)
        return 2
    audit = ["uv", "tool", "run", PIP_AUDIT, "--strict", "--disable-pip", "--require-hashes", "-r", str(file)]
    return 1 if subprocess.run(audit, check=False).returncode else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
