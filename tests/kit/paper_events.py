"""Events of links made by hypothesis, and a log of them in memory."""

from __future__ import annotations

from typing import get_args

from hypothesis import strategies as st

from twinlog.errors import ClusterUnreachable
from twinlog.model.health.history import Event, Kind, Level

EVENTS = st.builds(
    Event,
    st.integers(0, 2**42),
    st.sampled_from(["A->B", "B->A"]),
    st.sampled_from(get_args(Kind)),
    st.sampled_from(get_args(Level)),
    st.sampled_from(["orders-0", "orders-1"]),
    st.text(max_size=10),
    st.text(max_size=10),
    st.booleans(),
)


class PaperLog:
    """The topic of events; `away` as a store that cannot be reached."""

    def __init__(self) -> None:
        self.kept: list[bytes] = []
        self.away = False

    def read(self, most: int) -> list[bytes]:
        if self.away:
            raise ClusterUnreachable("T", "no broker answers")
        return self.kept[-most:]

    def append(self, entry: bytes) -> None:
        self.kept.append(entry)

    def close(self) -> None:
        return
