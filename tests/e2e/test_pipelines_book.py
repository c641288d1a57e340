"""The two examples of the book, letter for letter: a file over curl, and a table of MySQL to Elasticsearch."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.kit.connect_process import connect_process, worker_config
from tests.kit.connect_worker import ask
from tests.kit.pipelines import committed
from tests.kit.waiting import wait_until

from twinlog.local.cluster import LocalCluster
from twinlog.local.mariadb import MariaDb
from twinlog.local.search_engine import SearchEngine

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(600)]
PATIENCE_S = 180.0


def test_a_file_goes_through_kafka_into_another_file(source_cluster: LocalCluster, tmp_path: Path) -> None:
    told, heard = tmp_path / "server.properties", tmp_path / "copy-of-server-properties"
    told.write_text("broker.id=0\nnum.network.threads=3\n")
    with connect_process(worker_config(source_cluster, "book-files"), tmp_path) as worker:
        load = {
            "name": "load-kafka-config",
            "config": {"connector.class": "FileStreamSource", "file": str(told), "topic": "kafka-config-topic"},
        }
        made = wait_until(
            lambda: ask(worker.base, "POST", "/connectors", load),
            lambda answer: answer.status == 201,
            within_s=PATIENCE_S,
            what="the connector",
        )
        assert made.body["name"] == "load-kafka-config"
        dump = {
            "name": "dump-kafka-config",
            "config": {"connector.class": "FileStreamSink", "file": str(heard), "topics": "kafka-config-topic"},
        }
        assert ask(worker.base, "POST", "/connectors", dump).status == 201
        wait_until(
            lambda: heard.read_text() if heard.exists() else str(worker.status("dump-kafka-config")),
            lambda text: text == "broker.id=0\nnum.network.threads=3\n",
            within_s=PATIENCE_S,
            what="the copy",
        )
        assert ask(worker.base, "DELETE", "/connectors/dump-kafka-config").status == 204
    (first, _) = committed(source_cluster, "kafka-config-topic")
    assert json.loads(first.value()) == {"schema": {"type": "string", "optional": False}, "payload": "broker.id=0"}


def test_a_table_of_mysql_goes_through_kafka_into_elasticsearch(source_cluster: LocalCluster, tmp_path: Path) -> None:
    database, search = MariaDb(tmp_path / "mysql"), SearchEngine("elasticsearch", tmp_path / "search")
    try:
        database.start()
        search.start()
        database.run(
            "CREATE TABLE login (username varchar(30), login_time datetime)",
            "INSERT INTO login VALUES ('gwenshap', now())",
            "INSERT INTO login VALUES ('tpalino', now())",
        )
        with connect_process(worker_config(source_cluster, "book-mysql"), tmp_path) as worker:
            worker.put(
                "mysql-login-connector",
                {
                    "connector.class": "JdbcSourceConnector", "connection.url": database.url, "mode": "timestamp",
                    "table.whitelist": "login", "validate.non.null": "false", "timestamp.column.name": "login_time",
                    "topic.prefix": "mysql.",
                },
            )  # fmt: skip
            worker.put(
                "elastic-login-connector",
                {
                    "connector.class": "ElasticsearchSinkConnector", "connection.url": search.url,
                    "type.name": "mysql-data", "topics": "mysql.login", "key.ignore": "true",
                },
            )  # fmt: skip
            found = wait_until(
                lambda: search.documents("mysql.login"),
                lambda seen: len(seen) == 2,
                within_s=PATIENCE_S,
                what="both rows",
            )
    finally:
        search.stop()
        database.stop()
    assert {one["username"] for one in found.values()} == {"gwenshap", "tpalino"}
    assert {key.split("+")[0] for key in found} == {"mysql.login"}
