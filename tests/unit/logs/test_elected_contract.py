"""The promises of a log with an elected writer, in memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from tests.kit.elected_contract import ElectedContract, Log
from tests.kit.fake_elected import FakeElectedLog, FakeTopic


class TestInMemory(ElectedContract):
    @pytest.fixture
    def make(self) -> Callable[..., Log]:
        return partial(FakeElectedLog, FakeTopic())
