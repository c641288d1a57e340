"""The second story of the demo: MySQL to Kafka to Elasticsearch, with a new column and a record that is repaired.

    table ─▶ topic ─▶ index      new column ─▶ in the index      bad record ─▶ parked ─▶ repaired ─▶ in the index

Everything is done as a user does it: `twinlog connect`, its REST interface and `twinlog pipeline`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from twinlog.errors import DemoFailed
from twinlog.kafka.appending import append_record
from twinlog.local.cluster import LocalCluster
from twinlog.local.jars import KAFKA, is_fetched, resolve
from twinlog.local.mariadb import MariaDb, installed
from twinlog.local.search_engine import SearchEngine
from twinlog.local.server import Server, free_port
from twinlog.local.server_jars import ELASTICSEARCH, ELASTICSEARCH_HTTP, MARIADB
from twinlog.machine.folders import log_tail
from twinlog.machine.local_token import token_for
from twinlog.pipelines.worker_settings import read_worker

TOPIC: Final = "shop-orders"
PARKED: Final = "parked-orders"
INDEX: Final = TOPIC
_WITHIN_S: Final = 240.0
_LOOK_S: Final = 0.2
_JSON: Final = "org.apache.kafka.connect.json.JsonConverter"
_TEXT: Final = "org.apache.kafka.connect.storage.StringConverter"
_TRANSFORM: Final = "org.apache.kafka.connect.transforms"
ROWS: Final = ((1, "Ada", "12.50"), (2, "Grace", "7.00"), (3, "Édouard", "99.90"))
BAD: Final = b'{"schema": {"type": "struct", "fields": [{"field": "id", "type": "int64"}, '
REPAIRED_ID: Final = 77

Tell = Callable[[str], None]


@dataclass
class PipelinesStory:
    """Servers, connectors and what happens to them."""

    folder: Path
    tell: Tell
    cluster: LocalCluster = field(init=False)
    database: MariaDb = field(init=False)
    search: SearchEngine = field(init=False)
    worker: Server | None = None
    port: int = 0

    def __post_init__(self) -> None:
        self.cluster = LocalCluster("shop", self.folder / "kafka")
        self.database = MariaDb(self.folder / "mysql")
        self.search = SearchEngine("elasticsearch", self.folder / "elasticsearch")
        self.port = free_port()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def worker_file(self) -> Path:
        return self.folder / "worker.properties"

    def play(self) -> None:
        """All of it. Raises DemoFailed, ServerNotReady, JarsUnavailable."""
        self._fetch()
        self._start_servers()
        self._start_pipelines()
        self._await("every row is a document", {str(key): name for key, name, _ in ROWS})
        self._add_column()
        self._park_and_repair()
        self._prove()

    def close(self) -> None:
        """End everything that was started."""
        for server in (self.worker, self.search, self.database, self.cluster):
            if server is not None:
                server.stop()

    def _fetch(self) -> None:
        """Get what this machine lacks, before the clock of anything runs. Minutes, once per machine."""
        servers = [KAFKA, ELASTICSEARCH, ELASTICSEARCH_HTTP, *([] if installed() else [MARIADB])]
        for number, server in enumerate(missing := [server for server in servers if not is_fetched(server)], 1):
            self.tell(f"fetching {server.name} from Maven Central, {number} of {len(missing)}; once per machine")
            resolve(server)

    def _start_servers(self) -> None:
        self.tell("starting Kafka, MariaDB and Elasticsearch")
        self.cluster.launch()
        self.database.start()
        self.search.start()
        self.cluster.await_ready(_WITHIN_S)
        rows = ", ".join(f"({key}, '{name}', {amount})" for key, name, amount in ROWS)
        self.database.run(
            "CREATE TABLE orders (id BIGINT PRIMARY KEY AUTO_INCREMENT, customer VARCHAR(50) NOT NULL, "
            "amount DECIMAL(10,2) NOT NULL)",
            f"INSERT INTO orders VALUES {rows}",  # noqa: S608  rows of our own
        )
        self.tell(f"MariaDB has a table orders with {len(ROWS)} rows")

    def _start_pipelines(self) -> None:
        storage = {f"{what}.storage.topic": f"connect-{what}" for what in ("config", "offset", "status")}
        factors = {f"{what}.storage.replication.factor": "1" for what in ("config", "offset", "status")}
        settings = {
            "bootstrap.servers": self.cluster.bootstrap_servers, "group.id": "shop", **storage, **factors,
            "key.converter": _TEXT, "value.converter": _JSON, "listeners": self.url,
        }  # fmt: skip
        self.worker_file.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        command = [sys.executable, "-m", "twinlog", "connect", "-c", str(self.worker_file)]
        environment = {"TMPDIR": str(self.folder)}
        self.worker = Server("twinlog connect", command, self.folder / "worker.log", self._leads, environment)
        self.tell(f"starting a worker: twinlog connect -c worker.properties, REST on {self.url}")
        self.worker.start(_WITHIN_S)
        for name, config in (("orders-source", self.source()), ("orders-sink", self.sink())):
            self.ask("PUT", f"/connectors/{name}/config", config)
            self.tell(f"PUT /connectors/{name}/config: {config['connector.class']}")

    def source(self) -> dict[str, str]:
        """The table as a topic; the id of a row is the key of its record."""
        return {
            "connector.class": "io.confluent.connect.jdbc.JdbcSourceConnector", "connection.url": self.database.url,
            "mode": "incrementing", "incrementing.column.name": "id", "table.whitelist": "orders",
            "topic.prefix": "shop-", "poll.interval.ms": "500", "transforms": "key,id",
            "transforms.key.type": f"{_TRANSFORM}.ValueToKey", "transforms.key.fields": "id",
            "transforms.id.type": f"{_TRANSFORM}.ExtractField$Key", "transforms.id.field": "id",
        }  # fmt: skip

    def sink(self) -> dict[str, str]:
        """The topic as an index; what cannot be read is parked."""
        return {
            "connector.class": "io.confluent.connect.elasticsearch.ElasticsearchSinkConnector",
            "connection.url": self.search.url, "topics": TOPIC, "errors.tolerance": "all",
            "errors.deadletterqueue.topic.name": PARKED, "errors.deadletterqueue.topic.replication.factor": "1",
            "errors.deadletterqueue.context.headers.enable": "true",
        }  # fmt: skip

    def _add_column(self) -> None:
        self.tell("ALTER TABLE orders ADD COLUMN country VARCHAR(2), and a row that has one")
        self.database.run(
            "ALTER TABLE orders ADD COLUMN country VARCHAR(2)",
            "INSERT INTO orders (id, customer, amount, country) VALUES (4, 'Linus', 1.00, 'FI')",
        )
        documents = self._await("the new column is in the index", {"4": "Linus"})
        if documents["4"].get("country") != "FI":
            raise self._failed(f"the document of row 4 lacks its country: {documents['4']}")

    def _park_and_repair(self) -> None:
        self.tell("another program writes a record that is no JSON")
        settings = read_worker({"bootstrap.servers": self.cluster.bootstrap_servers}).cluster
        append_record(settings, TOPIC, str(REPAIRED_ID).encode(), BAD)
        parked = self._until("the record is parked", self._parked, lambda rows: len(rows) == 1)
        self.tell(f"twinlog pipeline dlq list: {parked[0]['from']}: {parked[0]['reason']}")
        fixed = self.folder / "fixed.json"
        schema = {"type": "struct", "fields": [
            {"field": "id", "type": "int64"}, {"field": "customer", "type": "string"},
        ]}  # fmt: skip
        fixed.write_text(json.dumps({"schema": schema, "payload": {"id": REPAIRED_ID, "customer": "Repaired"}}))
        said = self.command("dlq", "replay", "orders-sink", "--at", parked[0]["at"], "--value", str(fixed))
        self.tell(f"twinlog pipeline dlq replay --value fixed.json: {said.strip()}")
        self._await("the repaired record is a document", {str(REPAIRED_ID): "Repaired"})
        if self._parked():
            raise self._failed("the replayed record is still shown as open")

    def _prove(self) -> None:
        rows = {str(key): name for key, name in self.database.rows("SELECT id, customer FROM orders")}
        indexed = {key: document["customer"] for key, document in self.search.documents(INDEX).items()}
        if indexed != rows | {str(REPAIRED_ID): "Repaired"}:
            raise self._failed(f"table and index differ: {rows} and {indexed}")
        self.tell(f"{len(rows)} rows and 1 repaired record: {len(indexed)} documents, each once")

    def _failed(self, problem: str) -> DemoFailed:
        log = self.folder / "worker.log"
        return DemoFailed(problem, str(log), log_tail(log, 20) if log.exists() else "")

    def _await(self, what: str, want: Mapping[str, str]) -> Any:
        documents = self._until(
            what,
            lambda: self.search.documents(INDEX),
            lambda seen: all(seen.get(key, {}).get("customer") == name for key, name in want.items()),
        )
        self.tell(what)
        return documents

    def _until(self, what: str, look: Callable[[], Any], accept: Callable[[Any], bool]) -> Any:
        deadline = time.monotonic() + _WITHIN_S
        while True:
            seen = look()
            if accept(seen):
                return seen
            if time.monotonic() > deadline:
                states = [
                    self.ask("GET", f"/connectors/{connector}/status") for connector in ("orders-source", "orders-sink")
                ]
                raise self._failed(f"{what}: not within {_WITHIN_S:.0f} s; seen: {seen}; status: {states}")
            time.sleep(_LOOK_S)

    def _parked(self) -> Any:
        said = self.command("dlq", "list", "orders-sink", "-o", "json", check=False)
        return json.loads(said) if said.startswith("[") else []

    def command(self, *words: str, check: bool = True) -> str:
        """`twinlog pipeline …` as a user types it."""
        command = [sys.executable, "-m", "twinlog", "pipeline", *words, "-c", str(self.worker_file)]
        environment = {**os.environ, "TWINLOG_CONNECT_URL": self.url}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        if check and done.returncode != 0:
            raise self._failed(f"twinlog pipeline {' '.join(words)}: {done.stderr or done.stdout}")
        return done.stdout

    def _leads(self) -> bool:
        try:
            return "This service runs" in str(self.ask("GET", "/health"))
        except (OSError, DemoFailed):
            return False

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """One request to the worker. Raises DemoFailed for a refusal."""
        data = None if body is None else json.dumps(body).encode()
        token = token_for(self.url)
        headers = {"Content-Type": "application/json"} | ({} if token is None else {"Authorization": f"Bearer {token}"})
        request = urllib.request.Request(self.url + path, data, headers, method=method)  # noqa: S310  of our own
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
                return json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            told = error.read().decode(errors="replace")
            raise self._failed(f"{method} {path}: {error.code}: {told}") from error
