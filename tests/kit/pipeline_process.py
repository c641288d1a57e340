"""One connector in a process of its own, to be killed: `python -m tests.kit.pipeline_process FOLDER GROUP HOSTS NAME`.

The connector's configuration is read from standard input. The process runs until it is killed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

from tests.kit.pipelines import JSON, TEXT

from twinlog.pipelines.session import start_pipeline_spark
from twinlog.pipelines.worker import Pipelines
from twinlog.pipelines.worker_settings import read_worker


class PipelineProcess:
    """Starts one, and kills it with everything that it started (JVM, Python workers)."""

    def __init__(self, folder: Path, group: str, servers: str, name: str, config: Mapping[str, str]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.log = folder / "process.log"
        command = [sys.executable, "-m", "tests.kit.pipeline_process", str(folder), group, servers, name]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True
            )
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(dict(config)).encode())
        self._process.stdin.close()

    def kill(self) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


def main(folder: str, group: str, servers: str, name: str) -> None:
    config = json.loads(sys.stdin.read())
    worker = {
        "bootstrap.servers": servers, "group.id": group, "config.storage.topic": f"{group}-configs",
        "offset.storage.topic": f"{group}-offsets", "status.storage.topic": f"{group}-status",
        "offset.storage.partitions": "1", "status.storage.partitions": "1", "key.converter": TEXT,
        "value.converter": JSON, "value.converter.schemas.enable": "false",
    }  # fmt: skip
    session = start_pipeline_spark(Path(folder) / "spark", slots=3)
    made = Pipelines(read_worker(worker), session, "test:8083")
    made.prepare()
    made.start(name, config)
    threading.Event().wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
