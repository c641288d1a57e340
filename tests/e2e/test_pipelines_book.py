"""The two examples of the book, typed into a shell as the documentation prints them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.kit.connect_process import ConnectProcess, connect_process, worker_config
from tests.kit.pipelines import committed
from tests.kit.waiting import wait_until

from twinlog.local.cluster import LocalCluster
from twinlog.local.mariadb import DATABASE, MariaDb
from twinlog.local.search_engine import SearchEngine
from twinlog.machine.local_token import token_for

pytestmark = [
    pytest.mark.chaos,
    pytest.mark.timeout(600),
    pytest.mark.skipif(shutil.which("curl") is None, reason="the examples of the book need curl"),
]
PATIENCE_S = 180.0
DOCS = Path(__file__).parents[2] / "docs"


def lines_of(page: str, word: str) -> list[str]:
    """The commands of a page that contain a word."""
    found = [line for line in re.findall(r"^\$ (.*)$", (DOCS / page).read_text(), re.MULTILINE) if word in line]
    assert found, (page, word)
    return found


class Shell:
    """A terminal in which curl has the token of the worker. Servers have other addresses than in the book."""

    def __init__(self, worker: ConnectProcess, folder: Path, **addresses: str) -> None:
        self.folder = folder
        self.addresses = {"localhost:8083": f"localhost:{worker.port}", **addresses}
        token = folder / "token"
        token.write_text(token_for(worker.base) or "")
        (line,) = lines_of("pipelines-files.md", "> .curlrc")
        self.type(line.replace("TOKEN_FILE", str(token)))

    def type(self, line: str) -> str:
        for old, new in self.addresses.items():
            line = line.replace(old, new)
        env = {**os.environ, "CURL_HOME": str(self.folder)}
        done = subprocess.run(
            ["bash", "-c", line], cwd=self.folder, env=env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def make(self, line: str) -> Any:
        """Type a line that makes a connector; waits until a worker leads."""
        said = wait_until(
            lambda: self.type(line), lambda text: '"tasks"' in text, within_s=PATIENCE_S, what="the connector"
        )
        return json.loads(said)


def test_a_file_goes_through_kafka_into_another_file(source_cluster: LocalCluster, tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "server.properties").write_text("broker.id=0\nnum.network.threads=3\n")
    heard = tmp_path / "copy-of-server-properties"
    with connect_process(worker_config(source_cluster, "book-files"), tmp_path, cwd=tmp_path) as worker:
        shell = Shell(worker, tmp_path)
        load, dump = lines_of("pipelines-files.md", "curl -X POST")
        assert shell.make(load)["name"] == "load-kafka-config"
        assert shell.make(dump)["type"] == "sink"
        wait_until(
            lambda: heard.read_text() if heard.exists() else str(worker.status("dump-kafka-config")),
            lambda text: text == "broker.id=0\nnum.network.threads=3\n",
            within_s=PATIENCE_S,
            what="the copy",
        )
        (delete,) = lines_of("pipelines-files.md", "curl -X DELETE")
        assert shell.type(delete) == ""
        assert "dump-kafka-config" not in shell.type("curl http://localhost:8083/connectors")
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
            addresses = {"127.0.0.1:3306/test": f"127.0.0.1:{database.port}/{DATABASE}",
                         "localhost:9200": f"localhost:{search.port}"}  # fmt: skip
            shell = Shell(worker, tmp_path, **addresses)
            for line in lines_of("pipelines-mysql-elasticsearch.md", "-login-connector"):
                shell.make(line)
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
