"""Configs of groups, by hand: which groups have some, what they are, changing them. Runs in an asyncio loop.

Groups of the new protocols (consumer, share, streams) have configs since Kafka 4.0; which groups have some is told
since 4.1 (ListConfigResources). Without that every group would have to be asked.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Final

from twinlog.errors import AccessDenied, BrokerRefused
from twinlog.wire import protocol_errors as codes
from twinlog.wire.connection import Cluster
from twinlog.wire.frames import compact_string, unsigned_varint

_LIST_RESOURCES: Final = (74, 1)
_DESCRIBE_CONFIGS: Final = (32, 4)
_ALTER_CONFIGS: Final = (44, 1)
_GROUP: Final = 32  # kind of resource
_SET_FOR_THE_GROUP: Final = 8  # origin of a config
_SET, _DELETE = 0, 1


async def fetch_group_configs(cluster: Cluster) -> dict[str, dict[str, str]]:
    """The configs that were set for single groups, by group. Raises AccessDenied without DescribeConfigs."""
    groups = await _groups_with_configs(cluster)
    if not groups:
        return {}
    connection = await cluster.any_connection()
    body = [unsigned_varint(len(groups) + 1)]
    body += [struct.pack(">b", _GROUP) + compact_string(group) + b"\x00\x00" for group in groups]
    body.append(b"\x00\x00\x00")  # no synonyms, no documentation
    reader = await connection.exchange(*_DESCRIBE_CONFIGS, body, flexible=True, timeout_s=cluster.timeout_s)
    reader.i32()  # throttle
    configs: dict[str, dict[str, str]] = {}
    for _ in range(reader.uvarint() - 1):
        error, problem = reader.i16(), reader.compact_string()
        reader.i8()
        group = reader.compact_string() or ""
        if error:
            raise _refusal(cluster, error, f"reading the configs of group {group}", problem)
        of_group: dict[str, str] = {}
        for _ in range(reader.uvarint() - 1):
            name, value = reader.compact_string() or "", reader.compact_string()
            reader.i8()  # read-only
            origin = reader.i8()
            reader.i8()  # sensitive
            for _ in range(reader.uvarint() - 1):
                reader.compact_string()
                reader.compact_string()
                reader.i8()
                reader.tags()
            reader.i8()  # type
            reader.compact_string()  # documentation
            reader.tags()
            if origin == _SET_FOR_THE_GROUP and value is not None:
                of_group[name] = value
        reader.tags()
        configs[group] = of_group
    return configs


async def alter_group_configs(cluster: Cluster, changes: Mapping[str, Mapping[str, str | None]]) -> dict[str, str]:
    """Set configs of groups; None deletes one. Returns what was refused, in the broker's words, by group."""
    connection = await cluster.any_connection()
    body = [unsigned_varint(len(changes) + 1)]
    for group, configs in changes.items():
        body.append(struct.pack(">b", _GROUP) + compact_string(group) + unsigned_varint(len(configs) + 1))
        for name, value in configs.items():
            operation = _DELETE if value is None else _SET
            body.append(compact_string(name) + bytes([operation]) + compact_string(value) + b"\x00")
        body.append(b"\x00")
    body.append(b"\x00\x00")  # not only validated; no tags
    reader = await connection.exchange(*_ALTER_CONFIGS, body, flexible=True, timeout_s=cluster.timeout_s)
    reader.i32()  # throttle
    refused: dict[str, str] = {}
    for _ in range(reader.uvarint() - 1):
        error, problem = reader.i16(), reader.compact_string()
        reader.i8()
        group = reader.compact_string() or ""
        reader.tags()
        if error:
            refused[group] = f"{codes.name_of(error)}: {problem}" if problem else codes.name_of(error)
    return refused


async def _groups_with_configs(cluster: Cluster) -> list[str]:
    connection = await cluster.any_connection()
    if connection.highest_version(_LIST_RESOURCES[0]) < _LIST_RESOURCES[1]:
        raise BrokerRefused(cluster.alias, "it does not tell which groups have configs; Kafka 4.1 is needed")
    body = [b"\x02", struct.pack(">b", _GROUP), b"\x00"]
    reader = await connection.exchange(*_LIST_RESOURCES, body, flexible=True, timeout_s=cluster.timeout_s)
    reader.i32()  # throttle
    error = reader.i16()
    if error:
        raise _refusal(cluster, error, "listing groups with configs", None)
    groups: list[str] = []
    for _ in range(reader.uvarint() - 1):
        name, kind = reader.compact_string() or "", reader.i8()
        reader.tags()
        if kind == _GROUP:
            groups.append(name)
    return groups


def _refusal(cluster: Cluster, error: int, what: str, problem: str | None) -> AccessDenied | BrokerRefused:
    if error in {codes.GROUP_AUTHORIZATION_FAILED, codes.CLUSTER_AUTHORIZATION_FAILED}:
        return AccessDenied(cluster.alias, f"{what}: DescribeConfigs is needed")
    return BrokerRefused(cluster.alias, f"{what}: {codes.name_of(error)} {problem or ''}".rstrip())
