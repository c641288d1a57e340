"""Consumer groups as a cluster describes them. Pure; the rules about their positions are in positions.py."""

from __future__ import annotations

from typing import Final, NamedTuple

SHARE: Final = "share"
_WITHOUT_MEMBERS: Final = frozenset({"empty", "dead", ""})


class GroupPosition(NamedTuple):
    """What a group committed for one partition: the offset to read next, and the text it left beside it."""

    offset: int
    metadata: str = ""


class ListedGroup(NamedTuple):
    """One group of a cluster. The kind is `classic`, `consumer` (KIP-848), `share` or `streams`."""

    name: str
    kind: str
    state: str
    protocol: str = ""

    @property
    def active(self) -> bool:
        """Whether it has members now: then its positions are its own business."""
        return self.state.lower() not in _WITHOUT_MEMBERS
