"""Which files and hosts a connector of the HTTP interface may name, whatever the key is called."""

from __future__ import annotations

import pytest

from twinlog.config.security.connector_rules import ConnectorRules, broken_rules
from twinlog.config.text.properties import Entry

RULES = ConnectorRules(allowed_paths=("/data",), allowed_hosts=("db",))


def complaints(key: str, value: str) -> list[str]:
    return [one.sentence for one in broken_rules({key: Entry(key, 1, value, value)}, "f", RULES)]


@pytest.mark.parametrize("key", ["file", "input.path", "finished.path", "error.path", "store.url"])
def test_only_folders_that_the_service_lists(key: str) -> None:
    prefix = "file://" if key == "store.url" else ""
    assert complaints(key, f"{prefix}/data/x") == []
    for wrong in ("/etc/passwd", "/data/../etc", "/database/x"):
        assert "connector.allowed.paths" in complaints(key, prefix + wrong)[-1]


@pytest.mark.parametrize(
    "key", ["connection.url", "store.url", "http.api.url", "http.url", "value.converter.schema.registry.url"]
)
def test_only_hosts_that_the_service_lists(key: str) -> None:
    assert complaints(key, "http://db:8081/x") == []
    assert len(complaints(key, "http://u:p@elsewhere:1/x")) == 1
    assert "link-local" in complaints(key, "http://169.254.169.254/latest")[0]


def test_the_host_of_a_database() -> None:
    assert complaints("database.hostname", "db") == []
    assert len(complaints("database.hostname", "elsewhere")) == 1


@pytest.mark.parametrize(
    ("key", "before"),
    [("iceberg.catalog.warehouse", "file://"), ("iceberg.catalog.uri", "sqlite:///"), ("delta.table.url", "file://"),
     ("iceberg.catalog.warehouse", "")],
)  # fmt: skip
def test_folders_of_a_lake(key: str, before: str) -> None:
    assert complaints(key, f"{before}/data/lake") == []
    assert "connector.allowed.paths" in complaints(key, f"{before}/etc/lake")[-1]


@pytest.mark.parametrize(
    "key", ["iceberg.catalog.uri", "iceberg.catalog.s3.endpoint", "delta.storage.AWS_ENDPOINT_URL"]
)
def test_hosts_of_a_lake(key: str) -> None:
    assert complaints(key, "https://db/x") == []
    assert len(complaints(key, "https://elsewhere/x")) == 1
    assert complaints("delta.table.url", "s3://bucket/${topic}") == []
