"""Making sure that topics are there: create them, wait until the cluster knows them, check their configs. Blocking."""

from __future__ import annotations

import time
from typing import Final

from twinlog.errors import AccessDenied, BrokerRefused, ClusterError, TopicExists
from twinlog.kafka.admin import ClusterAdmin, TopicOrder
from twinlog.logs.configs import ensure_broker_time
from twinlog.logs.topic import BROKER_TIME, LogTopic
from twinlog.model.topics.target_topics import TopicFacts

_KNOWN_WITHIN_S: Final = 15.0
_PAUSE_S: Final = 0.1


def ensure_logs(admin: ClusterAdmin, replication_factor: int, *topics: LogTopic) -> dict[str, TopicFacts]:
    """Create the topics that are missing; return what the cluster says of each. Raises ClusterError.

    A topic that exists is used as it is: its partitions and configs may differ from what we would create. Topics that
    are to have the broker's time get it, if we may set it.
    """
    by_name = {topic.name: topic for topic in topics}
    known: dict[str, TopicFacts] = {}
    deadline = time.monotonic() + _KNOWN_WITHIN_S
    while len(known) < len(by_name):
        answers = admin.describe_topics([name for name in by_name if name not in known])
        known |= {name: answer for name, answer in answers.items() if isinstance(answer, TopicFacts)}
        missing = {name: answer for name, answer in answers.items() if name not in known}
        if missing and time.monotonic() > deadline:
            name, answer = next(iter(missing.items()))
            raise BrokerRefused(admin.cluster, f"{name} was created but does not appear: {answer}")
        for name in missing:
            if (refusal := create_log(admin, replication_factor, by_name[name])) is not None:
                raise refusal
        if missing:
            time.sleep(_PAUSE_S)
    ensure_broker_time(admin, [topic.name for topic in topics if BROKER_TIME.items() <= topic.configs.items()])
    return known


def create_log(admin: ClusterAdmin, replication_factor: int, topic: LogTopic) -> ClusterError | None:
    """Create one topic; None when it is there now. Does not wait until the cluster knows it."""
    order = TopicOrder(topic.name, topic.partitions, replication_factor, topic.configs)
    refusal = admin.create_topics([order])[topic.name]
    if isinstance(refusal, AccessDenied):
        return AccessDenied(admin.cluster, f"Create and Describe on {topic.name} are needed")
    return None if isinstance(refusal, TopicExists) else refusal
