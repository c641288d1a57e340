"""A fault that the reader found, on its way to the writer, which notes it: both ends of that note."""

from __future__ import annotations

import json
from typing import Any

from twinlog.errors import PartitionFault


def fault_note(fault: PartitionFault) -> bytes:
    """The payload of a `fault` parcel."""
    note = {"code": fault.code, "says": str(fault), "remedy": fault.remedy_text(), "facts": fault.facts()}
    return json.dumps(note).encode()


class ReaderFault(PartitionFault):
    """A fault that the reader found, as it came in the row."""

    def __init__(self, payload: bytes) -> None:
        note = json.loads(payload)
        super().__init__(note["facts"]["topic"], note["facts"]["partition"])
        self.note = note
        self.code = note["code"]  # type: ignore[misc]

    def __str__(self) -> str:
        return str(self.note["says"])

    def remedy_text(self) -> str:
        """As the reader worded it."""
        return str(self.note["remedy"])

    def facts(self) -> dict[str, Any]:
        """As the reader found them."""
        facts: dict[str, Any] = self.note["facts"]
        return facts
