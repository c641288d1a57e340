"""The broker that an admin client knows as the controller dies: questions are answered by the others."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from tests.kit.links import link_between

from twinlog.kafka.admin import ClusterAdmin, TopicOrder
from twinlog.local.cluster import LocalCluster
from twinlog.model.topics.target_topics import TopicFacts

pytestmark = pytest.mark.chaos
CLIENTS = 12
"""Each is told one of the three by chance; that none knows the one that dies has a chance of 1 in 130."""


@pytest.mark.proves("R9")
def test_a_dead_controller_delays_a_question_and_does_not_fail_it(make_cluster: Callable[..., LocalCluster]) -> None:
    cluster = make_cluster("trio", brokers=3)
    settings = link_between(cluster, cluster, {}).clients.source_admin
    admins = [ClusterAdmin(settings) for _ in range(CLIENTS)]
    assert admins[0].create_topics([TopicOrder("orders", 1, 3, {})]) == {"orders": None}
    for admin in admins:
        admin.describe_topics(["orders"])
    cluster.brokers[2].kill()
    took = []
    for admin in admins:
        began = time.monotonic()
        assert isinstance(admin.describe_topics(["orders"])["orders"], TopicFacts)
        took.append(time.monotonic() - began)
    assert max(took) < 20, took
