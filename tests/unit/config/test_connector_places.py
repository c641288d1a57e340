"""Which files and hosts a connector of the HTTP interface may name, whatever the key is called."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.declared_providers import sample_config

from twinlog.config.security.connector_rules import ConnectorRules, is_link_local
from twinlog.config.security.places import Leads, leads_to_path
from twinlog.control.grounds import Grounds
from twinlog.control.kind import Kind
from twinlog.control.kinds import all_kinds, kind_named
from twinlog.model.connectors import Connector
from twinlog.pipelines.plugins import all_plugins
from twinlog.pipelines.settings import facts_of, leads_of
from twinlog.pipelines.validate import leads_of_config

HOSTS, PATHS = "connector.allowed.hosts", "connector.allowed.paths"
RULES = ConnectorRules(allowed_paths=("/data",), allowed_hosts=("db", "*.corp.example"))
PIPELINES = [kind for kind in all_kinds() if kind.role == "pipeline"]
PLACE: Final = re.compile(r"url|host|path|location|servers|^file$|cert|ssl\.(ca|key)$|address|endpoint|proxy")
NO_PLACE: Final = {
    "syslog.host": "it is listened on, and nothing is asked there",
    "path.format": "a pattern of folders inside of the store",
    "xml.row.tag.path": "inside of a document",
}


def complaints(kind: str, key: str, value: str, rules: ConnectorRules = RULES) -> str:
    found = kind_named(kind)
    assert found is not None
    config = {**sample_config(found), key: value}
    return "\n".join(str(one) for one in found.check(Connector("c", config), Grounds(rules)) if one.key == key)


def every_place() -> list[tuple[Kind, str, Leads]]:
    return [(kind, key, leads) for kind in PIPELINES
            for key, leads in leads_of_config({"connector.class": kind.class_name}).items()
            if not key.endswith(".*")]  # fmt: skip


def test_every_key_that_sounds_like_a_place_says_how_it_leads_there():
    silent = [
        f"{plugin.name}: {facts.key}"
        for plugin in all_plugins()
        if hasattr(plugin.target, "settings")
        for facts, its_field in facts_of(plugin.target.settings).values()
        if PLACE.search(facts.key) and "str" in str(its_field.type)
        and facts.leads is None and facts.key not in NO_PLACE and "no meaning" not in facts.doc
    ]  # fmt: skip
    assert silent == []


@pytest.mark.parametrize("kind", PIPELINES, ids=lambda kind: kind.class_name.rpartition(".")[2])
def test_a_sample_names_only_what_is_allowed(kind: Kind):
    """Otherwise the refusals below would prove nothing."""
    said = [str(one) for one in kind.check(Connector("c", sample_config(kind)), Grounds(RULES)) if one.level == "error"]
    assert said == []


@pytest.mark.proves("R12")
@pytest.mark.parametrize(("kind", "key", "leads"), every_place(), ids=lambda one: one if isinstance(one, str) else "")
def test_no_key_of_any_kind_leads_beyond_the_lists(kind: Kind, key: str, leads: Leads):
    if leads is leads_to_path:
        wrong = {"/etc/passwd": PATHS, "/data/../etc/passwd": PATHS, "/database/x": PATHS, "relative": PATHS}
    else:
        wrong = {f"{scheme}{login}{host}": why
                 for scheme in ("", "http://", "jdbc:postgresql://", "jdbc:mysql://")
                 for login in ("", "db:80@")
                 for host, why in (("evil:9200", HOSTS), ("evil", HOSTS), ("evil.corp.example.x", HOSTS),
                                   ("169.254.169.254:80", "link-local"), ("2852039166", "link-local"),
                                   ("[fe80::1]:80", "link-local"), ("/etc", ""), ("", ""))}  # fmt: skip
    for value, why in wrong.items():
        said = complaints(kind.class_name, key, value)
        assert said or not value, f"{key} = {value} is allowed"
        if value.startswith(("http://", "/")) and "@" not in value and "jdbc" not in leads.__name__:
            assert why in said or leads.__name__ == "leads_to_database", f"{key} = {value}: {said}"


@pytest.mark.parametrize(
    ("kind", "key", "value"),
    [
        ("ElasticsearchSink", "connection.url", "evil:9200"),
        ("ElasticsearchSink", "connection.url", "169.254.169.254:80"),
        ("ElasticsearchSink", "connection.url", "http://db:9200,evil:9200"),
        ("ElasticsearchSink", "connection.url", "http://["),
        ("JdbcSink", "connection.url", "jdbc:postgresql:mydb"),
        ("JdbcSink", "connection.url", "jdbc:postgresql:///mydb"),
        ("JdbcSink", "connection.url", "jdbc:postgresql://evil,a.corp.example/d"),
        ("HttpSink", "http.url", "http://db\\@evil/"),
        ("HttpSink", "https.ca.location", "/etc/ssl/x.pem"),
        ("ObjectStoreSink", "store.url", "FILE:///etc"),
        ("ObjectStoreSink", "store.url", "file:///data/%2e%2e/etc"),
        ("ObjectStoreSink", "store.url", "db.evil:9000"),
        ("ObjectStoreSink", "topics.dir", "../../etc"),
        ("PostgresSource", "database.hostname", "/var/run/postgresql"),
        ("PostgresSource", "database.hostname", "evil,x.corp.example"),
        ("FileStreamSink", "value.converter.schema.registry.url", "evil:8081"),
        ("FileStreamSink", "value.converter.schema.registry.ssl.ca.location", "/etc/x"),
    ],
)
def test_ways_around_the_lists_that_were_open(kind: str, key: str, value: str):
    assert complaints(kind, key, value), f"{key} = {value}"


@pytest.mark.parametrize(
    ("kind", "key", "before"),
    [
        ("IcebergSink", "iceberg.catalog.warehouse", "file://"),
        ("IcebergSink", "iceberg.catalog.uri", "sqlite:///"),
        ("IcebergSink", "iceberg.catalog.warehouse", ""),
        ("DeltaSink", "delta.table.url", "file://"),
    ],
)
def test_folders_of_a_lake(kind: str, key: str, before: str) -> None:
    assert complaints(kind, key, f"{before}/data/lake") == ""
    assert PATHS in complaints(kind, key, f"{before}/etc/lake")


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        ("IcebergSink", "iceberg.catalog.uri"),
        ("IcebergSink", "iceberg.catalog.s3.endpoint"),
        ("DeltaSink", "delta.storage.AWS_ENDPOINT_URL"),
    ],
)
def test_hosts_of_a_lake(kind: str, key: str) -> None:
    assert complaints(kind, key, "https://db/x") == ""
    assert complaints(kind, key, "https://elsewhere/x") != ""
    assert complaints("DeltaSink", "delta.table.url", "s3://bucket/${topic}") == ""


@pytest.mark.parametrize(
    ("kind", "key", "value"),
    [
        ("ElasticsearchSink", "connection.url", "db:9200,https://u:p@k.corp.example"),
        ("JdbcSink", "connection.url", "jdbc:postgresql://db/d?user=u"),
        ("HttpSink", "http.api.url", "https://db/a/${topic}"),
        ("ObjectStoreSink", "store.url", "file:///data/x"),
        ("ObjectStoreSink", "topics.dir", "a/b"),
        ("FileStreamSink", "file", "/data/x"),
        ("FileStreamSink", "value.converter.schema.registry.url", "http://db:8081"),
    ],
)
def test_what_the_lists_allow(kind: str, key: str, value: str):
    assert complaints(kind, key, value) == ""


def test_a_symbolic_link_does_not_lead_out_of_an_allowed_folder(tmp_path: Path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "out").symlink_to("/etc")
    (tmp_path / "way").symlink_to(tmp_path / "in")
    rules = ConnectorRules(allowed_paths=(str(tmp_path / "way"),))
    assert complaints("FileStreamSink", "file", f"{tmp_path}/in/x", rules) == ""
    assert complaints("FileStreamSink", "file", f"{tmp_path}/way/x", rules) == ""
    assert PATHS in complaints("FileStreamSink", "file", f"{tmp_path}/in/out/passwd", rules)


@pytest.mark.parametrize("key", ["source.cluster.ssl.truststore.location", "target.cluster.ssl.keystore.location",
                                 "ssl.truststore.location", "producer.override.ssl.keystore.location"])  # fmt: skip
def test_stores_of_keys_lie_in_an_allowed_folder(key: str):
    link = "org.apache.kafka.connect.mirror.MirrorSourceConnector"
    assert PATHS in complaints(link, key, "/etc/ssl/private/other-link.p12")
    assert PATHS not in complaints(link, key, "/data/x.p12")


@given(
    st.integers(0, 2**16 - 1),
    st.sampled_from(["{a}.{b}.{c}.{d}", "{whole}", "0x{whole:x}", "{a}.{b}.{half}", "::ffff:{a}.{b}.{c}.{d}"]),
)
def test_an_address_of_the_link_is_known_in_every_spelling(last: int, spelling: str):
    whole = (169 << 24) + (254 << 16) + last
    text = spelling.format(a=169, b=254, c=last >> 8, d=last & 255, half=last, whole=whole)
    assert is_link_local(text)


def test_keys_with_two_names_lead_the_same_way():
    for plugin in all_plugins():
        settings = getattr(plugin.target, "settings", None)
        if settings is None:
            continue
        led = leads_of(settings)
        assert all(other in led for facts, _ in facts_of(settings).values() if facts.leads for other in facts.also)
