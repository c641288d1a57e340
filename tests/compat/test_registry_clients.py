"""Registry clients of other languages: franz-go and KafkaJS, as their users install them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.kit.memory_registry import registry_running

CLIENTS = Path(__file__).parent / "clients"


def _run(command: list[str], folder: Path) -> str:
    environment = {**os.environ, "GOFLAGS": "-mod=mod", "npm_config_update_notifier": "false"}
    done = subprocess.run(
        command, check=False, cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
    return done.stdout.strip()


@pytest.mark.timeout(600)
def test_franz_go(tmp_path: Path) -> None:
    shutil.copy(CLIENTS / "registry.go", tmp_path / "main.go")
    _run(["go", "mod", "init", "client"], tmp_path)
    _run(["go", "get", "github.com/twmb/franz-go/pkg/sr@v1.8.0"], tmp_path)
    with registry_running() as url:
        assert _run(["go", "run", ".", url], tmp_path) == "1 true true false [go-value]"


@pytest.mark.timeout(600)
def test_kafkajs(tmp_path: Path) -> None:
    shutil.copy(CLIENTS / "registry.js", tmp_path)
    _run(
        ["npm", "install", "--silent", "--no-audit", "--no-fund", "@kafkajs/confluent-schema-registry@4.1.0"], tmp_path
    )
    with registry_running() as url:
        assert _run(["node", "registry.js", url], tmp_path) == "7 true true"
