"""Traces of MirrorMaker 2 on a target: whether it ever wrote there, and for which source aliases. Pure.

A wrong alias finds no offsets, and a link would begin at `start.from`: it would copy everything again, or leave out
what was written meanwhile. So the absence of every trace is told, with the aliases that have one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Final

_OFFSETS: Final = re.compile(r"mm2-offsets\.(.+)\.internal")
_CHECKPOINTS: Final = re.compile(r"(.+)\.checkpoints\.internal")


def aliases_with_traces(topics: Iterable[str]) -> tuple[str, ...]:
    """Return the source aliases for which MirrorMaker 2 left a topic on the target."""
    aliases = {
        match.group(1)
        for topic in topics
        for pattern in (_OFFSETS, _CHECKPOINTS)
        if (match := pattern.fullmatch(topic))
    }
    return tuple(sorted(aliases))


def missing_trace(source: str, target: str, offsets_topic: str, topics: Collection[str]) -> str | None:
    """Say that MirrorMaker 2 left nothing for this source; None when it left its offsets."""
    if offsets_topic in topics:
        return None
    others = [alias for alias in aliases_with_traces(topics) if alias != source]
    hint = (
        f"MirrorMaker 2 wrote there for {', '.join(others)}: is the alias {source} the one that it used?"
        if others
        else "MirrorMaker 2 in a Connect cluster keeps its offsets elsewhere: give --offsets-topic and --connector."
    )
    return f"{target} has no topic {offsets_topic}: no trace of MirrorMaker 2 for {source}. {hint}"
