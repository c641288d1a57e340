"""What a run of the benchmark has: a broker, a database, a search server, an object store, and data in them."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import time
import urllib.request
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from tests.kit.connect_worker import free_port
from tests.kit.pipelines import produce
from tests.kit.postgres import Postgres, postgres
from tests.kit.waiting import wait_until

from twinlog.kafka.record_reader import RecordReader
from twinlog.local.cluster import LocalCluster
from twinlog.local.search_engine import SearchEngine
from twinlog.model.names import TopicPartition
from twinlog.pipelines.worker_settings import read_worker

_numbers = itertools.count(1)
SCHEMA: Final = {
    "type": "struct", "optional": False, "name": "row", "fields": [
        {"field": "id", "type": "int64", "optional": False}, {"field": "name", "type": "string", "optional": False},
        {"field": "price", "type": "double", "optional": False}, {"field": "note", "type": "string", "optional": False},
    ]}  # fmt: skip


def fresh(word: str) -> str:
    """A name that no other round has."""
    return f"{word}_{next(_numbers)}"


def row(n: int) -> dict[str, Any]:
    """About 110 bytes of JSON."""
    return {"id": n, "name": f"n{n}", "price": n / 7, "note": "x" * 60}


def value_of(kind: str, n: int) -> bytes:
    if kind == "text":
        return f"line {n} {'x' * 90}".encode()
    if kind == "document":
        return json.dumps(row(n)).encode()
    return json.dumps({"schema": SCHEMA, "payload": row(n)}).encode()


@dataclass
class Scene:
    """Servers start when they are first asked for, and end with the run."""

    cluster: LocalCluster
    folder: Path
    stack: ExitStack
    partitions: int = 2
    _topics: dict[tuple[str, int], str] = field(default_factory=dict)
    _tables: set[str] = field(default_factory=set)

    @cached_property
    def database(self) -> Postgres:
        return self.stack.enter_context(postgres(self.folder / "pg"))

    @cached_property
    def search(self) -> SearchEngine:
        made = SearchEngine("elasticsearch", self.folder / "search")
        made.start()
        self.stack.callback(made.stop)
        return made

    @cached_property
    def store(self) -> str:
        """Address of an S3 server with the bucket `lake`. Raises RuntimeError where none can be had."""
        program = Path(os.environ.get("GOFAKES3", ".state/bin/gofakes3"))
        if not program.exists():
            raise RuntimeError("no S3 server: go install github.com/johannesboyne/gofakes3/cmd/gofakes3@v1.2.0")
        port = free_port()
        command = [str(program), "-host", f"127.0.0.1:{port}", "-backend", "memory", "-initialbucket", "lake"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.stack.callback(process.wait)
        self.stack.callback(process.kill)
        url = f"http://127.0.0.1:{port}"

        def answers() -> str:
            try:
                with urllib.request.urlopen(f"{url}/lake", timeout=5) as answer:  # noqa: S310  our own
                    return str(answer.status)
            except OSError as error:
                return str(error)

        wait_until(answers, lambda said: said == "200", within_s=30, what="the S3 server")
        return url

    def lines(self, count: int) -> Path:
        path = self.folder / f"lines-{count}.txt"
        if not path.exists():
            path.write_bytes(b"".join(value_of("text", n) + b"\n" for n in range(count)))
        return path

    def topic(self, kind: str, count: int) -> str:
        """A topic with so many records, made once: each connector reads it from its beginning."""
        if (kind, count) not in self._topics:
            name = self._topics[kind, count] = f"{kind}-{count}"
            produce(self.cluster, name, ((None, value_of(kind, n)) for n in range(count)), partitions=self.partitions)
        return self._topics[kind, count]

    def table(self, count: int) -> str:
        """A table with so many rows, made once."""
        name = f"rows_{count}"
        if name in self._tables:
            return name
        self._tables.add(name)
        columns = "id BIGINT PRIMARY KEY, name TEXT NOT NULL, price DOUBLE PRECISION NOT NULL, note TEXT NOT NULL"
        self.database.run(
            f"CREATE TABLE {name} ({columns})",
            f"INSERT INTO {name} SELECT n, 'n' || n, n / 7.0, repeat('x', 60) FROM generate_series(1, {count}) n",  # noqa: S608
        )
        return name

    def records(self, topic: str) -> int:
        """How many places a topic's log has, markers of transactions included."""
        places = [TopicPartition(topic, n) for n in range(self.partitions)]
        return sum(end for _, end in self._reader.ends(places).values())

    @cached_property
    def _reader(self) -> RecordReader:
        made = RecordReader(read_worker({"bootstrap.servers": self.cluster.bootstrap_servers}).cluster, {})
        self.stack.callback(made.close)
        return made

    def empty_topic(self, name: str) -> str:
        produce(self.cluster, name, [], partitions=self.partitions)
        return name


def by_hand(count: int, work: Any) -> float:
    """Records per second of a plain program that does the target's part alone."""
    began = time.monotonic()
    work()
    return float(count / (time.monotonic() - began))
