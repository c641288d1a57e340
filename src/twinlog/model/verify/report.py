"""The answer of a verification: what was compared, how much, what differs, what could not be compared. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from twinlog.model.names import TopicPartition
from twinlog.model.verify.differences import Difference, Kind
from twinlog.model.verify.plan import Excluded
from twinlog.model.verify.schemas import SchemaProof
from twinlog.model.verify.verification import ChunkResult

LISTED: Final = 200
"""Differences that a report lists; more are counted."""

_ASIDE: Final = (
    ("deleted_source", "copied, but the source has deleted them since (retention)"),
    ("deleted_target", "copied, but the target has deleted them since (retention)"),
    ("compacted_source", "copied, but compaction took them on the source since"),
    ("compacted_target", "copied, and rightly taken by compaction on the target"),
    ("unsettled", "gone from a compacted target topic; whether rightly was not looked at"),
    ("skipped", "skipped on purpose: the ledger names the gap"),
    ("returned", "not copied, because they came from the target"),
    ("dropped", "not copied, because transforms of the link drop them; whether rightly was not looked at"),
    ("transformed", "at their place; what transforms of the link change differs by design and was not compared"),
    ("foreign", "written by others into a target topic that shares its name with the source's"),
)


@dataclass
class VerifyReport:
    """One verification of one link."""

    link: str
    asked: str  # what was to be compared, in words
    began_ms: int
    took_s: float = 0.0
    topics: int = 0
    partitions: int = 0
    chunks: int = 0
    sample: float | None = None
    totals: dict[str, int] = field(default_factory=dict)
    differences: list[tuple[TopicPartition, Difference]] = field(default_factory=list)
    excluded: list[Excluded] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)
    source_digest: int = 0
    target_digest: int = 0
    schemas: SchemaProof | None = None  # None: the link mirrors no registry

    def take(self, results: Iterable[ChunkResult]) -> None:
        """Add up what the chunks found, in the order of the partitions."""
        for result in sorted(results, key=lambda each: (each.partition, each.source_first)):
            self.chunks += 1
            for name in _COUNTED:
                self.totals[name] = self.totals.get(name, 0) + int(getattr(result, name))
            room = LISTED - len(self.differences)
            self.differences += [(result.partition, difference) for difference in result.differences[: max(0, room)]]
            # Of the chunks in order: the same logs, cut the same way, give the same number.
            self.source_digest = _chained(self.source_digest, result.source_digest)
            self.target_digest = _chained(self.target_digest, result.target_digest)
            if result.trouble is not None:
                where = f"{result.partition}: source offsets {result.source_first}..{result.source_next - 1}"
                self.troubles.append(f"{where}: {result.trouble}")

    def settle(self, partition: TopicPartition, rightly: int, lost: Iterable[tuple[int, int]]) -> None:
        """Records of one partition that are gone from a compacted target: how many rightly, and which not."""
        self.totals["compacted_target"] = self.count("compacted_target") + rightly
        for source, target in lost:
            self.totals["differing"] = self.count("differing") + 1
            if len(self.differences) < LISTED:
                what = "gone from the compacted target, though it is the last record of its key"
                self.differences.append((partition, Difference(Kind.MISSING, source, target, what)))

    def count(self, name: str) -> int:
        """One of the totals."""
        return self.totals.get(name, 0)

    @property
    def equal(self) -> bool:
        """Whether everything that was to be compared was compared and is the same. Nothing at all proves nothing."""
        readable = self.schemas is None or not self.schemas.problems
        return bool(self.chunks) and not self.count("differing") and not self.troubles and readable

    @property
    def gigabytes_per_second(self) -> float:
        """Of both sides together."""
        return (self.count("source_bytes") + self.count("target_bytes")) / 1e9 / max(self.took_s, 1e-9)

    def verdict(self) -> str:
        records = f"{self.count('equal'):,} records"
        if self.count("differing"):
            return f"{self.link}: {self.count('differing'):,} differences; {records} are equal"
        if self.troubles:
            return f"{self.link}: not everything could be compared; {records} are equal, no difference was found"
        if not self.chunks:
            return f"{self.link}: nothing was compared: no copied record matches"
        if self.schemas is not None and self.schemas.problems:
            return f"{self.link}: {records} are equal, but not all are readable: {self.schemas.problems[0]}"
        if self.count("transformed"):
            records += f"; {self.count('transformed'):,} more are at their place and differ by design (transforms)"
        part = f" (a sample of {self.sample:.2%})" if self.sample is not None else ""
        return f"{self.link}: equal: {records}{part}"

    def aside(self) -> list[tuple[int, str]]:
        """Records that count neither as equal nor as different, with their reason."""
        return [(self.count(name), meaning) for name, meaning in _ASIDE if self.count(name)]

    def as_json(self) -> dict[str, Any]:
        """For programs and for the report file."""
        return {
            "link": self.link,
            "equal": self.equal,
            "verdict": self.verdict(),
            "asked": self.asked,
            "sample": self.sample,
            "began_ms": self.began_ms,
            "took_seconds": round(self.took_s, 3),
            "gigabytes_per_second": round(self.gigabytes_per_second, 4),
            "topics": self.topics,
            "partitions": self.partitions,
            "chunks": self.chunks,
            "records_equal": self.count("equal"),
            "records_equal_unopened": self.count("unopened"),
            "records_differing": self.count("differing"),
            "source_bytes": self.count("source_bytes"),
            "target_bytes": self.count("target_bytes"),
            "source_digest": f"{self.source_digest:016x}",
            "target_digest": f"{self.target_digest:016x}",
            "aside": {name: self.count(name) for name, _ in _ASIDE},
            "set_aside": [{"records": count, "reason": meaning} for count, meaning in self.aside()],
            "differences": [
                {"topic": partition.topic, "partition": partition.partition, **difference.as_json()}
                for partition, difference in self.differences
            ],
            "not_comparable": [
                {"what": part.thing, "reason": part.reason, "offsets": part.offsets} for part in self.excluded
            ],
            "troubles": self.troubles,
            "schemas": None if self.schemas is None else self.schemas.as_json(),
        }

    def as_markdown(self) -> str:
        """For people and for the file of evidence."""
        figures = (
            ("compared", f"{self.asked}; {self.topics} topics, {self.partitions} partitions"),
            ("equal", f"{self.count('equal'):,} records, {self.count('unopened'):,} of them as whole batches"),
            ("different", f"{self.count('differing'):,} records"),
            (
                "read",
                f"{self.count('source_bytes'):,} bytes of the source, {self.count('target_bytes'):,} of the target",
            ),
            ("took", f"{self.took_s:.1f} s, {self.gigabytes_per_second:.3f} GB/s of both sides together"),
            ("digests", f"source {self.source_digest:016x}, target {self.target_digest:016x}"),
        )
        lines = [f"# {self.verdict()}", "", "| | |", "|---|---|", *(f"| {name} | {text} |" for name, text in figures)]
        lines += _section("Differences", [f"{partition}: {difference}" for partition, difference in self.differences])
        if self.count("differing") > len(self.differences):
            lines.append("- more of them than are listed here")
        lines += _section("Not compared to the end", self.troubles)
        if self.schemas is not None:
            lines += _section("Schemas", [self.schemas.sentence(), *self.schemas.problems])
        lines += _section("Set aside", [f"{count:,} records: {meaning}" for count, meaning in self.aside()])
        lines += _section("Not comparable", [_excluded(part) for part in self.excluded])
        return "\n".join(lines) + "\n"


_COUNTED: Final = ("equal", "unopened", "differing", "source_bytes", "target_bytes", *(name for name, _ in _ASIDE))


def _chained(digest: int, piece: int) -> int:
    return int.from_bytes(hashlib.blake2b(b"%d %d" % (digest, piece), digest_size=8).digest(), "big")


def _section(title: str, lines: list[str]) -> list[str]:
    return ["", f"## {title}", "", *(f"- {line}" for line in lines)] if lines else []


def _excluded(excluded: Excluded) -> str:
    size = "" if excluded.offsets is None else f"{excluded.offsets:,} offsets: "
    return f"{excluded.thing}: {size}{excluded.reason}"
