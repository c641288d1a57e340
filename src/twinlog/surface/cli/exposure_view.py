"""What would be lost, as a sentence and as JSON."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.text import Text

from twinlog.surface.cli.words import duration, number, size

if TYPE_CHECKING:
    from twinlog.model.exposure import LinkExposure, TopicExposure
    from twinlog.model.objectives import Objectives


def headline(exposure: LinkExposure) -> Text:
    """The sentence that answers "what do I lose if I press now?"."""
    total = exposure.total
    if not exposure.topics:
        return Text(f"{exposure.link}: nothing is mirrored yet.")
    if exposure.live and not total.at_risk:
        return Text(f"{exposure.link}: nothing would be lost now: everything on the source is copied.", "green")
    line = Text(f"{exposure.link}: if the source vanished now, ", "bold")
    if total.records is None:
        return line.append("nobody knows what would be lost: its ends were never seen.", "red")
    at_least = "at least " if total.unknown or not exposure.live else "at most "
    records = f"{number(total.records)} record{'' if total.records == 1 else 's'}"
    line.append(f"{at_least}{records} ({size(total.bytes)}) would be lost", "red")
    line.append(f"; everything older than {duration(total.seconds)} is copied")
    if not exposure.live and total.known_at_ms is not None:
        at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(total.known_at_ms / 1000))
        line.append(f". The source does not answer; this was known at {at}")
        if total.maybe_more:
            line.append(f", and some {number(total.maybe_more)} records may have come since")
    return line.append(".")


def exposure_json(exposure: LinkExposure, topics: list[TopicExposure], objectives: Objectives) -> dict[str, Any]:
    """What programs get. Numbers that nobody knows are null."""
    return {
        "link": exposure.link,
        "source_answers": exposure.live,
        "now_ms": exposure.now_ms,
        "total": topic_json(exposure.total),
        "catch_up_seconds": exposure.catch_up_s,
        "falling_behind": exposure.falling_behind,
        "objectives": [
            {"name": o.name, "rpo_seconds": o.rpo_seconds, "rto_seconds": o.rto_seconds} for o in objectives.all
        ],
        "topics": [{"topic": topic.topic, **topic_json(topic)} for topic in topics],
    }


def topic_json(topic: TopicExposure) -> dict[str, Any]:
    """One topic, or the sum of a link."""
    facts = asdict(topic)
    del facts["topic"]
    facts["time_to_loss_seconds"] = facts.pop("time_to_loss_s")
    return facts
