"""Pure rules of the worker: its file, connectors in the config topic, validation, kinds of bytes, mappings."""

from __future__ import annotations

from pathlib import Path

import pytest

from twinlog.model.connectors import GroupState, Leader
from twinlog.pipelines.bytes_kind import kind_of, remark
from twinlog.pipelines.files import read_connector_file
from twinlog.pipelines.schemas import Schema, struct
from twinlog.pipelines.settings import SettingsRefused
from twinlog.pipelines.sinks.elasticsearch.mapping import index_name, mapping_of
from twinlog.pipelines.validate import definitions, findings_of
from twinlog.pipelines.worker_settings import read_worker

FILE_SINK = {"connector.class": "FileStreamSink", "file": "/data/x", "topics": "t"}


def test_the_config_topic_of_connect_is_understood() -> None:
    records = [
        (b"session-key", b'{"key":"x"}'),
        (b"connector-a", b'{"properties":{"connector.class":"X","tasks.max":"1"}}'),
        (b"task-a-0", b'{"properties":{}}'),
        (b"commit-a", b'{"tasks":1}'),
        (b"target-state-a", b'{"state":"PAUSED","state.v2":"STOPPED"}'),
        (b"connector-b", b'{"properties":{}}'),
        (b"connector-b", None),
        (b"connector-c", b"broken"),
    ]
    state = GroupState("workers", own_topic=True)
    for key, value in records:
        state = state.take(key, value)
    assert state.configs == {"a": {"connector.class": "X", "tasks.max": "1"}}
    assert state.state_of("a") == "STOPPED"
    assert state.state_of("unknown") == "STARTED"


def test_our_records_are_read_back_as_written() -> None:
    state = GroupState("workers", own_topic=True)
    for record in (
        state.config_record("ä", {"k": "v"}),
        state.state_record("ä", "PAUSED"),
        state.leader_record(Leader("w", "http://w")),
    ):
        state = state.take(*record)
    assert (state.configs, state.state_of("ä"), state.leader) == ({"ä": {"k": "v"}}, "PAUSED", Leader("w", "http://w"))
    state = state.take(*state.config_record("ä", None)).take(*state.state_record("ä", None))
    assert (state.configs, state.states) == ({}, {})


def test_every_error_of_a_connector_is_found_at_once() -> None:
    config = {
        "connector.class": "FileStreamSink",
        "topics": "t",
        "topics.regex": "t.*",
        "errors.tolerance": "some",
        "transforms": "a",
        "transforms.a.type": "org.apache.kafka.connect.transforms.Cast$Value",
        "transforms.a.spec": "x:int128",
        "filee": "/x",
    }
    found = {(one.key, one.level) for one in findings_of("c", config, {})}
    assert {
        ("errors.tolerance", "error"),
        ("file", "error"),
        ("transforms.a.spec", "error"),
        ("filee", "warning"),
    } <= found
    assert findings_of("c", FILE_SINK, {}) == []


def test_a_sink_needs_topics_and_an_unknown_class_is_named() -> None:
    assert [one.key for one in findings_of("c", {**FILE_SINK, "topics": ""}, {})] == ["topics"]
    (finding,) = findings_of("c", {"connector.class": "Nothing"}, {})
    assert "Nothing: no such source or sink" in finding.message
    assert [finding.key for finding in findings_of("c", {}, {})] == ["connector.class"]


@pytest.mark.parametrize("typed", ["FileStreamSinc", "org.apache.kafka.connect.file.FileStreemSinkConnector"])
def test_a_class_that_is_nearly_right_is_guessed(typed: str) -> None:
    (finding,) = findings_of("c", {**FILE_SINK, "connector.class": typed}, {})
    assert finding.key == "connector.class"
    assert finding.message.endswith("did you mean org.apache.kafka.connect.file.FileStreamSinkConnector?")


def test_errors_of_all_kinds_of_keys_are_told_at_once() -> None:
    config = {**FILE_SINK, "tasks.max": "many", "errors.tolerance": "some", "schedule": "often", "run": "available"}
    assert {finding.key for finding in findings_of("c", config, {})} == {"tasks.max", "errors.tolerance", "schedule"}


def test_passwords_are_passwords_in_the_list_of_keys() -> None:
    kinds = {one["name"]: one["type"] for one in definitions("io.confluent.connect.jdbc.JdbcSinkConnector")}
    assert (kinds["connection.password"], kinds["delete.enabled"], kinds["tasks.max"]) == ("PASSWORD", "BOOLEAN", "INT")


def test_a_workers_file_says_where_things_are() -> None:
    worker = read_worker({"bootstrap.servers": "a:1,b:2", "group.id": "g", "config.storage.topic": "c"})
    assert worker.cluster.bootstrap_servers == ("a:1", "b:2")
    assert (worker.standalone, worker.offsets_topic) == (False, "g-offsets")
    assert read_worker({"bootstrap.servers": "a:1", "offset.storage.file.filename": "/data/o"}).standalone


def test_connector_files_of_all_forms(tmp_path: Path) -> None:
    for name, text in {
        "a.json": '{"name": "n", "config": {"tasks.max": 2, "flag": true, "gone": null}}',
        "b.json": '{"name": "n", "tasks.max": "2", "flag": "true"}',
        "c.properties": "name=n\ntasks.max=2\nflag=true\n",
    }.items():
        (tmp_path / name).write_text(text)
        assert read_connector_file(tmp_path / name) == ("n", {"name": "n", "tasks.max": "2", "flag": "true"})
    (tmp_path / "d.json").write_text("{}")
    with pytest.raises(SettingsRefused, match="no name"):
        read_connector_file(tmp_path / "d.json")


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (None, "null"),
        (b"", "empty"),
        (b"\x00\x00\x00\x00\x07abc", "Confluent wire format, schema id 7"),
        (b'{"schema":{},"payload":1}', "JSON with a schema"),
        (b'{"a":1}', "JSON object"),
        (b"hello", "text"),
        (b"\xff\xfe", "2 bytes that are no text"),
    ],
)
def test_bytes_are_told_apart(data: bytes | None, kind: str) -> None:
    assert kind_of(data) == kind


def test_a_wrong_converter_is_remarked() -> None:
    assert "schema id 7" in (remark([b"\x00\x00\x00\x00\x07abc"], "x.JsonConverter", schemas=True) or "")
    assert "schemas.enable=false" in (remark([b'{"a":1}'], "x.JsonConverter", schemas=True) or "")
    assert remark([b'{"a":1}'], "x.JsonConverter", schemas=False) is None


def test_indices_and_mappings_follow_confluents_sink() -> None:
    assert index_name("_Shop.Orders") == "shop.orders"
    schema = struct(("a", Schema("int32")), ("n", struct(("s", Schema("string")))))
    properties = mapping_of(schema)["properties"]
    assert properties["a"] == {"type": "integer"}
    assert properties["n"]["properties"]["s"]["type"] == "text"
