"""What is mirrored: the data sets of the throughput questions.

Values look like small JSON events: words that repeat and numbers that do not, so codecs find about what they find in
practice. The batches of a set are encoded once and sent over and over; no codec looks across batches.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, replace
from functools import lru_cache

from twinlog.wire.batch import CODECS
from twinlog.wire.codec import PlainRecord, SealedBatch, seal

_VARIETY = 16
_WORDS = ("order", "click", "price", "user", "stock", "login", "cart", "view", "refund", "device", "session", "region")


@dataclass(frozen=True)
class Flavour:
    """How the producers of a partition write."""

    record_bytes: int
    codec: str
    batch_records: int


@dataclass(frozen=True)
class DataSet:
    """One topic full of records. Partition p has flavour p, round and round."""

    name: str
    title: str
    records: int
    flavours: tuple[Flavour, ...]
    partitions: int = 6
    tiny: bool = False

    def flavour(self, partition: int) -> Flavour:
        return self.flavours[partition % len(self.flavours)]

    def batches(self, partition: int) -> int:
        """How many batches the partition holds."""
        return max(1, round(self.records / self.partitions / self.flavour(partition).batch_records))

    def held(self, partition: int) -> int:
        """How many records the partition holds: whole batches."""
        return self.batches(partition) * self.flavour(partition).batch_records

    @property
    def total(self) -> int:
        return sum(self.held(partition) for partition in range(self.partitions))

    @property
    def gigabytes(self) -> float:
        """Bytes of all values, before compression: what the applications wrote."""
        return sum(self.held(p) * self.flavour(p).record_bytes for p in range(self.partitions)) / 1e9

    def scaled(self, factor: float) -> DataSet:
        return replace(self, records=max(1, int(self.records * factor)))


SETS = (
    DataSet("small-lz4", "100 B, lz4", 5_000_000, (Flavour(100, "lz4", 1000),)),
    DataSet("small-none", "100 B, none", 5_000_000, (Flavour(100, "none", 1000),)),
    DataSet("large-zstd", "1 KB, zstd", 1_000_000, (Flavour(1000, "zstd", 100),)),
    DataSet("large-none", "1 KB, none", 1_000_000, (Flavour(1000, "none", 100),)),
    DataSet("tiny", "tiny batches (1 record, 100 B)", 300_000, (Flavour(100, "none", 1),), tiny=True),
    DataSet(
        "mixed",
        "mixed, 64 partitions",
        2_000_000,
        (
            # A Java producer with default settings closes a batch at 16 KB.
            Flavour(100, "none", 150),
            Flavour(100, "lz4", 400),
            Flavour(1000, "zstd", 100),
            Flavour(300, "gzip", 100),
            Flavour(1000, "none", 16),
            Flavour(200, "snappy", 300),
            Flavour(5000, "lz4", 20),
            Flavour(100, "lz4", 20),
        ),
        partitions=64,
    ),
)


@lru_cache
def encoded(flavour: Flavour) -> tuple[SealedBatch, ...]:
    """A few different batches of the flavour, as a producer without an id sends them, with the time of now."""
    dice = random.Random(flavour.record_bytes)
    now = time.time_ns() // 1_000_000
    codec = CODECS.index(flavour.codec)
    made = []
    for _ in range(_VARIETY):
        records = [
            PlainRecord(i, now, f"k{dice.randrange(1 << 24):x}".encode(), _value(dice, flavour.record_bytes), [])
            for i in range(flavour.batch_records)
        ]
        made += seal(records, codec)
    return tuple(made)


def _value(dice: random.Random, size: int) -> bytes:
    parts = [f'{{"id":{dice.getrandbits(40)}']
    length = len(parts[0])
    while length < size:
        parts.append(f',"{dice.choice(_WORDS)}":"{dice.choice(_WORDS)}-{dice.getrandbits(24)}"')
        length += len(parts[-1])
    return "".join(parts)[: size - 1].encode() + b"}"
