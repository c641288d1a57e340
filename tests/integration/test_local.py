from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from tests.conftest import OLDER_KAFKA
from tests.kit.waiting import wait_until
from typer.testing import CliRunner

from twinlog.errors import BrokerNotReady, UsageError
from twinlog.local.cluster import LocalCluster
from twinlog.local.jars import KAFKA_VERSION
from twinlog.local.security import HOST
from twinlog.surface.cli.commands.local import app

MakeCluster = Callable[..., LocalCluster]


def _client(cluster: LocalCluster, user: str = "admin", password: str | None = None) -> dict[str, Any]:
    options: dict[str, Any] = {"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0}
    if cluster.secure:
        options |= {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.username": user,
            "sasl.password": cluster.password(user) if password is None else password,
            "ssl.ca.location": str(cluster.authority),
        }
    return options


def _create_topic(cluster: LocalCluster, topic: str, replicas: int = 1) -> None:
    # Held by a name: the client is closed, and its answer lost, as soon as nobody refers to it.
    admin = AdminClient(_client(cluster))
    admin.create_topics([NewTopic(topic, 1, replicas)])[topic].result(30)


def _produce(cluster: LocalCluster, topic: str, value: bytes) -> None:
    refused: list[object] = []
    producer = Producer(_client(cluster) | {"acks": "all"})
    producer.produce(topic, value, on_delivery=lambda error, _: refused.append(error) if error else None)
    assert producer.flush(30) == 0
    assert refused == []


def _values(cluster: LocalCluster, topic: str, count: int) -> list[bytes | None]:
    consumer = Consumer(_client(cluster) | {"group.id": "reader"})
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        return [message.value() for message in consumer.consume(count, timeout=30)]
    finally:
        consumer.close()


def _ended(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    """A broker for the tests that only frighten it."""
    folder = tmp_path_factory.mktemp("shared")
    with LocalCluster("shared", folder, settings={"log.retention.hours": "7"}, java_options=["-Dmark=1"]) as cluster:
        yield cluster


@pytest.fixture
def cluster(shared: LocalCluster) -> LocalCluster:
    """It runs, whatever the test before did to it."""
    return shared.start()


def test_a_killed_broker_comes_back_on_its_port_with_its_data(cluster: LocalCluster) -> None:
    (broker,) = cluster.brokers
    _create_topic(cluster, "orders")
    _produce(cluster, "orders", b"before")
    address, pid = cluster.bootstrap_servers, broker.pid

    broker.kill()
    assert not broker.running
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((HOST, broker.port), timeout=1).close()

    broker.start()
    assert broker.pid != pid
    assert cluster.bootstrap_servers == address
    _produce(cluster, "orders", b"after")
    assert _values(cluster, "orders", 2) == [b"before", b"after"]


def test_a_frozen_broker_is_silent_until_it_thaws(cluster: LocalCluster) -> None:
    (broker,) = cluster.brokers
    broker.freeze()
    with pytest.raises(KafkaException):
        AdminClient(_client(cluster)).list_topics(timeout=1)
    assert broker.running
    broker.thaw()
    assert AdminClient(_client(cluster)).list_topics(timeout=30).cluster_id == cluster.cluster_id


def test_a_cluster_is_found_again_by_its_folder(cluster: LocalCluster) -> None:
    found = LocalCluster.load(cluster.folder)
    assert found.running
    assert [broker.pid for broker in found.brokers] == [broker.pid for broker in cluster.brokers]
    assert found.bootstrap_servers == cluster.bootstrap_servers
    found.stop()
    assert not cluster.running


@pytest.mark.proves("R12")
def test_a_secure_cluster_lets_in_who_has_the_password_and_the_right(secure_cluster: LocalCluster) -> None:
    cluster, topic = secure_cluster, f"closed-{uuid.uuid4().hex[:8]}"
    _create_topic(cluster, topic)
    _produce(cluster, topic, b"secret")

    # Known, but nobody granted anything.
    assert topic not in AdminClient(_client(cluster, "twinlog")).list_topics(timeout=30).topics
    with pytest.raises(KafkaException):
        AdminClient(_client(cluster, password="guessed")).list_topics(timeout=1)
    with pytest.raises(KafkaException):
        AdminClient({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0}).list_topics(timeout=1)

    kept = [file for file in cluster.folder.glob("broker-*/*") if file.suffix in {".properties", ".log"}]
    written = "".join(file.read_text(errors="replace") for file in kept)
    assert "super.users" in written
    for user in ("admin", "twinlog"):
        assert cluster.password(user) not in written


@pytest.mark.chaos
def test_three_brokers_go_on_without_any_one_of_them(make_cluster: MakeCluster) -> None:
    cluster = make_cluster(brokers=3)
    assert len(AdminClient(_client(cluster)).list_topics(timeout=30).brokers) == 3
    _create_topic(cluster, "orders", replicas=3)
    for number, broker in enumerate(cluster.brokers):
        broker.kill()
        _produce(cluster, "orders", b"%d" % number)
        broker.start()
    assert _values(cluster, "orders", 3) == [b"0", b"1", b"2"]


@pytest.mark.chaos
def test_a_cluster_of_an_older_kafka_is_upgraded_in_place(make_cluster: MakeCluster) -> None:
    cluster = make_cluster(kafka=OLDER_KAFKA)
    (broker,) = cluster.brokers
    _create_topic(cluster, "orders")
    _produce(cluster, "orders", b"before")
    assert LocalCluster.load(cluster.folder).brokers[0].kafka == OLDER_KAFKA

    broker.kafka = KAFKA_VERSION
    broker.restart()
    _produce(cluster, "orders", b"after")
    assert _values(cluster, "orders", 2) == [b"before", b"after"]
    log = broker.log.read_text()
    assert log.index(f"Kafka version: {OLDER_KAFKA}") < log.index(f"Kafka version: {KAFKA_VERSION}")


def test_a_broker_that_cannot_start_shows_the_end_of_its_log(tmp_path: Path) -> None:
    cluster = LocalCluster("broken", tmp_path, settings={"num.io.threads": "none"})
    with pytest.raises(BrokerNotReady) as caught:
        cluster.start()
    assert "num.io.threads" in caught.value.log_tail
    assert not cluster.running


def test_brokers_do_not_outlive_a_killed_owner(tmp_path: Path) -> None:
    program = (
        "import os, sys, pathlib\n"
        "from twinlog.local.cluster import LocalCluster\n"
        "cluster = LocalCluster('orphan', pathlib.Path(sys.argv[1])).start()\n"
        "print(cluster.brokers[0].pid, flush=True)\n"
        "sys.stdin.read()\n"
    )
    _kill_the_owner(program, tmp_path)


def test_the_engine_of_a_killed_demo_ends_with_it(tmp_path: Path) -> None:
    stand_in = tmp_path / "engine"
    stand_in.write_text("#!/bin/sh\nexec sleep 600\n")
    stand_in.chmod(0o755)
    program = (
        "import pathlib, sys\n"
        "from twinlog.local.demo.engine import EngineProcess\n"
        "folder, sys.executable = pathlib.Path(sys.argv[1]), sys.argv[2]\n"
        "engine = EngineProcess(folder / 'links.properties', folder / 'engine.log')\n"
        "engine.start()\n"
        "print(engine.pid, flush=True)\n"
        "sys.stdin.read()\n"
    )
    _kill_the_owner(program, tmp_path, stand_in)


def _kill_the_owner(program: str, *arguments: Path) -> None:
    """What a program started, and told the number of, ends when the program is killed."""
    with subprocess.Popen(
        [sys.executable, "-c", program, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        pid = int(owner.stdout.readline())
        assert not _ended(pid)
        owner.send_signal(signal.SIGKILL)
    wait_until(lambda: _ended(pid), bool, within_s=60, what=f"the end of {pid}")


def test_the_command_line_starts_shows_and_stops(tmp_path: Path) -> None:
    runner = CliRunner()
    where = ["--dir", str(tmp_path)]

    def seen() -> list[tuple[str, str]]:
        answer = runner.invoke(app, ["status", "-o", "json", *where], catch_exceptions=False)
        return [(cluster["name"], cluster["state"]) for cluster in json.loads(answer.stdout)]

    assert seen() == []
    # Another process, as a shell would start it: the clusters must stay when it ends.
    command = "from twinlog.surface.cli.commands.local import app; app()"
    started = subprocess.run(
        [sys.executable, "-c", command, "up", "east", "west", *where],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"COLUMNS": "200"},
    )
    try:
        assert seen() == [("east", "running"), ("west", "running")]
        assert "east->west.enabled = true" in started.stdout
        assert f"west.bootstrap.servers = {LocalCluster.load(tmp_path / 'west').bootstrap_servers}" in started.stdout
        runner.invoke(app, ["down", "east", *where], catch_exceptions=False)
        assert seen() == [("east", "stopped"), ("west", "running")]
        with pytest.raises(UsageError):
            runner.invoke(app, ["up", "east", "--brokers", "3", *where], catch_exceptions=False)
    finally:
        runner.invoke(app, ["down", "--wipe", *where], catch_exceptions=False)
    assert seen() == []
