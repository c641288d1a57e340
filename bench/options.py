"""What the command line asked for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Options:
    """Full size and several rounds for figures that are kept; quick to see that all of it runs."""

    quick: bool
    rounds: int
    sets: frozenset[str] = frozenset()
    peers: frozenset[str] = frozenset()

    @property
    def scale(self) -> float:
        return 0.1 if self.quick else 1.0

    def wants_set(self, name: str) -> bool:
        return not self.sets or name in self.sets

    def wants_peer(self, name: str) -> bool:
        return not self.peers or name in self.peers
