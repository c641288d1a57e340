"""Services that run pipelines, as an operator starts them: `twinlog connect`, and `twinlog run --listen`."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.kit.connect_worker import ask, free_port
from tests.kit.waiting import wait_until

from twinlog.local.cluster import LocalCluster

pytestmark = pytest.mark.timeout(400)
PATIENCE_S = 180.0
TEXT = "org.apache.kafka.connect.storage.StringConverter"


@contextmanager
def service(folder: Path, port: int, *arguments: str) -> Iterator[str]:
    """A command in a session of its own, once it leads; its address."""
    log, base = folder / "service.log", f"http://127.0.0.1:{port}"
    scratch = tempfile.mkdtemp(prefix="tw")  # short, because sockets live in it
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "twinlog", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
            env={**os.environ, "TMPDIR": scratch},
        )

    def health() -> Any:
        if process.poll() is not None:
            return process.poll(), log.read_text()[-3000:]
        try:
            return ask(base, "GET", "/health").body["message"]
        except OSError as error:
            return str(error)

    try:
        said = wait_until(
            health, lambda seen: "This service runs" in seen or isinstance(seen, tuple), within_s=PATIENCE_S, what=base
        )
        assert "This service runs" in said, said
        yield base
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0, log.read_text()[-3000:]
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        shutil.rmtree(scratch, ignore_errors=True)


def copy_lines(base: str, folder: Path, topic: str) -> None:
    """Lines of a file reach another file: a source and a sink, made over REST."""
    told, heard = folder / "in.txt", folder / "out.txt"
    told.write_text("hello\nwörld\n")
    texts = {"key.converter": TEXT, "value.converter": TEXT}
    source = {"connector.class": "FileStreamSource", "file": str(told), "topic": topic, **texts}
    sink = {"connector.class": "FileStreamSink", "file": str(heard), "topics": topic, **texts}
    for name, config in (("lines-in", source), ("lines-out", sink)):
        made = ask(base, "POST", "/connectors", {"name": name, "config": config})
        assert made.status == 201, made.body
    wait_until(
        lambda: (
            heard.read_text() if heard.exists() else None,
            ask(base, "GET", "/connectors?expand=status").body,
        ),
        lambda seen: seen[0] == "hello\nwörld\n",
        within_s=PATIENCE_S,
        what=str(heard),
    )
    status = ask(base, "GET", "/connectors/lines-out/status").body
    assert (status["connector"]["state"], status["type"]) == ("RUNNING", "sink")
    assert ask(base, "GET", "/connectors/lines-out/topics").body == {"lines-out": {"topics": [topic]}}
    assert ask(base, "PUT", "/connectors/lines-out/stop").status == 204
    wanted = {"partition": {"kafka_topic": topic, "kafka_partition": 0}, "offset": {"kafka_offset": 2}}
    wait_until(
        lambda: ask(base, "GET", "/connectors/lines-out/offsets").body.get("offsets"),
        lambda seen: seen == [wanted],
        within_s=60,
        what="positions of the sink",
    )


@pytest.mark.proves("R30")
def test_connect_runs_pipelines_from_a_workers_file(source_cluster: LocalCluster, tmp_path: Path) -> None:
    group, port = f"workers-{uuid.uuid4().hex[:8]}", free_port()
    file = tmp_path / "worker.properties"
    file.write_text(
        f"bootstrap.servers={source_cluster.bootstrap_servers}\ngroup.id={group}\n"
        + "".join(f"{what}.storage.topic={group}-{what}\n" for what in ("config", "offset", "status"))
        + "".join(f"{what}.storage.partitions=1\n" for what in ("offset", "status"))
        + f"listeners=http://127.0.0.1:{port}\n"
    )
    with service(tmp_path, port, "connect", "-c", str(file)) as base:
        unknown = ask(base, "POST", "/connectors", {"name": "x", "config": {}}, headers={"Authorization": "Bearer no"})
        assert unknown.status in {401, 403}, "whoever does not run it gives no orders"
        copy_lines(base, tmp_path, f"{group}-lines")


@pytest.mark.proves("R30")
def test_a_service_of_links_runs_pipelines_too(source_cluster: LocalCluster, tmp_path: Path) -> None:
    group, port = f"service-{uuid.uuid4().hex[:8]}", free_port()
    file = tmp_path / "links.properties"
    file.write_text(
        f"store.bootstrap.servers = {source_cluster.bootstrap_servers}\ngroup.id = {group}\n"
        f"store.replication.factor = 1\nconnector.allowed.paths = {tmp_path}\n"
    )
    with service(tmp_path, port, "run", "-c", str(file), "--listen", f"127.0.0.1:{port}") as base:
        copy_lines(base, tmp_path, f"{group}-lines")
