"""Topics of ours that cannot be made: the right that is missing is named."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

import pytest

from twinlog.errors import AccessDenied, ClusterError, TopicUnknown
from twinlog.kafka.admin import ClusterAdmin, TopicOrder
from twinlog.logs.ensure import ensure_logs
from twinlog.logs.topic import LogTopic


class Refusing:
    """A cluster without the topic, where we may create none."""

    cluster = "west"

    def describe_topics(self, names: Iterable[str]) -> dict[str, ClusterError]:
        return {name: TopicUnknown("west", name) for name in names}

    def create_topics(self, orders: Iterable[TopicOrder]) -> dict[str, ClusterError]:
        return {order.name: AccessDenied("west", "Authorization failed.") for order in orders}


@pytest.mark.proves("R14")
def test_a_topic_that_may_not_be_created_names_the_right() -> None:
    with pytest.raises(AccessDenied, match="west: access denied: Create and Describe on __twinlog-ledger are needed"):
        ensure_logs(cast("ClusterAdmin", Refusing()), 1, LogTopic("__twinlog-ledger", {}))
