"""Kafka's own transforms and JsonConverter as judges of ours. They run in a JVM of their own, called through py4j."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from tests.kit.java_oracle import Oracle

from twinlog.pipelines.arrow.documents import DocumentReader, Unfit, printed
from twinlog.pipelines.chain import steps_of
from twinlog.pipelines.converters.json_documents import JsonConverter
from twinlog.pipelines.plan import Branch, started
from twinlog.pipelines.plugins import transform
from twinlog.pipelines.read_kafka import ROWS_SQL
from twinlog.spark.session import Session

JSON = "org.apache.kafka.connect.json.JsonConverter"
TIME_MS = 1_700_000_000_123
Headers = tuple[tuple[str, str | None], ...]


@dataclass(frozen=True)
class Sample:
    """One record before a transform: key and value as bytes."""

    value: bytes | None
    key: bytes | None = b'"k"'
    headers: tuple[tuple[str, bytes], ...] = (("h", b"1"), ("g", b"x"))
    topic: str = "orders.eu"


@dataclass(frozen=True)
class Outcome:
    """What a transform made of a record. `failed`: Java threw, or ours marked the record."""

    failed: bool = False
    dropped: bool = False
    topic: str = ""
    key: Any = None
    value: Any = None
    headers: Headers = ()
    why: str = field(default="", compare=False)


def canonical(data: bytes | None, *, schemas: bool) -> Any:
    """Parsed JSON. The order of members does not matter.

    With schemas 1 and 1.0 differ. Without schemas JSON has one type of numbers, and ours writes 0.0 as 0.
    """
    return None if data is None else _typed(json.loads(data), schemas=schemas)


def _typed(found: Any, *, schemas: bool) -> Any:
    if isinstance(found, dict):
        return {key: _typed(value, schemas=schemas) for key, value in found.items()}
    if isinstance(found, list):
        return [_typed(one, schemas=schemas) for one in found]
    is_number = isinstance(found, int | float) and not isinstance(found, bool)
    return ("number" if is_number and not schemas else type(found).__name__, found)


class JavaTransforms:
    """Kafka's classes."""

    def __init__(self, oracle: Oracle) -> None:
        self._jvm = oracle._jvm
        self._oracle = oracle
        self._gateway = oracle._gateway

    def _converter(self, *, schemas: bool, key: bool) -> Any:
        made = self._jvm.org.apache.kafka.connect.json.JsonConverter()
        made.configure(self._oracle._map({"schemas.enable": str(schemas).lower()}), key)
        return made

    def outcomes(self, config: Mapping[str, str], samples: Sequence[Sample], *, schemas: bool) -> list[Outcome]:
        kind = self._jvm.java.lang.Class.forName(config["type"])
        step = kind.getDeclaredConstructor(self._gateway.new_array(self._jvm.java.lang.Class, 0)).newInstance(
            self._gateway.new_array(self._jvm.java.lang.Object, 0)
        )
        own = {name: value for name, value in config.items() if name != "type"}
        step.configure(self._oracle._map(own))
        keys, values = self._converter(schemas=schemas, key=True), self._converter(schemas=schemas, key=False)
        made = [self._one(step, keys, values, sample, schemas=schemas) for sample in samples]
        step.close()
        return made

    def _one(self, step: Any, keys: Any, values: Any, sample: Sample, *, schemas: bool) -> Outcome:
        try:
            key, value = keys.toConnectData(sample.topic, sample.key), values.toConnectData(sample.topic, sample.value)
            kinds = self._jvm.org.apache.kafka.common.record.TimestampType.CREATE_TIME
            record = self._jvm.org.apache.kafka.connect.sink.SinkRecord(
                sample.topic, 3, key.schema(), key.value(), value.schema(), value.value(), 77, TIME_MS, kinds
            )
            simple = self._jvm.org.apache.kafka.connect.storage.SimpleHeaderConverter()
            for name, data in sample.headers:
                record.headers().add(name, simple.toConnectHeader(sample.topic, name, data))
            after = step.apply(record)
            if after is None:
                return Outcome(dropped=True)
            found, headers = after.headers().iterator(), []
            while found.hasNext():
                one = found.next()
                data = simple.fromConnectHeader(after.topic(), one.key(), one.schema(), one.value())
                headers.append((one.key(), _text(data)))
            return Outcome(
                topic=after.topic(),
                key=_shown(keys, after.topic(), after.keySchema(), after.key(), schemas=schemas),
                value=_shown(values, after.topic(), after.valueSchema(), after.value(), schemas=schemas),
                headers=tuple(headers),
            )
        except Exception as error:  # noqa: BLE001  pyspark wraps what Java throws in classes of its own
            return Outcome(failed=True, why=str(error)[:300])


def _shown(converter: Any, topic: str, schema: Any, value: Any, *, schemas: bool) -> Any:
    return canonical(_bytes(converter.fromConnectData(topic, schema, value)), schemas=schemas)


def _bytes(found: Any) -> bytes | None:
    return None if found is None else bytes(found)


def _text(found: Any) -> str | None:
    return None if found is None else bytes(found).decode()


def our_outcomes(
    spark: Session, config: Mapping[str, str], samples: Sequence[Sample], *, schemas: bool
) -> list[Outcome]:
    """The same by our expressions."""
    converter = JsonConverter({"schemas.enable": str(schemas).lower()})
    found: dict[tuple[Any, Any], int] = {}
    rows = []
    for offset, sample in enumerate(samples):
        kinds, parts = [], []
        for data in (sample.key, sample.value):
            schema, rest = converter.tell(data) if schemas and data is not None else (None, data)
            kinds.append(schema)
            parts.append(rest)
        number = found.setdefault((kinds[0], kinds[1]), len(found))
        headers = [(name, bytearray(data)) for name, data in sample.headers]
        rows.append((sample.topic, 3, 77, TIME_MS, *[_array(one) for one in parts], headers, number, None, offset))
    topics = tuple({one.topic for one in samples})
    branches = [
        Branch(number, topics, converter.shape(key), converter.shape(value)) for (key, value), number in found.items()
    ]
    frame = started(spark.createDataFrame(rows, f"{ROWS_SQL}, number int"), branches, JSON)
    frame = frame.converted("key", JSON, converter.decode).converted("value", JSON, converter.decode)
    for step in steps_of({"transforms": "x", **{f"transforms.x.{key}": value for key, value in config.items()}}):
        frame = frame.step(step)
    frame = frame.converted("key", JSON, converter.encode).converted("value", JSON, converter.encode)
    shown = frame.delivered(
        lambda one: {"key": one.key, "value": one.value}, ["number", "topic", "headers", "error", "drop"]
    )
    made = {one["number"]: one for one in shown.collect()}
    return [_outcome(made[number], schemas=schemas) for number in range(len(samples))]


def _array(data: bytes | None) -> bytearray | None:
    return None if data is None else bytearray(data)


def _outcome(row: Any, *, schemas: bool) -> Outcome:
    if row["error"] is not None:
        return Outcome(failed=True, why=str(row["error"]))
    if row["drop"]:
        return Outcome(dropped=True)
    headers = tuple(
        (one["key"], None if one["value"] is None else bytes(one["value"]).decode()) for one in row["headers"]
    )
    return Outcome(
        topic=row["topic"],
        key=canonical(None if row["key"] is None else bytes(row["key"]), schemas=schemas),
        value=canonical(None if row["value"] is None else bytes(row["value"]), schemas=schemas),
        headers=headers,
    )


def differing(samples: list[Sample], ours: list[Outcome], theirs: list[Outcome]) -> list[str]:
    return [
        f"{sample.value!r}: ours {mine}, Kafka's {its}"
        for sample, mine, its in zip(samples, ours, theirs, strict=True)
        if mine != its
    ]


def column_outcomes(config: Mapping[str, str], samples: Sequence[Sample]) -> list[Outcome | None]:
    """The same by Arrow's kernels, each record alone; None: left to expressions."""
    step: Any = transform(config["type"], config)
    made: list[Outcome | None] = []
    for sample in samples:
        rows = pa.RecordBatch.from_pydict(
            {
                "topic": pa.array([sample.topic]), "partition": pa.array([3], pa.int32()),
                "offset": pa.array([77], pa.int64()), "timestamp": pa.array([TIME_MS], pa.int64()),
            }
        )  # fmt: skip
        try:
            members = step.on_columns(DocumentReader().opened(pa.array([sample.value], pa.binary()), rows))
            value = canonical(printed(members)[0].as_py().encode(), schemas=False)
        except Unfit:
            made.append(None)
            continue
        key = canonical(sample.key, schemas=False)
        headers = tuple((name, data.decode()) for name, data in sample.headers)
        made.append(Outcome(topic=sample.topic, key=key, value=value, headers=headers))
    return made
