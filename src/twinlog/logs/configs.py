"""Checking the configs of topics that exist already. Blocking."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from twinlog.errors import ClusterError
from twinlog.kafka.admin import ClusterAdmin
from twinlog.logs.topic import BROKER_TIME

log = logging.getLogger("twinlog.topics")

_TYPE: Final = "message.timestamp.type"


def fetch_configs(admin: ClusterAdmin, name: str) -> dict[str, str] | None:
    """The configs of one topic; None when we may not ask."""
    answer = admin.fetch_topic_configs([name])[name]
    return None if isinstance(answer, ClusterError) else {config.name: config.value or "" for config in answer}


def ensure_broker_time(admin: ClusterAdmin, names: Sequence[str]) -> None:
    """Set the broker's time on topics that lack it. When that is refused, a warning names the topic and the command."""
    if not names:
        return
    wanted = {}
    for name, answer in admin.fetch_topic_configs(names).items():
        if not isinstance(answer, ClusterError) and {c.name: c.value for c in answer}.get(_TYPE) != BROKER_TIME[_TYPE]:
            wanted[name] = BROKER_TIME
    for name, refusal in (admin.apply_topic_configs(wanted) if wanted else {}).items():
        if refusal is not None:
            log.warning(
                "%s: %s: a broker whose clock differs may refuse our records: set %s=%s on it by hand: %s",
                admin.cluster,
                name,
                _TYPE,
                BROKER_TIME[_TYPE],
                refusal,
            )
