"""One Spark and one broker for all tests of pipelines."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from twinlog.local.cluster import LocalCluster
from twinlog.pipelines.session import start_pipeline_spark
from twinlog.spark.session import Session, stop_session


@pytest.fixture(scope="session")
def source_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    """A pipeline has one cluster; the second one of links would only cost time."""
    cluster = LocalCluster("pipelines", tmp_path_factory.mktemp("pipelines"))
    try:
        cluster.launch()
        cluster.await_ready(150)
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    session = start_pipeline_spark(tmp_path_factory.mktemp("spark"), slots=6)
    yield session
    stop_session(session)
