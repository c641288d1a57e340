"""Writes advice into a settings file: a line that decides is changed, otherwise one is added below it all. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from twinlog.doctor.advice.settings import Advice


def changed(text: str, link: str, advised: Iterable[Advice]) -> str:
    """Return the text with each advice for the file in it; other lines, comments and their order stay."""
    lines = text.splitlines()
    for advice in advised:
        if advice.where != "file":
            continue
        key = f"{link}.{advice.setting}"
        wanted = f"{key} = {advice.better}"
        at = [n for n, line in enumerate(lines) if re.match(rf"\s*{re.escape(key)}\s*[=:]", line)]
        if at:
            lines[at[-1]] = wanted  # the last of equal keys counts
        else:
            lines += [f"# {advice.why}: {advice.evidence}", wanted]
    return "\n".join(lines) + "\n"
