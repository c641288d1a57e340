"""What a verification found out about the schemas of sampled records. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class SchemaProof:
    """Sampled records of the copies, with what both registries say about their schema ids."""

    topics: int
    """Topics whose records carry schema ids."""
    records: int
    ids: int
    decoded: int
    unchecked: int
    """Records whose schema has a text that the decoder does not support."""
    problems: tuple[str, ...] = ()

    def sentence(self) -> str:
        """One sentence for people."""
        if not self.topics:
            return f"{self.records:,} sampled records carry no schema id"
        told = f"{self.decoded:,} of {self.records:,} sampled records were decoded, with {self.ids} schema ids"
        told += f"; {self.unchecked:,} could not be checked" if self.unchecked else ""
        return f"{told}; {len(self.problems)} problems"

    def as_json(self) -> dict[str, Any]:
        return {
            "topics": self.topics,
            "records": self.records,
            "ids": self.ids,
            "decoded": self.decoded,
            "unchecked": self.unchecked,
            "problems": list(self.problems),
        }
