"""The HTTP sink, the syslog source and the folder source, each against what it talks to. No Spark, no Kafka."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet
import pytest
from tests.kit.http_notes import Server
from tests.kit.waiting import wait_until

from twinlog.model.names import TopicPartition
from twinlog.pipelines.api import Owner, Retriable, SettingsRefused, SinkBatch
from twinlog.pipelines.plugins import connector
from twinlog.pipelines.sources.folder.reading import Unreadable

HTTP = "io.confluent.connect.http.HttpSinkConnector"
SYSLOG = "io.confluent.connect.syslog.SyslogSourceConnector"


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.http.shutdown()


def batch_of(values: list[str | None], keys: list[str] | None = None) -> SinkBatch:
    count = len(values)
    rows = pa.RecordBatch.from_pydict(
        {
            "topic": ["t"] * count, "partition": pa.array([0] * count, pa.int32()),
            "offset": pa.array(range(count), pa.int64()), "timestamp": pa.array([0] * count, pa.int64()),
            "key": pa.array(keys or ["k"] * count, pa.string()), "value": pa.array(values, pa.string()),
            "headers": pa.nulls(count),
        }
    )  # fmt: skip
    return SinkBatch("t", rows, None, None)


def http_sink(server: Server, **config: str) -> Any:
    keys = {key.replace("_", "."): value for key, value in config.items()}
    made: Any = connector(HTTP, {"http.api.url": f"{server.url}/in/${{topic}}/${{key}}", **keys})
    made.open(Owner("h", 1), [TopicPartition("t", 0)])
    return made


def test_each_record_is_a_request(server: Server) -> None:
    sink = http_sink(server, auth_type="BASIC", connection_user="u", connection_password="p", headers="X-A: 1|X-B:2",
                     behavior_on_null_values="delete")  # fmt: skip
    assert not sink.put(batch_of(['{"a":1}', None], ["x/y", "z"]))
    (first, second) = server.requests
    assert first[:3] == ("POST", "/in/t/x%2Fy", '{"a":1}')
    assert (first[3]["Idempotency-Key"], first[3]["Authorization"], first[3]["X-B"]) == ("t+0+0", "Basic dTpw", "2")
    assert second[:2] == ("DELETE", "/in/t/z")
    assert list(sink.check()) == []
    sink.close()


def test_a_refused_record_does_not_take_its_batch_along(server: Server) -> None:
    made: Any = connector(HTTP, {"http.api.url": server.url, "batch.max.size": "3", "batch.prefix": "[",
                                 "batch.suffix": "]"})  # fmt: skip
    assert [one.row for one in made.put(batch_of(["1", "400", "3", "4"]))] == [1]
    assert [body for _, _, body, _ in server.requests] == ["[1,400,3]", "[1]", "[400]", "[3]", "[4]"]


def test_a_busy_or_absent_server_is_waited_for(server: Server) -> None:
    with pytest.raises(Retriable, match="503"):
        http_sink(server).put(batch_of(["503"]))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        dead = f"http://127.0.0.1:{probe.getsockname()[1]}"
    nobody: Any = connector(HTTP, {"http.api.url": dead})
    with pytest.raises(Retriable):
        nobody.put(batch_of(["1"]))
    assert [one.key for one in nobody.check()] == ["http.api.url"]
    with pytest.raises(SettingsRefused):
        connector(HTTP, {"http.api.url": "ftp://x"})


@pytest.mark.parametrize("listener", ["UDP", "TCP"])
def test_syslog_messages_become_rows(listener: str) -> None:
    source: Any = connector(SYSLOG, {"syslog.port": "0", "syslog.listener": listener, "topic": "logs"})
    messages = [
        b'<34>1 2026-01-02T03:04:05Z host app 77 ID1 [x@1 a="b"] it works',
        b"<13>Jan  2 03:04:05 host su[9]: failed",
        b"no syslog",
    ]
    kind = socket.SOCK_DGRAM if listener == "UDP" else socket.SOCK_STREAM
    port = source.port
    with socket.socket(socket.AF_INET, kind) as sender:
        sender.connect(("127.0.0.1", port))
        for one in messages:
            sender.send(one + (b"" if listener == "UDP" else b"\n"))
        (at,) = source.partitions()
        rows: list[Any] = []
        chunks: list[Any] = []

        def look() -> int:
            chunks.extend(source.read(at, chunks[-1].next if chunks else None, lambda: False))
            rows[:] = [row for chunk in chunks for row in chunk.rows.to_pylist()]
            return len(rows)

        wait_until(look, lambda seen: seen >= 3, within_s=30, what="messages")
    source.close()
    assert [row["type"] for row in rows] == ["RFC5424", "RFC3164", "UNKNOWN"]
    assert (rows[0]["facility"], rows[0]["severity"], rows[0]["message"], rows[0]["messageId"]) == (
        4,
        2,
        "it works",
        "ID1",
    )
    assert (rows[1]["appName"], rows[1]["processId"], rows[1]["message"]) == ("su", "9", "failed")
    assert chunks[-1].next == {"messages": 3}


def folder_source(folder: Path, **config: str) -> Any:
    for name in ("in", "done", "bad"):
        (folder / name).mkdir(exist_ok=True)
    keys = {key.replace("_", "."): value for key, value in config.items()}
    own = {"input.path": str(folder / "in"), "finished.path": str(folder / "done"), "error.path": str(folder / "bad"),
           "topic": "rows", **keys}  # fmt: skip
    return connector("io.twinlog.FolderSourceConnector", own)


def rows_of(source: Any, start: Any = None) -> tuple[list[Any], Any]:
    (at,) = source.partitions()
    found: list[Any] = []
    for chunk in source.read(at, start, lambda: False):
        found += chunk.rows.to_pylist() if len(chunk.rows) else []
        start = dict(chunk.next)
    return found, start


def test_files_of_every_format_become_rows(tmp_path: Path) -> None:
    wanted: list[Any] = [{"id": 1, "name": "a,b"}, {"id": 2, "name": None}]
    columns = "id BIGINT, name STRING"
    files = {
        "csv": b'id,name\n1,"a,b"\n2,\n',
        "json": b'{"id":1,"name":"a,b"}\n\n{"id":2}\n',
        "xml": b"<rows><row id='1'><name>a,b</name></row><row><id>2</id></row></rows>",
    }
    for form, data in files.items():
        (tmp_path / form).mkdir()
        source = folder_source(tmp_path / form, format=form, columns=columns)
        (source.folder / f"x.{form}").write_bytes(data)
        found, at = rows_of(source)
        if form == "csv":  # an empty text is no null there
            assert found == [wanted[0], {"id": 2, "name": ""}]
        else:
            assert found == wanted
        source.committed(None, at)
        assert [one.name for one in (tmp_path / form / "done").iterdir()] == [f"x.{form}"]
        assert rows_of(source, at)[0] == []
    both = {}
    for form in ("parquet", "avro", "text"):
        (tmp_path / form).mkdir()
        both[form] = folder_source(tmp_path / form, format=form)
    pyarrow.parquet.write_table(pa.Table.from_pylist(wanted), both["parquet"].folder / "x")
    avro: Any = {"type": "record", "name": "R", "fields": [
        {"name": "id", "type": "long"}, {"name": "name", "type": ["null", "string"]}]}  # fmt: skip
    with (both["avro"].folder / "x").open("wb") as file:
        fastavro.writer(file, avro, wanted)
    (both["text"].folder / "x").write_text("one\ntwo\n")
    assert rows_of(both["parquet"])[0] == rows_of(both["avro"])[0] == wanted
    assert rows_of(both["text"])[0] == [{"": "one"}, {"": "two"}]


def test_an_interrupted_file_goes_on_and_a_broken_one_goes_aside(tmp_path: Path) -> None:
    source = folder_source(tmp_path, format="csv", columns="id BIGINT", batch_size="2", halt_on_error="false")
    (source.folder / "a.csv").write_text("id\n" + "\n".join(map(str, range(7))))
    (at,) = source.partitions()
    whole = list(source.read(at, None, lambda: False))
    for cut in range(len(whole)):
        before = [row["id"] for chunk in whole[: cut + 1] for row in chunk.rows.to_pylist() if len(chunk.rows)]
        after = [row["id"] for row in rows_of(source, dict(whole[cut].next))[0]]
        assert before + after == list(range(7))
    source.committed(at, whole[-1].next)
    (source.folder / "broken.csv").write_text("id\nx\n")
    (source.folder / "good.csv").write_text("id\n9\n")
    assert rows_of(source, dict(whole[-1].next))[0] == [{"id": 9}]
    assert sorted(one.name for one in (tmp_path / "bad").iterdir()) == ["broken.csv", "broken.csv.reason"]
    strict = folder_source(tmp_path, format="csv", columns="id BIGINT")
    (strict.folder / "broken.csv").write_text("id\nx\n")
    with pytest.raises(Unreadable, match=r"broken\.csv"):
        rows_of(strict)


def test_the_class_names_of_spooldir_say_the_format(tmp_path: Path) -> None:
    name = "com.github.jcustenborder.kafka.connect.spooldir.SpoolDirCsvSourceConnector"
    own = {"input.path": str(tmp_path), "cleanup.policy": "NONE", "topic": "t", "connector.class": name}
    made: Any = connector(name, own)
    (tmp_path / "a").write_text("x,y\n1,2\n")
    assert rows_of(made)[0] == [{"x": "1", "y": "2"}]
    with pytest.raises(SettingsRefused, match="format"):
        connector("io.twinlog.FolderSourceConnector", {"input.path": "x", "cleanup.policy": "NONE", "topic": "t"})
    assert json.loads(json.dumps(dict(rows_of(made)[1])))["done"] == "a"
