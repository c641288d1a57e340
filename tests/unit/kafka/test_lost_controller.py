"""A request that waits for a controller that is gone: the client is made to ask who it is now."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any, cast

import pytest
from confluent_kafka import KafkaError, KafkaException

from twinlog.config.settings import ClientSettings
from twinlog.kafka import admin as admin_room
from twinlog.kafka.admin import ClusterAdmin


class StuckClient:
    """Answers once it has asked for the metadata so many times; the first attempts find a broker that is away."""

    def __init__(self, attempts: int) -> None:
        self.attempts = attempts
        self.future: Future[str] = Future()

    def poll(self, _timeout: float) -> int:
        return 0

    def list_topics(self, timeout: float) -> None:
        assert timeout > 0
        self.attempts -= 1
        if self.attempts:
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))
        self.future.set_result("the facts")


@pytest.mark.parametrize("attempts", [1, 3])
@pytest.mark.proves("R9")
def test_a_request_that_waits_for_a_dead_controller_is_answered_by_the_next_one(
    monkeypatch: pytest.MonkeyPatch, attempts: int
) -> None:
    monkeypatch.setattr(admin_room, "_CONTROLLER_S", 0.01)
    monkeypatch.setattr(admin_room, "_GRACE_S", 0.0)
    admin = ClusterAdmin(ClientSettings(cluster="A", bootstrap_servers=("127.0.0.1:1",), request_timeout_ms=2000))
    client = StuckClient(attempts)
    admin._client = cast("Any", client)
    assert admin._gathered({"orders": client.future}) == {"orders": "the facts"}
