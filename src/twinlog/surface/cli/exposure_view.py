"""What would be lost, as a sentence and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from twinlog.model.moments import clock
from twinlog.surface.cli.words import duration, number, size

if TYPE_CHECKING:
    from twinlog.config.settings import LinkSettings
    from twinlog.model.health.exposed import LinkExposure, TopicExposure
    from twinlog.model.health.objectives import Objectives
    from twinlog.model.health.states import LinkStatus


def headline(exposure: LinkExposure) -> Text:
    """The sentence that answers "what do I lose if I press now?"."""
    total = exposure.total
    if not exposure.topics:
        return Text(f"{exposure.link}: nothing is mirrored yet.")
    if exposure.live and not total.at_risk:
        return Text(f"{exposure.link}: nothing would be lost now: everything on the source is copied.", "green")
    line = Text(f"{exposure.link}: if the source vanished now, ", "bold")
    if total.records is None:
        return line.append("what would be lost is unknown: its ends were never seen.", "red")
    if not exposure.live:
        # It has vanished, or is cut off: a range, and times that do not move any more.
        line = Text(f"{exposure.link}: ", "bold").append(f"lost with {_source(exposure)}: ", "bold")
        line.append(exposure.loss.says(_source(exposure)), "red")
        if total.covered_ms is not None:
            line.append(f". Everything written before {clock(total.covered_ms)} is copied")
        return line.append(f". What is written to {_source(exposure)} since is not known.")
    at_least = "at least " if total.unknown else "at most "
    records = f"{number(total.records)} record{'' if total.records == 1 else 's'}"
    line.append(f"{at_least}{records} ({size(total.bytes)}) would be lost", "red")
    line.append(f"; everything older than {duration(total.seconds)} is copied")
    return line.append(".")


def at_rest(link: LinkSettings, status: LinkStatus) -> str:
    """What a link that a switch holds protects: nothing that is new."""
    why = status.engine.trouble if status.engine and status.engine.trouble else "held by a switch"
    if status.active != link.target:
        return f"{link.name}: {why}. `twinlog switch status '{link.name}'` shows how the switch stands."
    back = f"{link.target}->{link.source}"
    return (
        f"{link.name}: {why}. New data on {link.target} has no copy, unless {back} copies it. "
        f"When {link.source} is healthy again: `twinlog failback '{link.name}' --dry-run`."
    )


def _source(exposure: LinkExposure) -> str:
    return exposure.link.partition("->")[0]


def exposure_json(exposure: LinkExposure, topics: list[TopicExposure], objectives: Objectives) -> dict[str, Any]:
    """What programs get. Numbers that nobody knows are null."""
    from twinlog.surface.answers.links import at_risk

    return {
        "link": exposure.link,
        "source_answers": exposure.live,
        "now_ms": exposure.now_ms,
        "total": at_risk(exposure, exposure.total).model_dump(),
        "loss": vars(exposure.loss),
        "catch_up_seconds": exposure.catch_up_s,
        "falling_behind": exposure.falling_behind,
        "objectives": [
            {"name": o.name, "rpo_seconds": o.rpo_seconds, "rto_seconds": o.rto_seconds} for o in objectives.all
        ],
        "topics": [{"topic": topic.topic, **at_risk(exposure, topic).model_dump()} for topic in topics],
    }
