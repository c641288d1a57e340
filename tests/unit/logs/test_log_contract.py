"""The promises of a log on the cluster in memory."""

from __future__ import annotations

import pytest
from tests.kit.fake_cluster import FakeBroker
from tests.kit.log_contract import LogContract, Place


class TestInMemory(LogContract):
    @pytest.fixture
    def place(self) -> Place:
        broker = FakeBroker()
        broker.create("log")
        return Place(broker.cluster, "log", "absent")
