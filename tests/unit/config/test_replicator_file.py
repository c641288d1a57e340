"""Replicator's connector file as a link: JSON and properties, every key supported or spoken about."""

from __future__ import annotations

import json
from operator import attrgetter
from typing import Any

import pytest

from twinlog.config.resolve import Resolved, resolve
from twinlog.config.settings import LinkSettings
from twinlog.errors import Finding, SettingsInvalid

BASE: dict[str, Any] = {
    "connector.class": "io.confluent.connect.replicator.ReplicatorSourceConnector",
    "src.kafka.bootstrap.servers": "one:9092",
    "dest.kafka.bootstrap.servers": "two:9092",
    "topic.whitelist": "orders",
}


def load(name: str = "dc1-to-dc2", **settings: Any) -> Resolved:
    config = {**BASE, **{key.replace("__", "."): value for key, value in settings.items()}}
    text = json.dumps({"name": name, "config": {k: v for k, v in config.items() if v is not None}}, indent=1)
    return resolve(text.encode(), "replicator.json", (), {})


def link(**settings: Any) -> LinkSettings:
    (only,) = load(**settings).links
    return only


def finding(resolved: Resolved, key: str) -> Finding:
    (found,) = [one for one in resolved.findings if one.key == key]
    return found


def refused(**settings: Any) -> str:
    with pytest.raises(SettingsInvalid) as caught:
        load(**settings)
    return str(caught.value)


def test_json_and_properties_come_to_the_same_link() -> None:
    lines = [f"{key}={value}" for key, value in {"name": "dc1-to-dc2", **BASE}.items()]
    (other,) = resolve("\n".join(lines).encode(), "replicator.properties", (), {}).links
    flat = resolve(json.dumps({"name": "dc1-to-dc2", **BASE}).encode(), "replicator.json", (), {}).links
    assert link() == other == flat[0]


def test_both_ends_get_their_clients_and_names_stay_as_they_are() -> None:
    one = link(
        src__kafka__request__timeout__ms=20_000,
        src__consumer__fetch__max__bytes=1_000_000,
        producer__override__max__request__size="500000",
    )
    assert (one.name, one.clients.source_consumer.bootstrap_servers) == ("dc1->dc2", ("one:9092",))
    assert one.clients.target_producer.bootstrap_servers == one.clients.target_admin.bootstrap_servers == ("two:9092",)
    assert one.clients.source_consumer.request_timeout_ms == one.clients.source_admin.request_timeout_ms == 20_000
    assert (one.reading.fetch.max_bytes, one.writing.max_request_bytes) == (1_000_000, 500_000)
    assert one.naming.remote(one.source, "orders") == "orders"
    assert one.provenance.mode == "batch"


def test_replicator_writes_nothing_of_mirrormakers() -> None:
    one = link()
    written = (one.heartbeats.enabled, one.checkpoints.enabled, one.offset_syncs.enabled)
    assert not any((*written, one.acls.enabled, one.topics.heartbeats))
    assert load().heartbeats == ()
    assert load().findings == ()


def test_topics_provenance_and_rename_are_replicators() -> None:
    one = link(
        topic__whitelist="a.b",
        topic__regex="c{1,2}",
        topic__blacklist="cc",
        topic__rename__format="${topic}.copy",
        provenance__header__enable=True,
        provenance__header__filter__overrides="id,.*,5-",
    )
    assert [name for name in ("a.b", "axb", "c", "cc", "orders") if one.topics.matches(name)] == ["a.b", "c"]
    assert one.naming.remote(one.source, "c") == "c.copy"
    assert (one.provenance.mode, one.provenance.overrides[0].from_ms) == ("header", 5)


@pytest.mark.parametrize(
    ("settings", "field", "value"),
    [
        ({"topic__poll__interval__ms": 1_500}, "copies.refresh_seconds", 2),
        ({"topic__poll__interval__ms": 0}, "copies.refresh_seconds", 1),
        ({"topic__config__sync": False}, "configs.enabled", False),
        ({"topic__config__sync__interval__ms": "120000"}, "configs.seconds", 120),
        ({"dest__topic__replication__factor": 0}, "copies.replication_factor", -1),
        ({"dest__topic__replication__factor": 3}, "copies.replication_factor", 3),
        ({"offset__translator__tasks__max": 0}, "group_offsets.enabled", False),
        ({"offset__translator__tasks__max": -1}, "group_offsets.enabled", True),
        ({"tasks__max": 4}, "reading.tasks_max", 4),
    ],
)
def test_keys_with_another_name_here(settings: dict[str, Any], field: str, value: object) -> None:
    assert attrgetter(field)(link(**settings)) == value


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"value__converter": "io.confluent.connect.avro.AvroConverter"}, "only ByteArrayConverter is possible"),
        ({"topic__preserve__partitions": False}, "a record keeps its partition"),
        ({"topic__timestamp__type": "LogAppendTime"}, "records keep their times"),
        ({"offset__start": "consumer"}, "see start.from"),
        ({"topic__poll__interval__ms": "soon"}, "topic.poll.interval.ms: is not valid"),
        ({"dest__kafka__bootstrap__servers": None}, "dest.kafka.bootstrap.servers: missing"),
        ({"src__kafka__security__protocol": "TLS"}, "src.kafka.security.protocol: TLS is not valid"),
        ({"tasks__max": [1]}, "tasks.max: must be a text"),
    ],
)
def test_what_would_change_the_copy_is_refused_in_the_words_of_the_file(settings: dict[str, Any], reason: str) -> None:
    assert reason in refused(**settings)


@pytest.mark.parametrize(
    ("settings", "level", "sentence"),
    [
        ({"confluent__license": "s3cret"}, "info", "no effect: Twinlog needs no licence"),
        ({"offset__topic__commit": True}, "info", "no effect: positions are kept"),
        ({"src__consumer__group__id": "g"}, "info", "no effect: positions are kept"),
        ({"src__kafka__timestamps__topic__num__partitions": 50}, "info", "no effect: positions of groups"),
        ({"schema__registry__topic": "_schemas"}, "info", "no effect: schemas are not translated"),
        ({"dest__kafka__retry__backoff__ms": 100}, "info", "no effect: it tunes the Java client"),
        ({"topic__whitelst": "orders"}, "warning", "did you mean topic.whitelist?"),
        ({"src__consumer__fetch__max__byte": 1}, "warning", "did you mean src.consumer.fetch.max.bytes?"),
    ],
)
def test_what_sets_nothing_is_spoken_about(settings: dict[str, Any], level: str, sentence: str) -> None:
    resolved = load(**settings)
    (key,) = (name.replace("__", ".") for name in settings)
    found = finding(resolved, key)
    assert (found.level, found.line is not None) == (level, True)
    assert sentence in found.sentence
    assert "s3cret" not in str(resolved.findings)


def test_origins_name_the_keys_and_lines_of_the_file() -> None:
    resolved = load(topic__poll__interval__ms=1_500)
    origins = resolved.origins["dc1->dc2"]
    assert origins["refresh.topics.interval.seconds"] == ("2", "topic.poll.interval.ms", 8)
    assert origins["source consumer: bootstrap.servers"].key == "src.kafka.bootstrap.servers"
    assert origins["topic.rename.format"] == ("${topic}", None, None)


@pytest.mark.parametrize(
    ("name", "aliases", "link_name"),
    [
        ("replicator-dc1-to-dc2", {}, "dc1->dc2"),
        ("east_to_west", {}, "east->west"),
        ("my replicator!", {}, "my-replicator->dest"),
        ("x", {"source__cluster__alias": "east", "target__cluster__alias": "west"}, "east->west"),
    ],
)
def test_the_link_is_named_after_aliases_or_the_connector(name: str, aliases: dict[str, str], link_name: str) -> None:
    assert load(name, **aliases).links[0].name == link_name


def test_without_a_selection_nothing_is_mirrored_and_that_is_said() -> None:
    resolved = load(topic__whitelist=None)
    assert not resolved.links[0].topics.matches("orders")
    assert any("no topic is mirrored" in one.sentence for one in resolved.findings)


@pytest.mark.parametrize("text", ["{", '{"config": 1}', '{"name": "x", "config": {"a": null}}'])
def test_json_that_is_no_connector_is_refused(text: str) -> None:
    with pytest.raises(SettingsInvalid):
        resolve(text.encode(), "replicator.json", (), {})
