"""One Spark for all tests of pipelines."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from twinlog.pipelines.session import start_pipeline_spark
from twinlog.spark.session import Session


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    session = start_pipeline_spark(tmp_path_factory.mktemp("spark"), slots=6)
    yield session
    session.stop()
