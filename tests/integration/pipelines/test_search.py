"""A real Elasticsearch and a real OpenSearch: ids, versions, deletes, new fields, refused documents, data streams."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.kit.pipelines import JSON, PATIENCE_S, committed, pipelines, produce
from tests.kit.waiting import wait_until

from twinlog.local.cluster import LocalCluster
from twinlog.local.search_engine import SearchEngine
from twinlog.pipelines.schemas import Schema, struct
from twinlog.spark.session import Session

pytestmark = pytest.mark.timeout(420)
CLASSES = {
    "elasticsearch": "io.confluent.connect.elasticsearch.ElasticsearchSinkConnector",
    "opensearch": "io.aiven.kafka.connect.opensearch.OpenSearchSinkConnector",
}
NARROW = struct(("id", Schema("int64")), ("name", Schema("string", optional=True)))
WIDE = struct(("id", Schema("int64")), ("name", Schema("string", optional=True)), ("extra", Schema("int32", True)))
OTHER = struct(("id", Schema("string")), ("name", Schema("string", optional=True)))


@pytest.fixture(scope="module", params=["elasticsearch", pytest.param("opensearch", marks=pytest.mark.chaos)])
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SearchEngine]:
    made = SearchEngine(request.param, tmp_path_factory.mktemp("search") / request.param)
    made.start()
    yield made
    made.stop()


def value(schema: Schema, **fields: Any) -> bytes:
    return json.dumps({"schema": schema.to_json(), "payload": fields}).encode()


def documents(engine: SearchEngine, index: str) -> dict[str, Any] | str:
    """What the index holds; a server that has just started may still close a connection."""
    try:
        return engine.documents(index)
    except OSError as error:
        return str(error)


@pytest.mark.proves("R31")
def test_documents_follow_their_records(
    spark: Session, source_cluster: LocalCluster, engine: SearchEngine, tmp_path: Path
) -> None:
    topic = f"Orders-{engine.product.name}"
    records: list[tuple[bytes | None, bytes | None]] = [
        (b"a", value(NARROW, id=1, name="one")),
        (b"b", value(NARROW, id=2, name="two")),
        (b"a", value(NARROW, id=1, name="one again\nin two lines")),
        (b"b", None),
        (b"c", value(OTHER, id="no number", name="refused")),
        (b"d", value(WIDE, id=4, name=None, extra=7)),
    ]
    produce(source_cluster, topic, records)
    config = {
        "connector.class": CLASSES[engine.product.name], "connection.url": engine.url, "topics": topic,
        "behavior.on.null.values": "delete", "value.converter": JSON, "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": f"{topic}-dead", "errors.deadletterqueue.context.headers.enable": "true",
    }  # fmt: skip
    want = {"a": {"id": 1, "name": "one again\nin two lines"}, "d": {"id": 4, "name": None, "extra": 7}}
    with pipelines(spark, source_cluster, tmp_path) as worker:
        sink = worker.start(f"to-{engine.product.name}", config)
        wait_until(
            lambda: (documents(engine, topic.lower()), sink.progress),
            lambda seen: seen[0] == want and bool(sink.progress.failed),
            within_s=PATIENCE_S,
            what="the documents",
        )
    found = engine.ask("GET", f"/{topic.lower()}/_doc/a")
    assert found["_version"] == 2, "the offset of the record"
    mapping = engine.ask("GET", f"/{topic.lower()}/_mapping")[topic.lower()]["mappings"]["properties"]
    assert (mapping["id"]["type"], mapping["extra"]["type"]) == ("long", "integer")
    (parked,) = committed(source_cluster, f"{topic}-dead")
    assert parked.key() == b"c"
    told = dict(parked.headers())
    assert b"mapping" in told["__connect.errors.exception.message"]
    # What is played again changes nothing: each document has the version of its record.
    with pipelines(spark, source_cluster, tmp_path) as worker:
        again = worker.start(f"again-{engine.product.name}", config)
        wait_until(
            again.progress.totals,
            lambda seen: seen["put"] >= 5,
            within_s=PATIENCE_S,
            what="all records again",
        )
        assert engine.documents(topic.lower()) == want


# Data streams of Elasticsearch 7 are in a module that Maven Central does not have.
@pytest.mark.chaos
@pytest.mark.parametrize("engine", ["opensearch"], indirect=True)
def test_a_data_stream_takes_each_record_once(
    spark: Session, source_cluster: LocalCluster, engine: SearchEngine, tmp_path: Path
) -> None:
    template = {"index_patterns": ["logs-app-*"], "data_stream": {}}
    assert engine.ask("PUT", "/_index_template/app", template) == {"acknowledged": True}
    produce(source_cluster, "events", [(None, value(NARROW, id=n, name=f"n{n}")) for n in range(3)])
    config = {
        "connector.class": CLASSES["opensearch"], "connection.url": engine.url, "topics": "events",
        "key.ignore": "true", "value.converter": JSON, "data.stream.type": "logs", "data.stream.dataset": "app",
    }  # fmt: skip
    for name in ("stream", "stream-again"):
        with pipelines(spark, source_cluster, tmp_path) as worker:
            sink = worker.start(name, config)
            wait_until(
                lambda one=sink: one.progress.totals(),  # type: ignore[misc]
                lambda seen: seen["put"] >= 3,
                within_s=PATIENCE_S,
                what="three records",
            )
        found = engine.documents("logs-app-events")
        assert sorted(found) == ["events+0+0", "events+0+1", "events+0+2"]
        assert found["events+0+1"]["id"] == 1
        assert int(found["events+0+1"]["@timestamp"]) > 1_600_000_000_000
