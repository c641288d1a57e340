"""DescribeUserScramCredentials, by hand, on a connection that is open anyway. Runs in an asyncio loop."""

from __future__ import annotations

from typing import Final

from twinlog.errors import AccessDenied, BrokerRefused
from twinlog.model.access.scram_users import ScramUsers
from twinlog.wire import protocol_errors as codes
from twinlog.wire.connection import Cluster

_DESCRIBE_SCRAM: Final = (50, 0)  # Kafka 2.7
_MECHANISMS: Final = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}


async def fetch_scram_users(cluster: Cluster) -> ScramUsers:
    """All users with SCRAM credentials. Raises AccessDenied without Describe on Cluster."""
    connection = await cluster.any_connection()
    if connection.highest_version(_DESCRIBE_SCRAM[0]) < _DESCRIBE_SCRAM[1]:
        raise BrokerRefused(cluster.alias, "it does not list SCRAM users; Kafka 2.7 is needed")
    # An empty list asks for everybody. So does none at all, but a 4.3 broker never answers that to whom it denies it.
    everybody = [b"\x01", b"\x00"]
    reader = await connection.exchange(*_DESCRIBE_SCRAM, everybody, flexible=True, timeout_s=cluster.timeout_s)
    reader.i32()  # throttle
    error, problem = reader.i16(), reader.compact_string()
    if error == codes.CLUSTER_AUTHORIZATION_FAILED:
        raise AccessDenied(cluster.alias, "listing SCRAM users: Describe on the cluster is needed")
    if error:
        raise BrokerRefused(cluster.alias, f"listing SCRAM users: {codes.name_of(error)} {problem or ''}".rstrip())
    users: dict[str, frozenset[str]] = {}
    for _ in range(reader.uvarint() - 1):
        user = reader.compact_string() or ""
        reader.i16()  # of one user, when asked by name
        reader.compact_string()
        mechanisms: set[str] = set()
        for _ in range(reader.uvarint() - 1):
            number = reader.i8()
            reader.i32()  # iterations
            reader.tags()
            mechanisms.add(_MECHANISMS.get(number, f"mechanism {number}"))
        reader.tags()
        users[user] = frozenset(mechanisms)
    return users
