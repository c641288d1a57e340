"""What a preview shows: the records after one step, as people read them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from twinlog.pipelines.plan import Frame
from twinlog.pipelines.sink_text import document


@dataclass(frozen=True)
class StepView:
    """All samples after one step."""

    name: str
    rows: list[dict[str, Any]]


@dataclass(frozen=True)
class Preview:
    """What a preview found."""

    steps: list[StepView]
    remarks: list[str] = field(default_factory=list)
    actions: list[str] = field(default_factory=list)  # what the sink would do


def text_of(data: bytes | None) -> str | None:
    """Bytes as text; those that are none as escapes."""
    return None if data is None else data.decode(errors="backslashreplace")


def shown(frame: Frame) -> list[dict[str, Any]]:
    """All records of a frame, as people read them."""
    made = frame.delivered(
        lambda record: {
            "key": document(record.key, record.key_shape),
            "value": document(record.value, record.value_shape),
        },
        ["from_topic", "partition", "offset", "topic", "timestamp", "headers", "error", "drop", "branch"],
    )
    schemas = {branch.number: branch for branch in frame.branches}
    rows = []
    for row in made.collect():
        view: dict[str, Any] = {"topic": row["topic"], "timestamp": row["timestamp"]}
        if row["error"] is not None:
            view["error"] = f"{row['error']['stage']}: {row['error']['exception']}: {row['error']['message']}"
        if row["drop"]:
            view["left out"] = True
        view |= {"key": _parsed(row["key"]), "value": _parsed(row["value"])}
        if row["headers"]:
            view["headers"] = {header["key"]: text_of(bytes(header["value"] or b"")) for header in row["headers"]}
        schema = schemas[row["branch"]].value_shape.schema
        view["schema"] = None if schema is None else schema.name or schema.type
        rows.append(view)
    return rows


def _parsed(text: str | None) -> Any:
    try:
        return None if text is None else json.loads(text)
    except ValueError:
        return text
