"""DescribeClientQuotas and AlterClientQuotas, by hand: the ordinary client has neither. Runs in an asyncio loop."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Final

from twinlog.errors import AccessDenied, BrokerRefused
from twinlog.model.access.client_quotas import Entity
from twinlog.model.health.inspection import QuotaFacts
from twinlog.wire import protocol_errors as codes
from twinlog.wire.connection import Cluster
from twinlog.wire.frames import FrameReader, compact_string, unsigned_varint

_DESCRIBE_QUOTAS: Final = (48, 1)  # Kafka 2.8
_ALTER_QUOTAS: Final = (49, 1)


async def fetch_quotas(cluster: Cluster) -> tuple[QuotaFacts, ...]:
    """All quotas of users, clients and addresses. Raises AccessDenied without DescribeConfigs on Cluster."""
    connection = await cluster.any_connection()
    body = [b"\x01", b"\x00", b"\x00"]  # whomever they bind
    reader = await connection.exchange(*_DESCRIBE_QUOTAS, body, flexible=True, timeout_s=cluster.timeout_s)
    reader.i32()  # throttle
    error = reader.i16()
    problem = reader.compact_string()
    if error == codes.CLUSTER_AUTHORIZATION_FAILED:
        raise AccessDenied(cluster.alias, "reading client quotas: DescribeConfigs on the cluster is needed")
    if error:
        raise BrokerRefused(cluster.alias, f"reading client quotas: {codes.name_of(error)} {problem or ''}".rstrip())
    quota_looks: list[QuotaFacts] = []
    for _ in range(reader.uvarint() - 1):
        entity = _entity(reader)
        limits: list[tuple[str, float]] = []
        for _ in range(reader.uvarint() - 1):
            name = reader.compact_string() or ""
            limits.append((name, struct.unpack(">d", reader.take(8))[0]))
            reader.tags()
        reader.tags()
        quota_looks.append(QuotaFacts(entity, tuple(limits)))
    return tuple(quota_looks)


async def alter_quotas(cluster: Cluster, changes: Mapping[Entity, Mapping[str, float | None]]) -> dict[Entity, str]:
    """Set limits, or remove those that are None. Returns what was refused, in the broker's words, by entity."""
    connection = await cluster.any_connection()
    body = [unsigned_varint(len(changes) + 1)]
    for entity, limits in changes.items():
        body.append(unsigned_varint(len(entity) + 1))
        body += [compact_string(kind) + compact_string(name) + b"\x00" for kind, name in entity]
        body.append(unsigned_varint(len(limits) + 1))
        body += [_operation(key, limit) for key, limit in limits.items()]
        body.append(b"\x00")
    body.append(b"\x00\x00")  # not only validated; no tags
    reader = await connection.exchange(*_ALTER_QUOTAS, body, flexible=True, timeout_s=cluster.timeout_s)
    reader.i32()  # throttle
    asked: Sequence[Entity] = list(changes)
    refused: dict[Entity, str] = {}
    for _ in range(reader.uvarint() - 1):
        error, problem = reader.i16(), reader.compact_string()
        entity = _entity(reader)
        reader.tags()
        if error:
            words = f"{codes.name_of(error)}: {problem}" if problem else codes.name_of(error)
            known = next(
                (known_entity for known_entity in asked if sorted(known_entity, key=str) == sorted(entity, key=str)),
                entity,
            )
            refused[known] = words
    return refused


def _operation(key: str, limit: float | None) -> bytes:
    number = struct.pack(">d?", limit or 0.0, limit is None)
    return compact_string(key) + number + b"\x00"


def _entity(reader: FrameReader) -> Entity:
    parts: list[tuple[str, str | None]] = []
    for _ in range(reader.uvarint() - 1):
        parts.append((reader.compact_string() or "", reader.compact_string()))
        reader.tags()
    return tuple(parts)
