"""The start of a connector on a cluster that has just been given its topics."""

from __future__ import annotations

from unittest import mock

import pytest

from twinlog.errors import TopicUnknown
from twinlog.model.topics.target_topics import TopicFacts
from twinlog.pipelines import dead_letters, worker
from twinlog.pipelines.worker_settings import read_worker

SETTINGS = read_worker({"bootstrap.servers": "x:1", "group.id": "g"})


def test_a_topic_that_was_just_created_is_waited_for() -> None:
    unknown = TopicUnknown("kafka", "status")
    with (
        mock.patch.object(worker, "append_record", side_effect=[unknown, unknown, 7]) as append,
        mock.patch("time.sleep"),
    ):
        assert worker.claim(SETTINGS, "orders", "w") == 7
    assert append.call_count == 3


def test_a_new_topic_is_there_when_it_was_ensured() -> None:
    unknown = TopicUnknown("kafka", "offsets")
    answers = [{"offsets": one} for one in (unknown, unknown, unknown, TopicFacts("offsets", "id", 25, 1, False))]
    admin = mock.Mock(
        describe_topics=mock.Mock(side_effect=answers), create_topics=mock.Mock(return_value={"offsets": None})
    )
    with mock.patch.object(dead_letters, "ClusterAdmin", return_value=admin), mock.patch("time.sleep"):
        dead_letters.ensure_topic(SETTINGS.cluster, "offsets", 1, 25)
    assert admin.describe_topics.call_count == 4


def test_a_topic_that_stays_unknown_is_told() -> None:
    with (
        mock.patch.object(worker, "append_record", side_effect=TopicUnknown("kafka", "status")),
        mock.patch("time.monotonic", side_effect=iter(range(0, 1000, 10))),
        mock.patch("time.sleep"),
        pytest.raises(TopicUnknown),
    ):
        worker.claim(SETTINGS, "orders", "w")
