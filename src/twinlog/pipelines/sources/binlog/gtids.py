"""Sets of global transaction ids: MariaDB's, one per domain, and MySQL's, intervals per server. Pure."""

from __future__ import annotations

import struct
import uuid
from typing import Protocol


class GtidSet(Protocol):
    """Transactions that were read."""

    def add(self, gtid: str) -> None: ...

    def covers(self, text: str) -> bool:
        """Whether all transactions of another set are in this one."""
        ...


class MariaDbGtids:
    """`0-1-366,1-2-9`: the last one of each domain."""

    def __init__(self, text: str) -> None:
        self._last = {gtid.split("-")[0]: gtid for gtid in (part.strip() for part in text.split(",")) if gtid}

    def add(self, gtid: str) -> None:
        self._last[gtid.partition("-")[0]] = gtid

    def covers(self, text: str) -> bool:
        return all(_number(self._last.get(domain, "")) >= _number(gtid)
                   for domain, gtid in MariaDbGtids(text)._last.items())  # fmt: skip

    def __str__(self) -> str:
        return ",".join(self._last[domain] for domain in sorted(self._last, key=int))


def _number(gtid: str) -> int:
    return int(gtid.rpartition("-")[2] or -1)


class MySqlGtids:
    """`3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5:7,…`: intervals of each server."""

    def __init__(self, text: str) -> None:
        self._intervals: dict[str, list[list[int]]] = {}
        for gtid in (part.strip() for part in text.split(",")):
            if gtid:
                server, *spans = gtid.split(":")
                for span in spans:
                    low, _, high = span.partition("-")
                    self._intervals.setdefault(server.lower(), []).append([int(low), int(high or low)])

    def add(self, gtid: str) -> None:
        server, _, number = gtid.partition(":")
        spans, value = self._intervals.setdefault(server.lower(), []), int(number)
        spans.append([value, value])
        spans.sort()
        merged: list[list[int]] = []
        for low, high in spans:
            if merged and low <= merged[-1][1] + 1:
                merged[-1][1] = max(merged[-1][1], high)
            else:
                merged.append([low, high])
        self._intervals[server.lower()] = merged

    def covers(self, text: str) -> bool:
        return all(any(first <= low and high <= last for first, last in self._intervals.get(server, []))
                   for server, spans in MySqlGtids(text)._intervals.items() for low, high in spans)  # fmt: skip

    def __str__(self) -> str:
        shown = []
        for server in sorted(self._intervals):
            spans = (f"{low}-{high}" if high > low else str(low) for low, high in self._intervals[server])
            shown.append(":".join([server, *spans]))
        return ",".join(shown)

    def encoded(self) -> bytes:
        """As the command that asks for the log takes it; intervals end behind their last number."""
        made = struct.pack("<Q", len(self._intervals))
        for server in sorted(self._intervals):
            spans = self._intervals[server]
            made += uuid.UUID(server).bytes + struct.pack("<Q", len(spans))
            made += b"".join(struct.pack("<QQ", low, high + 1) for low, high in spans)
        return made
