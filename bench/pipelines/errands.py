"""The errands of the benchmark: which connector, from where to where, and how to see that all of it has arrived."""

from __future__ import annotations

import http.client
import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psycopg
import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet
from bench.pipelines.scene import Scene, by_hand, fresh, row, value_of

JSON: Final = "org.apache.kafka.connect.json.JsonConverter"
_TRANSFORMS: Final = "org.apache.kafka.connect.transforms"
Config = Mapping[str, str]
_BULK: Final = 2000


@dataclass(frozen=True)
class Order:
    """One connector, and how many records of it have arrived."""

    config: Config
    arrived: Callable[[], int]
    look_s: float = 0.05  # looking must not slow the target down
    clean_up: Callable[[], object] = lambda: None


@dataclass(frozen=True)
class Errand:
    """What is asked for. `make` gets the scene, the worker's name and the number of records."""

    title: str
    records: int
    make: Callable[[Scene, str, int], Order]
    peer: str  # whose connector runs in the Connect worker; empty: there is none
    beside: Callable[[Scene, int], float] | None = None  # the target's part by hand, records per second


def file_source(scene: Scene, worker: str, count: int) -> Order:
    del worker
    topic = scene.empty_topic(fresh("source"))
    config = {"connector.class": "FileStreamSource", "file": str(scene.lines(count)), "topic": topic}
    return Order(config, lambda: scene.records(topic))


def _lines(path: Path) -> Callable[[], int]:
    """Counts line ends, each byte once."""
    seen = [0, 0]

    def look() -> int:
        if path.exists():
            with path.open("rb") as file:
                file.seek(seen[0])
                while block := file.read(1 << 20):
                    seen[0] += len(block)
                    seen[1] += block.count(b"\n")
        return seen[1]

    return look


def _file_sink(scene: Scene, kind: str, count: int, extra: Config) -> Order:
    out = scene.folder / fresh("out")
    topic = scene.topic(kind, count)
    config = {"connector.class": "FileStreamSink", "file": str(out), "topics": topic, **extra}
    return Order(config, _lines(out), clean_up=out.unlink)


def file_sink(scene: Scene, worker: str, count: int) -> Order:
    del worker
    return _file_sink(scene, "text", count, {})


def transforms(scene: Scene, worker: str, count: int) -> Order:
    del worker
    steps = {
        "replace": ("ReplaceField$Value", {"exclude": "note"}),
        "insert": ("InsertField$Value", {"static.field": "origin", "static.value": "bench"}),
        "cast": ("Cast$Value", {"spec": "id:string"}),
        "mask": ("MaskField$Value", {"fields": "name"}),
    }
    extra = {"value.converter": JSON, "value.converter.schemas.enable": "false", "transforms": ",".join(steps)}
    for name, (kind, keys) in steps.items():
        extra |= {f"transforms.{name}.type": f"{_TRANSFORMS}.{kind}"}
        extra |= {f"transforms.{name}.{key}": value for key, value in keys.items()}
    return _file_sink(scene, "document", count, extra)


def jdbc_sink(scene: Scene, worker: str, count: int) -> Order:
    """Upserts with a key of the value, into a new table."""
    database, table = scene.database, fresh("copy")
    config = {
        "topics": scene.topic("envelope", count), "value.converter": JSON, "insert.mode": "upsert", "tasks.max": "2",
    }  # fmt: skip
    if worker == "connect":
        config |= {
            "connector.class": "io.debezium.connector.jdbc.JdbcSinkConnector", "batch.size": "5000",
            "connection.url": f"jdbc:postgresql://127.0.0.1:{database.port}/postgres", "connection.username": "app",
            "connection.password": "-", "primary.key.mode": "record_value", "primary.key.fields": "id",
            "schema.evolution": "basic", "collection.name.format": table,
            "consumer.override.max.poll.records": "5000",
        }  # fmt: skip
    else:
        config |= {
            "connector.class": "io.confluent.connect.jdbc.JdbcSinkConnector", "connection.url": database.url,
            "pk.mode": "record_value", "pk.fields": "id", "auto.create": "true", "table.name.format": table,
        }  # fmt: skip

    def arrived() -> int:
        try:
            return int(database.rows(f"SELECT count(*) FROM {table}")[0][0])  # noqa: S608
        except psycopg.Error:
            return 0

    return Order(config, arrived, 0.25, lambda: database.run(f"DROP TABLE {table}"))


def snapshot(scene: Scene, worker: str, count: int) -> Order:
    """A table as change records, with Debezium's class and the same keys for both."""
    del worker
    table, prefix = scene.table(count), fresh("snap")
    topic = scene.empty_topic(f"{prefix}.public.{table}")
    config = {
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector", "plugin.name": "pgoutput",
        "database.hostname": "127.0.0.1", "database.port": str(scene.database.port), "database.user": "app",
        "database.password": "-", "database.dbname": "postgres", "topic.prefix": prefix, "slot.name": prefix,
        "publication.name": prefix, "table.include.list": f"public.{table}", "snapshot.mode": "initial_only",
        "key.converter": JSON, "value.converter": JSON, "key.converter.schemas.enable": "false",
        "value.converter.schemas.enable": "false",
    }  # fmt: skip
    mine = f"WHERE slot_name = '{prefix}' AND NOT active"
    drop = f"SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots {mine}"  # noqa: S608
    return Order(config, lambda: scene.records(topic), clean_up=lambda: scene.database.run(drop))


def jdbc_source(scene: Scene, worker: str, count: int) -> Order:
    del worker
    table, prefix = scene.table(count), fresh("rows")
    topic = scene.empty_topic(f"{prefix}-{table}")
    config = {
        "connector.class": "io.confluent.connect.jdbc.JdbcSourceConnector", "connection.url": scene.database.url,
        "mode": "incrementing", "incrementing.column.name": "id", "table.whitelist": table,
        "topic.prefix": f"{prefix}-", "value.converter": JSON, "value.converter.schemas.enable": "false",
    }  # fmt: skip
    return Order(config, lambda: scene.records(topic))


def search_sink(scene: Scene, worker: str, count: int, extra: Config | None = None) -> Order:
    del worker
    topic, search = scene.topic("document", count), scene.search
    config = {
        "connector.class": "io.confluent.connect.elasticsearch.ElasticsearchSinkConnector", "topics": topic,
        "connection.url": search.url, "key.ignore": "true", "schema.ignore": "true", "tasks.max": "2",
        "value.converter": JSON, "value.converter.schemas.enable": "false", **(extra or {}),
    }  # fmt: skip

    def arrived() -> int:
        found = search.ask("GET", f"/{topic}/_stats/indexing?filter_path=_all.primaries")
        return int(found.get("_all", {}).get("primaries", {}).get("indexing", {}).get("index_total", 0))

    search.ask("DELETE", f"/{topic}")
    return Order(config, arrived, 0.1)


def search_by_hand(scene: Scene, count: int) -> float:
    """Bodies that are made before the clock runs, one request after the other."""
    search, index = scene.search, fresh("hand")
    lines = [b'{"index":{"_id":"%d"}}\n%s\n' % (n, value_of("document", n)) for n in range(count)]
    bodies = [b"".join(lines[n : n + _BULK]) for n in range(0, count, _BULK)]
    line = http.client.HTTPConnection("127.0.0.1", search.port)

    def work() -> None:
        for body in bodies:
            line.request("POST", f"/{index}/_bulk?filter_path=errors", body, {"Content-Type": "application/x-ndjson"})
            if json.loads(line.getresponse().read())["errors"]:
                raise RuntimeError("the search server refused documents")

    return by_hand(count, work)


def _s3(scene: Scene) -> Any:
    return pyarrow.fs.S3FileSystem(
        access_key="k", secret_key="s", region="us-east-1", scheme="http",  # noqa: S106  any will do
        endpoint_override=scene.store.removeprefix("http://"),
    )  # fmt: skip


def object_sink(scene: Scene, worker: str, count: int) -> Order:
    """Parquet files of 50 000 records in a bucket."""
    del worker
    folder, store = fresh("lake"), _s3(scene)
    config = {
        "connector.class": "io.confluent.connect.s3.S3SinkConnector", "topics": scene.topic("envelope", count),
        "store.url": scene.store, "s3.bucket.name": "lake", "s3.region": "us-east-1", "aws.access.key.id": "k",
        "aws.secret.access.key": "s", "topics.dir": folder, "flush.size": "50000", "value.converter": JSON,
        "format.class": "io.confluent.connect.s3.format.parquet.ParquetFormat", "tasks.max": "2",
        "rotate.schedule.interval.ms": "500",
    }  # fmt: skip
    counted: dict[str, int] = {}

    def arrived() -> int:
        found = store.get_file_info(pyarrow.fs.FileSelector(f"lake/{folder}", recursive=True, allow_not_found=True))
        for one in found:
            if one.is_file and one.path.endswith(".parquet") and one.path not in counted:
                counted[one.path] = pyarrow.parquet.ParquetFile(store.open_input_file(one.path)).metadata.num_rows
        return sum(counted.values())

    return Order(config, arrived, 0.2)


def object_by_hand(scene: Scene, count: int) -> float:
    """The library pyarrow writes the same rows from memory."""
    store, folder = _s3(scene), fresh("hand")
    parts = [
        pa.Table.from_pylist([row(n) for n in range(at, min(count, at + 50_000))]) for at in range(0, count, 50_000)
    ]

    def work() -> None:
        for number, part in enumerate(parts):
            buffer = io.BytesIO()
            pyarrow.parquet.write_table(part, buffer)
            with store.open_output_stream(f"lake/{folder}/{number}.parquet") as out:
                out.write(buffer.getvalue())

    return by_hand(count, work)


ERRANDS: Final = (
    Errand("file source", 500_000, file_source, "connect-file"),
    Errand("file sink", 500_000, file_sink, "connect-file"),
    Errand("file sink, four transforms", 300_000, transforms, "connect-file"),
    Errand("PostgreSQL sink, upsert", 200_000, jdbc_sink, "Debezium's JDBC sink"),
    Errand("PostgreSQL snapshot", 200_000, snapshot, "Debezium"),
    Errand("JDBC source", 200_000, jdbc_source, ""),
    Errand("Elasticsearch sink", 100_000, search_sink, "", search_by_hand),
    Errand("S3 sink, Parquet", 200_000, object_sink, "", object_by_hand),
)
