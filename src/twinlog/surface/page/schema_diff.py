"""Two texts of a schema side by side, line by line. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final, Literal

_MOST_LINES: Final = 2000
_NEAR: Final = 3
"""Equal lines that are shown around a difference; more of them are folded."""


@dataclass(frozen=True)
class Line:
    """One row. A side without a line is None; `folded` counts the equal lines that are left out here."""

    kind: Literal["same", "changed", "removed", "added", "folded"]
    left: str | None = None
    right: str | None = None
    left_number: int | None = None
    right_number: int | None = None
    folded: int = 0


def readable(kind: str, text: str) -> str:
    """The text as people read it: JSON with a field per line, Protobuf as it is."""
    if kind == "PROTOBUF":
        return text.strip("\n")
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


def side_by_side(old: str, new: str) -> list[Line]:
    """Both texts in rows, with long equal parts folded. Very long texts are cut: the page stays small."""
    left, right = old.splitlines()[:_MOST_LINES], new.splitlines()[:_MOST_LINES]
    rows: list[Line] = []
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if tag == "equal":
            rows += [Line("same", left[i], right[j], i + 1, j + 1) for i, j in zip(range(i1, i2), range(j1, j2))]  # noqa: B905  equal parts are equally long
            continue
        for step in range(max(i2 - i1, j2 - j1)):
            i, j = (i1 + step if i1 + step < i2 else None), (j1 + step if j1 + step < j2 else None)
            kind: Literal["changed", "removed", "added"] = (
                "added" if i is None else "removed" if j is None else "changed"
            )
            rows.append(
                Line(
                    kind,
                    None if i is None else left[i],
                    None if j is None else right[j],
                    None if i is None else i + 1,
                    None if j is None else j + 1,
                )
            )
    return _folded(rows)


def _folded(rows: list[Line]) -> list[Line]:
    near = {place for at, row in enumerate(rows) if row.kind != "same" for place in range(at - _NEAR, at + _NEAR + 1)}
    if not near:
        return rows
    lines: list[Line] = []
    hidden = 0
    for at, row in enumerate(rows):
        if at in near:
            if hidden:
                lines.append(Line("folded", folded=hidden))
                hidden = 0
            lines.append(row)
        else:
            hidden += 1
    return [*lines, Line("folded", folded=hidden)] if hidden else lines
