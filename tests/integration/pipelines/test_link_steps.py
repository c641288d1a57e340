"""The projections of a link with transforms, on rows without a cluster: masks, topics, bytes that stay."""

from __future__ import annotations

from typing import Any

import pytest

from twinlog.flow.record_rows import RECORDS_SQL
from twinlog.model.selection import Patterns
from twinlog.model.transforms import FieldMask, Transforms
from twinlog.pipelines.link_rules import JSON
from twinlog.pipelines.link_steps import link_session, transformed
from twinlog.spark.session import Session, make_active

KAFKA = "org.apache.kafka.connect.transforms"
DOCUMENTS = (("value.converter", JSON), ("value.converter.schemas.enable", "false"))
TIME_MS = 1_700_000_000_123


def stepped(spark: Session, transforms: Transforms, *records: tuple[str, bytes | None]) -> list[Any]:
    session = link_session(spark)
    make_active(session)
    rows: list[Any] = [(bytearray(b"head"), bytearray(b"batches"), *[None] * 6, [])]
    for offset, (topic, value) in enumerate(records):
        data = None if value is None else bytearray(value)
        rows.append((None, None, topic, 0, offset, TIME_MS, bytearray(b"\x00k"), data, [("h", bytearray(b"\x01"))]))
    made = transformed(session.createDataFrame(rows, RECORDS_SQL), transforms).collect()
    raw, *found = made
    assert (bytes(raw["head"]), bytes(raw["payload"])) == (b"head", b"batches")
    assert [one["offset"] for one in found] == list(range(len(records)))
    for one in found:
        assert (one["timestamp"], bytes(one["key"])) == (TIME_MS, b"\x00k")
        assert [(pair["key"], bytes(pair["value"])) for pair in one["headers"]] == [("h", b"\x01")]
    return found


def values(found: list[Any]) -> list[bytes | None]:
    return [None if one["value"] is None else bytes(one["value"]) for one in found]


def test_a_residency_mask_changes_the_field_and_nothing_else(spark: Session) -> None:
    mask = FieldMask("eu", Patterns(("(?:A\\.)*customers",)), ("email", "age"))
    found = stepped(
        spark,
        Transforms(masks=(mask,)),
        ("customers", b'{"email": "a@b", "age": 7, "z": {"email": "in"}}'),
        ("A.customers", b'{ "b":1,  "a":2.50 }'),  # without the field: its bytes stay
        ("customers", None),
        ("customers", b'["email"]'),
        ("customers", b"{not json"),
    )
    assert values(found)[:3] == [b'{"age":0,"email":"","z":{"email":"in"}}', b'{ "b":1,  "a":2.50 }', None]
    assert [one["error"] is not None for one in found] == [False, False, False, True, True]
    assert not any(one["drop"] for one in found)


def test_steps_and_masks_concern_their_own_topics(spark: Session) -> None:
    steps = Transforms(
        (
            ("transforms", "cut"),
            ("transforms.cut.type", f"{KAFKA}.ReplaceField$Value"),
            ("transforms.cut.exclude", "b"),
            *DOCUMENTS,
        ),
        topics=Patterns(("orders",)),
        masks=(FieldMask("eu", Patterns(("people",)), ("a",)),),
    )
    found = stepped(spark, steps, ("orders", b'{"a":"x","b":1}'), ("people", b'{"a":"x","b":1}'))
    assert values(found) == [b'{"a":"x"}', b'{"a":"","b":1}']


def test_predicates_judge_topics_that_come_later(spark: Session) -> None:
    steps = Transforms(
        (
            ("predicates", "p"),
            ("predicates.p.pattern", "log.*"),
            ("predicates.p.type", f"{KAFKA}.predicates.TopicNameMatches"),
            ("transforms", "drop"),
            ("transforms.drop.predicate", "p"),
            ("transforms.drop.type", f"{KAFKA}.Filter"),
        )
    )
    found = stepped(spark, steps, ("logs", b"\xff\x00"), ("catalog", b"\xff\x00"))
    assert [one["drop"] for one in found] == [True, False]
    assert values(found) == [b"\xff\x00", b"\xff\x00"]  # bytes that no step looks into are never read


@pytest.mark.parametrize(
    ("step", "keys", "after"),
    [
        ("InsertField$Value", {"offset.field": "at", "static.field": "dc", "static.value": "A"},
         b'{"a":"7","at":0,"dc":"A"}'),
        ("Cast$Value", {"spec": "a:int32"}, b'{"a":7}'),
        ("MaskField$Value", {"fields": "a", "replacement": "***"}, b'{"a":"***"}'),
        ("ExtractField$Value", {"field": "a"}, b'"7"'),
        ("HoistField$Value", {"field": "in"}, b'{"in":{"a":"7"}}'),
    ],
)  # fmt: skip
def test_field_transforms_of_kafka(spark: Session, step: str, keys: dict[str, str], after: bytes) -> None:
    config = (("transforms", "x"), ("transforms.x.type", f"{KAFKA}.{step}"), *DOCUMENTS)
    own = tuple((f"transforms.x.{key}", value) for key, value in keys.items())
    assert values(stepped(spark, Transforms((*config, *own)), ("t", b'{"a": "7"}'))) == [after]
