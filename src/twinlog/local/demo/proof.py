"""The comparison of two complete logs at the end of the demo. Pure.

lost       acknowledged to the producer, but not there           R1
doubled    there more than once                                  R2
foreign    there, but never produced                             R2
reordered  behind a record with a higher number                  R3
changed    its checksum is wrong, or any byte of it differs      R4

Producers number the records of each partition from 0, so both logs must hold exactly 0..n-1 in that order.
"""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from twinlog.kafka.clients import LogRecord
from twinlog.local.demo.records import fingerprint, read_stamp

_NAMED_PER_KIND = 3
_ANONYMOUS = -1


class Kind(StrEnum):
    """A way to break a promise."""

    LOST = "lost"
    DOUBLED = "doubled"
    FOREIGN = "foreign"
    REORDERED = "reordered"
    CHANGED = "changed"


@dataclass
class PartitionLog:
    """One partition as it was read: who each record says it is, and its fingerprint. 16 bytes a record."""

    sequences: array[int] = field(default_factory=lambda: array("q"))
    fingerprints: array[int] = field(default_factory=lambda: array("Q"))
    unsound: list[int] = field(default_factory=list)

    def add(self, record: LogRecord) -> None:
        """Put one record on file, in log order."""
        stamp = read_stamp(record)
        known = stamp is not None and stamp.partition == record.partition
        self.sequences.append(stamp.sequence if stamp is not None and known else _ANONYMOUS)
        self.fingerprints.append(fingerprint(record))
        if stamp is None or not stamp.sound:
            self.unsound.append(len(self.sequences) - 1)


@dataclass
class Proof:
    """The judgement. `counts` is complete, `named` holds the first few of each kind."""

    source_records: int = 0
    target_records: int = 0
    source_digest: str = ""
    target_digest: str = ""
    counts: Counter[Kind] = field(default_factory=Counter)
    named: list[str] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """Tell whether both sides are complete and equal. An empty log proves nothing."""
        return not self.counts and self.source_records > 0 and self.source_digest == self.target_digest

    def add(self, kind: Kind, where: str, what: str) -> None:
        """Put one broken promise on record."""
        self.counts[kind] += 1
        if self.counts[kind] <= _NAMED_PER_KIND:
            self.named.append(f"{where}: {kind}: {what}")


def file_logs(records: Iterable[LogRecord], partitions: int) -> dict[int, PartitionLog]:
    """Sort records of one topic into partitions."""
    logs = {partition: PartitionLog() for partition in range(partitions)}
    for record in records:
        logs[record.partition].add(record)
    return logs


def judge(
    acknowledged: Mapping[int, int], source: Mapping[int, PartitionLog], target: Mapping[int, PartitionLog]
) -> Proof:
    """Judge both sides against the numbers 0..n-1 that the producer saw acknowledged, and against each other."""
    proof = Proof(
        source_records=sum(len(log.sequences) for log in source.values()),
        target_records=sum(len(log.sequences) for log in target.values()),
        source_digest=_digest(source),
        target_digest=_digest(target),
    )
    for partition, count in sorted(acknowledged.items()):
        at_source, at_target = source[partition], target[partition]
        _judge_order(proof, f"source partition {partition}", at_source, count)
        _judge_order(proof, f"target partition {partition}", at_target, count)
        _compare(proof, f"target partition {partition}", at_source, at_target)
    return proof


def _judge_order(proof: Proof, where: str, log: PartitionLog, count: int) -> None:
    """Every number of the producer is there, once, and in rising order; every checksum is right."""
    for index in log.unsound:
        proof.add(Kind.CHANGED, where, f"record {log.sequences[index]}: its checksum is wrong")
    if log.sequences == array("q", range(count)):
        return
    seen: set[int] = set()
    highest = -1
    for sequence in log.sequences:
        if not 0 <= sequence < count:
            who = "a record without a stamp" if sequence == _ANONYMOUS else f"record {sequence}"
            proof.add(Kind.FOREIGN, where, f"{who} was never acknowledged")
        elif sequence in seen:
            proof.add(Kind.DOUBLED, where, f"record {sequence}")
        else:
            if sequence < highest:
                proof.add(Kind.REORDERED, where, f"record {sequence} comes after {highest}")
            seen.add(sequence)
            highest = max(highest, sequence)
    for sequence in range(count):
        if sequence not in seen:
            proof.add(Kind.LOST, where, f"record {sequence}")


def _compare(proof: Proof, where: str, source: PartitionLog, target: PartitionLog) -> None:
    """Every copy has the bytes of its original."""
    if source.sequences == target.sequences and source.fingerprints == target.fingerprints:
        return
    originals = dict(zip(source.sequences, source.fingerprints, strict=True))
    for sequence, copied in zip(target.sequences, target.fingerprints, strict=True):
        if originals.get(sequence, copied) != copied:
            proof.add(Kind.CHANGED, where, f"record {sequence}: its bytes differ")


def _digest(side: Mapping[int, PartitionLog]) -> str:
    """Return one checksum over everything on a side, partition by partition in log order."""
    whole = hashlib.sha256()
    for partition, log in sorted(side.items()):
        whole.update(b"%d:" % partition)
        whole.update(log.fingerprints.tobytes())
    return whole.hexdigest()
