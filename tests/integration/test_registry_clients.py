"""The registry as Confluent's own Python client and serializers use it, with records through a real broker."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient, SchemaRegistryError
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from tests.kit.registry import RegistryProcess

from twinlog.local.cluster import LocalCluster

ORDER = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "fields": [{"name": "id", "type": "long"}, {"name": "note", "type": ["null", "string"], "default": None}],
    }
)
PERSON = json.dumps(
    {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Person",
        "type": "object",
        "properties": {"name": {"type": "string"}},
        "required": ["name"],
    }
)


@pytest.fixture(scope="module")
def registry(target_cluster: LocalCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RegistryProcess]:
    mark = uuid.uuid4().hex[:8]
    own = {"kafkastore.topic": f"_schemas_{mark}", "schema.registry.group.id": f"sr-{mark}"}
    folder: Path = tmp_path_factory.mktemp("registry")
    made = RegistryProcess(folder, target_cluster.bootstrap_servers, **own).start()
    yield made.await_ready()
    made.kill()


@pytest.fixture
def client(registry: RegistryProcess) -> SchemaRegistryClient:
    return SchemaRegistryClient({"url": registry.url})


def _through_kafka(cluster: LocalCluster, topic: str, value: bytes) -> bytes:
    options: dict[str, Any] = {**cluster.client_properties("client")}
    admin = AdminClient(options)
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(30)
    producer = Producer(options)
    producer.produce(topic, value)
    assert producer.flush(30) == 0
    consumer = Consumer({**options, "group.id": topic})
    consumer.assign([TopicPartition(topic, 0, 0)])
    for _ in range(60):
        message = consumer.poll(1)
        if message is not None and message.error() is None:
            consumer.close()
            return bytes(message.value() or b"")
    raise AssertionError("no record came")


def test_avro_travels_with_its_schema(client: SchemaRegistryClient, target_cluster: LocalCluster) -> None:
    topic = f"orders-{uuid.uuid4().hex[:8]}"
    where = SerializationContext(topic, MessageField.VALUE)
    sent = AvroSerializer(client, ORDER)({"id": 7, "note": "ä"}, where)
    came = _through_kafka(target_cluster, topic, sent or b"")
    assert AvroDeserializer(client)(came, where) == {"id": 7, "note": "ä"}
    assert client.get_latest_version(f"{topic}-value").schema_id == int.from_bytes(came[1:5], "big")


def test_json_schema_travels_with_its_schema(client: SchemaRegistryClient) -> None:
    where = SerializationContext(f"people-{uuid.uuid4().hex[:8]}", MessageField.VALUE)
    sent = JSONSerializer(PERSON, client)({"name": "Ada"}, where)
    assert JSONDeserializer(PERSON, schema_registry_client=client)(sent, where) == {"name": "Ada"}


def test_protobuf_travels_with_its_schema(client: SchemaRegistryClient, registry: RegistryProcess) -> None:
    where = SerializationContext(f"times-{uuid.uuid4().hex[:8]}", MessageField.VALUE)
    message = _message("Parcel")
    sent = ProtobufSerializer(message, client, {"use.deprecated.format": False})(message(weight=5), where)
    # A reader of its own: the client gives its own reader the text that it registered, in whatever form that was.
    reader = SchemaRegistryClient({"url": registry.url})
    assert ProtobufDeserializer(message, {"use.deprecated.format": False}, reader)(sent, where) == message(weight=5)


def _message(name: str) -> Any:
    """A message class with one number, as protoc would make it."""
    file = descriptor_pb2.FileDescriptorProto(name=f"{name}.proto", package="test", syntax="proto3")
    kind = file.message_type.add(name=name)
    kind.field.add(name="weight", number=1, type=descriptor_pb2.FieldDescriptorProto.TYPE_INT32, label=1)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"test.{name}"))


def test_the_client_evolves_checks_and_deletes(client: SchemaRegistryClient) -> None:
    subject = f"evolving-{uuid.uuid4().hex[:8]}"
    first = client.register_schema(subject, Schema(ORDER, "AVRO"))
    assert client.register_schema(subject, Schema(ORDER, "AVRO")) == first
    wider = json.loads(ORDER)
    wider["fields"].append({"name": "sum", "type": "int", "default": 0})
    assert client.test_compatibility(subject, Schema(json.dumps(wider), "AVRO"))
    assert client.register_schema(subject, Schema(json.dumps(wider), "AVRO")) > first
    narrower = json.loads(ORDER)
    narrower["fields"].append({"name": "must", "type": "int"})
    assert not client.test_compatibility(subject, Schema(json.dumps(narrower), "AVRO"))
    with pytest.raises(SchemaRegistryError) as refused:
        client.register_schema(subject, Schema(json.dumps(narrower), "AVRO"))
    assert refused.value.http_status_code == 409
    assert client.get_versions(subject) == [1, 2]
    assert subject in client.get_subjects()
    assert client.delete_subject(subject) == [1, 2]
    assert client.delete_subject(subject, permanent=True) == [1, 2]
