"""The topics of a service's store: links, audit entries, events."""

from __future__ import annotations

from typing import Final

from twinlog.logs.topic import BROKER_TIME, LogTopic
from twinlog.model.connectors import AUDIT_TOPIC, EVENTS_TOPIC, LINKS_TOPIC

_WEEK_MS: Final = 7 * 86_400_000

LINKS: Final = LogTopic(LINKS_TOPIC, {**BROKER_TIME, "cleanup.policy": "compact", "min.compaction.lag.ms": "60000"})
AUDIT: Final = LogTopic(
    AUDIT_TOPIC, {**BROKER_TIME, "cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}
)
EVENTS: Final = LogTopic(EVENTS_TOPIC, {**BROKER_TIME, "cleanup.policy": "delete", "retention.ms": str(_WEEK_MS)})
