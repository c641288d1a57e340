"""Entries of the audit, of several services in one place: whether each chain of them is whole. Pure.

A service without a file begins a chain with each start; services of one machine share the chain of their file. The
topic has the entries of all of them, in the order of arrival.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from twinlog.model.drills.evidence import breaks


@dataclass(frozen=True)
class ChainVerdict:
    """The verdict on one chain of audit entries."""

    chain: str
    entries: int
    begins_after: str  # the hash before its first entry
    last_hash: str
    breaks: tuple[str, ...] = ()


@dataclass(frozen=True)
class TopicVerdict:
    """All that a topic holds."""

    entries: int
    chains: tuple[ChainVerdict, ...]
    strange: int = 0  # records that are no entries
    missing_in_file: tuple[str, ...] = ()
    missing_in_topic: tuple[str, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether nothing was changed, moved or removed, as far as hashes tell."""
        broken = any(chain.breaks for chain in self.chains)
        return not (broken or self.strange or self.missing_in_file or self.missing_in_topic)


def judge_topic(lines: Sequence[str], file: Sequence[str] = ()) -> TopicVerdict:
    """Judge each chain of a topic by itself, and compare with a file of one of them, where there is one."""
    entries = [entry for entry in map(_entry, lines) if entry is not None]
    by_chain: dict[str, list[dict[str, Any]]] = {}
    for entry in entries:
        by_chain.setdefault(str(entry.get("chain", "")), []).append(entry)
    filed = [entry for entry in map(_entry, file) if entry is not None]
    here, there = {entry["hash"]: entry for entry in entries}, {entry["hash"]: entry for entry in filed}
    shared = {entry.get("chain") for entry in filed}
    first = min((entry["number"] for entry in filed), default=0)
    # What was rotated away is not asked for, and entries of before the topic are in the file alone.
    begun = min((entry["number"] for entry in entries if entry.get("chain") in shared), default=0)
    cut = [
        line
        for line in entries
        if line.get("chain") in shared and line["number"] >= first and line["hash"] not in there
    ]
    lost = [entry for entry in filed if entry["number"] >= begun and entry["hash"] not in here]
    return TopicVerdict(
        len(lines),
        tuple(_judge(chain, chain_entries) for chain, chain_entries in sorted(by_chain.items())),
        len(lines) - len(entries),
        tuple(map(_name, cut)),
        tuple(map(_name, lost)),
    )


def _judge(chain: str, entries: Iterable[dict[str, Any]]) -> ChainVerdict:
    # Two services that share a file may send their entries in another order than the file has them.
    ordered = sorted(entries, key=lambda entry: int(entry["number"]))
    broken = breaks((json.dumps(entry) for entry in ordered), part=True)
    told = tuple(f"entry {ordered[fault.line - 1]['number']}: {fault.problem}" for fault in broken)
    return ChainVerdict(chain, len(ordered), ordered[0]["previous"], ordered[-1]["hash"], told)


def _name(entry: dict[str, Any]) -> str:
    return f"entry {entry['number']} ({entry.get('what', '')} {entry.get('thing', '')} by {entry.get('name', '')})"


def _entry(line: str) -> dict[str, Any] | None:
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    whole = isinstance(entry, dict) and {"hash", "previous", "number"} <= entry.keys()
    return entry if whole and isinstance(entry["number"], int) else None
