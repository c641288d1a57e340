"""Bulk requests of the Elasticsearch sink, against a small HTTP server that answers as Elasticsearch does."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

import pyarrow as pa
import pytest

from twinlog.pipelines.api import Retriable, SinkBatch
from twinlog.pipelines.plugins import connector
from twinlog.pipelines.schemas import Schema, struct
from twinlog.pipelines.sinks.elasticsearch.sink import ElasticsearchSink


class Server(ThreadingHTTPServer):
    """Keeps what it was sent; `statuses` are the answers for documents by their id."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[tuple[str, str, bytes]] = []
        self.statuses: dict[str, int] = {}
        self.busy = 0


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def _answer(self) -> None:
        server = cast("Server", self.server)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        server.requests.append((self.command, self.path, body))
        status, found = 200, {"acknowledged": True, "version": {"number": "7.17.29"}}
        if server.busy:
            server.busy -= 1
            status, found = 429, {"error": "too many requests"}
        elif self.path.startswith("/_bulk"):
            found = self._bulk(server, body)
        data = json.dumps(found).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_PUT = do_POST = _answer  # noqa: N815  the library's names

    def _bulk(self, server: Server, body: bytes) -> dict[str, Any]:
        items: list[Any] = []
        lines = body.split(b"\n")[:-1]
        while lines:
            action = json.loads(lines.pop(0))
            ((name, facts),) = action.items()
            if name != "delete":
                json.loads(lines.pop(0))
            code = server.statuses.get(facts["_id"], 201)
            entry: dict[str, Any] = {"status": code}
            if code >= 400:
                entry["error"] = {
                    "type": "mapper_parsing_exception",
                    "reason": "failed",
                    "caused_by": {"reason": "no number"},
                }
            items.append({name: entry})
        return {"errors": any("error" in next(iter(one.values())) for one in items), "items": items}

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    threading.Thread(target=made.serve_forever, daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()


def sink_of(server: Server, **config: str) -> ElasticsearchSink:
    keys = {key.replace("_", "."): value for key, value in config.items()}
    url = f"http://127.0.0.1:{server.server_port}"
    made = connector("io.confluent.connect.elasticsearch.ElasticsearchSinkConnector", {"connection.url": url, **keys})
    assert isinstance(made, ElasticsearchSink)
    return made


def batch_of(*lines: str | None, schema: Schema | None = None) -> SinkBatch:
    count = len(lines)
    rows = pa.RecordBatch.from_pydict(
        {"topic": ["t"] * count, "key": pa.nulls(count, pa.string()), "value": pa.array(lines, pa.string())}
    )
    return SinkBatch("Shop", rows, None, schema)


def line(number: int) -> str:
    return f'{{"index":{{"_index":"shop","_id":"{number}"}}}}\n{{"n":{number}}}\n'


def test_documents_are_sent_in_bulks_of_the_wanted_size(server: Server) -> None:
    sink = sink_of(server, batch_size="2", schema_ignore="true")
    assert sink.put(batch_of(line(1), line(2), "", line(3))) == []
    assert [body.count(b"_id") for _, _, body in server.requests] == [2, 1]
    sink.close()


def test_refused_documents_are_named_with_the_reason_and_conflicts_are_counted(server: Server) -> None:
    server.statuses = {"2": 400, "3": 409}
    sink = sink_of(server, schema_ignore="true")
    rejected = sink.put(batch_of(line(1), line(2), line(3), None))
    assert [(one.row, "no number" in one.reason) for one in rejected] == [(3, False), (1, True)]
    assert sink.conflicts == 1


def test_a_busy_cluster_is_asked_again_by_the_framework(server: Server) -> None:
    server.busy = 1
    sink = sink_of(server, schema_ignore="true")
    with pytest.raises(Retriable):
        sink.put(batch_of(line(1)))
    assert sink.put(batch_of(line(1))) == []
    server.statuses = {"1": 429}
    with pytest.raises(Retriable):
        sink.put(batch_of(line(1)))


def test_an_index_gets_the_mapping_of_the_schema_once(server: Server) -> None:
    sink = sink_of(server)
    schema = struct(("n", Schema("int32")))
    sink.put(batch_of(line(1), schema=schema))
    sink.put(batch_of(line(2), schema=schema))
    puts = [(path, json.loads(body)) for method, path, body in server.requests if method == "PUT"]
    assert puts == [("/shop", {"mappings": {"properties": {"n": {"type": "integer"}}}})]


def test_a_cluster_that_is_away_is_a_finding_and_passing() -> None:
    url = "http://127.0.0.1:1"
    made = connector("ElasticsearchSink", {"connection.url": url, "connection.password": "hunter2"})
    assert isinstance(made, ElasticsearchSink)
    (finding,) = made.check()
    assert finding.key == "connection.url"
    assert "hunter2" not in finding.message
    with pytest.raises(Retriable):
        made.put(batch_of(line(1)))
