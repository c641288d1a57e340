"""Registry clients as their users install them: franz-go, srclient, KafkaJS, Confluent's Java and async Python."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from confluent_kafka.schema_registry import AsyncSchemaRegistryClient, Schema
from confluent_kafka.schema_registry._async.avro import AsyncAvroDeserializer, AsyncAvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from tests.kit.memory_registry import registry_running

from twinlog.machine.folders import cache_folder
from twinlog.machine.java import find_java

CLIENTS = Path(__file__).parent / "clients"
JAVA_CLIENT = "org.apache.pinot:pinot-confluent-avro:1.5.0:jar:shaded"
"""Confluent's client 7.9.5 is not on Maven Central by itself. This jar holds it under its own names."""
LOGGING = "org.slf4j:slf4j-api:2.0.17"


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


@pytest.mark.timeout(600)
def test_srclient(tmp_path: Path) -> None:
    shutil.copy(CLIENTS / "srclient.go", tmp_path / "main.go")
    _run(["go", "mod", "init", "client"], tmp_path)
    _run(["go", "get", "github.com/riferrei/srclient@v0.7.4"], tmp_path)
    with registry_running() as url:
        assert _run(["go", "run", ".", url], tmp_path) == "true true false FULL [1] 0"


def _jar(artifact: str) -> Path:
    """A jar of Maven Central, fetched by Maven once per machine."""
    _, name, version, *rest = artifact.split(":")
    folder = cache_folder() / "registry-clients"
    jar = folder / f"{name}-{version}{'-' + rest[1] if rest else ''}.jar"
    if not jar.exists():
        folder.mkdir(parents=True, exist_ok=True)
        copy = ["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={folder}"]
        _run(copy, folder)
    return jar


@pytest.mark.timeout(600)
@pytest.mark.skipif(shutil.which("mvn") is None, reason="no Maven here, and Ivy does not read this jar's parent")
def test_confluents_java_client_and_serializers(tmp_path: Path) -> None:
    source = tmp_path / "RegistryClient.java"
    shutil.copy(CLIENTS / "RegistryClient.java", source)
    jars = os.pathsep.join(str(_jar(artifact)) for artifact in (JAVA_CLIENT, LOGGING))
    with registry_running() as url:
        said = _run([str(find_java().java), "-Xmx256m", "-cp", jars, str(source), url], tmp_path)
    assert said.splitlines()[-1] == "true true false FULL 7"


def test_confluents_async_python_client() -> None:
    text = json.dumps({"type": "record", "name": "P", "fields": [{"name": "a", "type": "int"}]})
    where = SerializationContext("python", MessageField.VALUE)

    async def talk(url: str) -> tuple[object, bool, list[str]]:
        client = AsyncSchemaRegistryClient({"url": url})
        made = await client.register_schema("python-value", Schema(text, "AVRO"))
        sent = await (await AsyncAvroSerializer(client, text))({"a": 7}, where)
        came = await (await AsyncAvroDeserializer(client))(sent, where)
        fits = await client.test_compatibility("python-value", Schema(text.replace('"a"', '"b"'), "AVRO"))
        assert (await client.get_latest_version("python-value")).schema_id == made
        return came, fits, await client.get_subjects()

    with registry_running() as url:
        assert asyncio.run(talk(url)) == ({"a": 7}, False, ["python-value"])
