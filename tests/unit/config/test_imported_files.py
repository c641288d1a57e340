"""Files of other mirrors become links files that resolve, and what has no counterpart is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from twinlog.config.foreign.brooklin import import_brooklin
from twinlog.config.foreign.imported import Imported
from twinlog.config.foreign.mirrormaker1 import Flags, import_mirrormaker1
from twinlog.config.foreign.mirus import import_mirus
from twinlog.config.foreign.strimzi import import_strimzi
from twinlog.config.resolve import resolve
from twinlog.config.settings import LinkSettings
from twinlog.errors import UsageError
from twinlog.model.start import AtGroup, Earliest
from twinlog.surface.cli.main import app

STRIMZI = """
apiVersion: kafka.strimzi.io/v1beta2
kind: KafkaMirrorMaker2
metadata: {name: mirror}
spec:
  version: 4.0.0
  replicas: 3
  connectCluster: west
  clusters:
  - alias: east
    bootstrapServers: east-kafka-bootstrap:9093
    tls: {trustedCertificates: [{secretName: east-ca, certificate: ca.crt}]}
    authentication:
      type: scram-sha-512
      username: mirror
      passwordSecret: {secretName: east-user, password: password}
  - alias: west
    bootstrapServers: west-kafka-bootstrap:9092
    config: {config.storage.replication.factor: -1}
  mirrors:
  - sourceCluster: east
    targetCluster: west
    topicsPattern: "orders.*"
    groupsPattern: ".*"
    sourceConnector:
      tasksMax: 4
      config: {replication.factor: -1, sync.topic.acls.enabled: false}
    checkpointConnector:
      config: {sync.group.offsets.enabled: true}
"""


def the_link(imported: Imported) -> LinkSettings:
    text = "\n".join(line for line in imported.text().splitlines() if "ssl." not in line and "${" not in line)
    (link,) = resolve(text.replace("SASL_SSL", "PLAINTEXT").encode(), "imported", (), {}).links
    return link


def test_a_strimzi_resource_becomes_a_link() -> None:
    imported = import_strimzi(yaml.safe_load(STRIMZI))
    link = the_link(imported)
    assert (link.name, link.topics.include, link.reading.tasks_max) == ("east->west", ("orders.*",), 4)
    assert link.group_offsets.enabled
    assert not link.acls.enabled
    text = imported.text()
    assert "east.security.protocol = SASL_SSL" in text
    assert 'username="mirror" password="${dir:/etc/twinlog/secrets/east-user:password}";' in text
    assert "east.ssl.truststore.location = /etc/twinlog/secrets/east-ca/ca.crt" in text
    named = "\n".join(imported.notes)
    assert "spec.replicas" in named
    assert "west.config.config.storage.replication.factor" in named


def test_the_newer_form_of_the_resource_has_its_clusters_in_target_and_mirrors() -> None:
    document = {
        "kind": "KafkaMirrorMaker2",
        "spec": {
            "target": {"alias": "west", "bootstrapServers": "w:9092"},
            "mirrors": [{"source": {"alias": "east", "bootstrapServers": "e:9092"}, "sourceConnector": {}}],
        },
    }
    link = the_link(import_strimzi(document))
    assert (link.name, link.checkpoints.enabled) == ("east->west", False)


@pytest.mark.parametrize(
    ("document", "problem"),
    [({"kind": "Kafka"}, "'Kafka'"), ([], "'list'"), ({"kind": "KafkaMirrorMaker2", "spec": {}}, "no mirrors")],
)
def test_another_resource_is_refused(document: Any, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        import_strimzi(document)


def test_mirrormaker_1_continues_at_the_offsets_of_its_group() -> None:
    consumer = {"bootstrap.servers": "a:1", "group.id": "mm", "auto.offset.reset": "earliest", "fetch.min.bytes": "7"}
    producer = {"bootstrap.servers": "b:1", "acks": "all"}
    imported = import_mirrormaker1(consumer, producer, Flags("orders|payments", 3, abort_on_send_failure=False))
    link = the_link(imported)
    assert (link.copies.start_from, link.reading.tasks_max) == (AtGroup("mm"), 3)
    assert link.naming.remote("source", "orders") == "orders"
    assert link.reading.fetch.min_bytes == 7
    assert {note.split(":")[0] for note in imported.notes} >= {
        "group.id",
        "producer acks",
        "--abort.on.send.failure=false",
    }


@pytest.mark.parametrize(
    ("consumer", "include", "problem"),
    [({}, "x", "bootstrap.servers"), ({"bootstrap.servers": "a:1"}, "", "--include")],
)
def test_mirrormaker_1_without_addresses_or_topics_is_refused(consumer: Any, include: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        import_mirrormaker1(consumer, {"bootstrap.servers": "b:1"}, Flags(include))


def test_a_datastream_of_brooklin_becomes_a_link() -> None:
    datastream = {
        "name": "m",
        "connectorName": "kafkaMirroringConnector",
        "source": {"connectionString": "kafka://a:1,a:2/^(one|two)$"},
        "destination": {"connectionString": "kafka://b:1/*"},
        "metadata": {"group.id": "g", "maxTasks": "5", "owner": "me", "odd": "1"},
    }
    imported = import_brooklin(datastream)
    link = the_link(imported)
    assert (link.topics.include, link.reading.tasks_max, link.copies.start_from) == (("(one|two)",), 5, AtGroup("g"))
    assert any(note.startswith("metadata.odd") for note in imported.notes)
    with pytest.raises(UsageError, match="connectionString"):
        import_brooklin({"source": {"connectionString": "espresso://x"}})


def test_a_mirus_connector_becomes_a_link() -> None:
    config = {
        "connector.class": "com.salesforce.mirus.MirusSourceConnector",
        "consumer.bootstrap.servers": "a:1",
        "destination.consumer.bootstrap.servers": "b:1",
        "topics.whitelist": "one,two",
        "enable.partition.matching": "true",
        "destination.topic.name.prefix": "x-",
    }
    imported = import_mirus(config)
    link = the_link(imported)
    assert (link.topics.include, link.copies.start_from) == (("one", "two"), Earliest())
    assert {note.split(":")[0] for note in imported.notes} >= {
        "enable.partition.matching",
        "destination.topic.name.prefix",
    }
    with pytest.raises(UsageError, match="no topics"):
        import_mirus({**config, "topics.whitelist": ""})


def test_the_command_prints_a_file_that_validates(tmp_path: Path) -> None:
    file = tmp_path / "mm2.yaml"
    file.write_text(STRIMZI)
    result = CliRunner().invoke(app, ["import", "strimzi", str(file), "-o", "json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["links"]["east->west"]["topics"] == "orders.*"
    file.write_bytes(b"\x00\xff\xfe: [")
    wrong = CliRunner().invoke(app, ["import", "strimzi", str(file)])
    assert isinstance(wrong.exception, UsageError)
    assert "neither YAML nor JSON" in str(wrong.exception)


def test_ureplicator_takes_the_files_of_its_worker_and_the_topics_of_its_controller(tmp_path: Path) -> None:
    consumer, producer = tmp_path / "consumer.properties", tmp_path / "producer.properties"
    consumer.write_text("bootstrap.servers=a:9092\ngroup.id=ureplicator\n")
    producer.write_text("bootstrap.servers=b:9092\n")
    files = ["--consumer.config", str(consumer), "--producer.config", str(producer)]
    done = CliRunner().invoke(app, ["import", "ureplicator", *files, "--topics", "orders,orders.eu"])
    assert done.exit_code == 0, done.output
    (link,) = resolve(done.stdout.encode(), "links.properties", (), {}).links
    assert link.copies.start_from == AtGroup("ureplicator")
    assert link.topics.matches("orders.eu")
    assert not link.topics.matches("logs")
    consumer.write_bytes(b"\x7fELF\x02\x01")
    wrong = CliRunner().invoke(app, ["import", "ureplicator", *files, "--topics", "orders"])
    assert "this is a program" in str(wrong.exception)
