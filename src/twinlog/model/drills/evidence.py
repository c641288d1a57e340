"""Reports of drills as evidence: each holds the hash of the one before, so that none can be changed or left out. Pure.

    line n     {"number": n, "previous": hash of line n-1, …, "hash": SHA-256 of this line without "hash"}

Anybody can check a file with nothing but SHA-256: take a line, remove `hash`, write it as JSON with sorted keys and
without blanks, hash it. The hash of the last report also stands in the ledger of the link, so that a file that lost its
end is noticed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

CHORE: Final = "drills"
LAST: Final = "last"
"""SyncJob and name of the memo in the ledger that tells of the last drill."""
FIRST: Final = "0" * 64
"""What the first report of a chain has in the place of the hash before it."""


def digest(report: Mapping[str, Any]) -> str:
    """The hash of a report, whatever stands in its `hash`."""
    plain = {name: value for name, value in report.items() if name != "hash"}
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def chained(report: Mapping[str, Any], before: Mapping[str, Any] | None) -> dict[str, Any]:
    """A report as the next link of a chain."""
    number = 1 if before is None else int(before["number"]) + 1
    linked = {**report, "number": number, "previous": FIRST if before is None else before["hash"]}
    return {**linked, "hash": digest(linked)}


@dataclass(frozen=True)
class Break:
    """Where a chain does not hold."""

    line: int
    problem: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.problem}"


def breaks(lines: Iterable[str], last_hash: str | None = None, *, part: bool = False) -> list[Break]:
    """Check a whole file; `last_hash` is what the ledger says of its last report, if anything.

    A `part` of a chain begins with any number: what was before it is in another file.
    """
    gaps: list[Break] = []
    before: dict[str, Any] | None = None
    hashes: set[str] = set()
    count = skipped = 0
    for count, line in enumerate(lines, 1):
        report = _read(line)
        if report is not None and part and count == 1:
            skipped = int(report["number"]) - 1
        if report is None:
            gaps.append(Break(count, "it is no report"))
            before = None
            continue
        if report["hash"] != digest(report):
            gaps.append(Break(count, "it was changed after it was written"))
        expected = FIRST if count == 1 and not skipped else None if before is None else before["hash"]
        if expected is not None and report["previous"] != expected:
            gaps.append(Break(count, "it does not follow the report before it: one was changed, moved or removed"))
        if report["number"] != count + skipped:
            gaps.append(Break(count, f"it is report number {report['number']}"))
        hashes.add(report["hash"])
        before = report
    if last_hash is not None and last_hash not in hashes:
        gaps.append(Break(count + 1, "the last report that the ledger knows of is missing"))
    return gaps


def _read(line: str) -> dict[str, Any] | None:
    try:
        report = json.loads(line)
    except ValueError:
        return None
    whole = isinstance(report, dict) and {"hash", "previous", "number"} <= report.keys()
    return report if whole and isinstance(report["number"], int) else None
