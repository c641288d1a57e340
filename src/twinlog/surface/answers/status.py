"""A link as one look at both clusters finds it, for programs: `twinlog status -o json`, and the bundle for support."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from twinlog.config.settings import LinkSettings
from twinlog.errors import ClusterError
from twinlog.model.health.exposure import TopicExposure
from twinlog.model.health.states import LinkStatus, source_down_since
from twinlog.model.ledger.stage_times import figures


def status_json(link: LinkSettings, found: LinkStatus | ClusterError) -> dict[str, Any]:
    """All that is known of a link, for programs."""
    if isinstance(found, ClusterError):
        seen = {"trouble": str(found), "reason": str(found), "remedy": found.remedy_text()}
        return {"link": link.name, "state": "UNKNOWN", **seen}
    engine = found.engine
    return {
        "link": found.link,
        "state": found.state,
        "engine": engine.model_dump(exclude_none=True) if engine else None,
        "trouble": found.source_trouble or (engine.trouble if engine else None),
        # The same under the name that the REST interface uses.
        "reason": found.source_trouble or (engine.trouble if engine else None),
        "source_down_since_ms": source_down_since(found),
        "loss": None if found.exposure is None else vars(found.exposure.loss),
        "lag_records": found.lag,
        "lag_seconds": found.lag_seconds,
        "at_risk": None if found.exposure is None else topic_json(found.exposure.total),
        "objectives_not_kept": [] if found.exposure is None else [topic.topic for topic in found.exposure.broken],
        "records_per_second": found.records_per_second,
        "bytes_per_second": found.bytes_per_second,
        "stages": {stage: one._asdict() for stage, one in figures(found.stages).items()},
        "topics": found.topics,
        "faults": [fault.model_dump() for fault in found.faults],
        "chores": [chore.model_dump(exclude_none=True) for chore in found.chores],
        "partitions": [
            {
                "topic": p.partition.topic,
                "partition": p.partition.partition,
                "remote": p.remote,
                "source_next": p.source_next,
                "source_end": p.source_end,
                "target_next": p.target_next,
                "lag": p.lag,
                "records": p.records,
                "skipped": p.skipped,
                "returned": p.returned,
                "fault": p.fault.code if p.fault else None,
                "held_back": p.held_back,
            }
            for p in found.partitions
        ],
    }


def topic_json(topic: TopicExposure) -> dict[str, Any]:
    """One topic, or the sum of a link."""
    facts = asdict(topic)
    del facts["topic"]
    facts["time_to_loss_seconds"] = facts.pop("time_to_loss_s")
    return facts
