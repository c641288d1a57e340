"""DescribeAcls, by hand: confluent-kafka answers "no ACLs" where the broker said "no authorizer" or "no right".

Runs in the service's loop and in commands. Creating and deleting is in kafka/acls.
"""

from __future__ import annotations

import struct
from typing import Final

from twinlog.config.settings import ClientSettings
from twinlog.errors import AuthorizerMissing, BrokerAway, BrokerRefused, ClusterRightMissing, ClusterUnreachable
from twinlog.model.access.acls import UNKNOWN, AclBinding, Pattern, Resource
from twinlog.wire import protocol_errors as codes
from twinlog.wire.connection import Cluster
from twinlog.wire.frames import FrameReader, string

_DESCRIBE_ACLS: Final = 29
_VERSION: Final = 1
_ANY: Final = 1
# Rights on clusters, tokens and users stay with their cluster.
_RESOURCES: Final[dict[int, Resource]] = {2: "topic", 3: "group", 5: "transactional_id"}
_PATTERNS: Final[dict[int, Pattern]] = {3: "literal", 4: "prefixed"}
_PERMISSIONS: Final = {2: "DENY", 3: "ALLOW"}
# Those that can also be created; newer ones are told as unknown.
_OPERATIONS: Final = {
    2: "ALL",
    3: "READ",
    4: "WRITE",
    5: "CREATE",
    6: "DELETE",
    7: "ALTER",
    8: "DESCRIBE",
    9: "CLUSTER_ACTION",
    10: "DESCRIBE_CONFIGS",
    11: "ALTER_CONFIGS",
    12: "IDEMPOTENT_WRITE",
}


async def fetch_acls(settings: ClientSettings, client_id: str) -> frozenset[AclBinding]:
    """All bindings of topics, groups and transactional ids.

    Raises AuthorizerMissing where there is no authorizer, ClusterRightMissing where we lack Describe on Cluster.
    """
    cluster = Cluster(settings, client_id)
    try:
        return await fetch_acls_of(cluster, None)
    finally:
        await cluster.close()


async def fetch_acls_of(cluster: Cluster, node: int | None) -> frozenset[AclBinding]:
    """The bindings that one broker knows, or whichever answers: each has a copy of its own. Raises as `fetch_acls`."""
    anything = (
        struct.pack(">b", _ANY),
        string(None),
        struct.pack(">b", _ANY),
        string(None),
        string(None),
        struct.pack(">bb", _ANY, _ANY),
    )
    try:
        connection = await (cluster.any_connection() if node is None else cluster.connection(node))
        reader = await connection.exchange(
            _DESCRIBE_ACLS, _VERSION, anything, flexible=False, timeout_s=cluster.timeout_s
        )
    except BrokerAway as error:
        raise ClusterUnreachable(cluster.alias, f"reading ACLs: {error.problem}") from error
    return _read(reader, cluster.alias)


def _read(reader: FrameReader, cluster: str) -> frozenset[AclBinding]:
    reader.i32()  # throttle
    error, problem = reader.i16(), reader.string()
    match error:
        case codes.NONE:
            pass
        case codes.SECURITY_DISABLED:
            raise AuthorizerMissing(cluster, problem or "ACLs are switched off")
        case codes.CLUSTER_AUTHORIZATION_FAILED:
            raise ClusterRightMissing(cluster, "reading ACLs", "Describe")
        case _:
            raise BrokerRefused(cluster, f"its ACLs cannot be read: {codes.name_of(error)}")
    acl_bindings: set[AclBinding] = set()
    for _ in range(reader.i32()):
        resource, name, pattern = reader.i8(), reader.string() or "", reader.i8()
        for _ in range(reader.i32()):
            principal, host = reader.string() or "", reader.string() or ""
            operation, permission = reader.i8(), reader.i8()
            if resource in _RESOURCES and pattern in _PATTERNS and permission in _PERMISSIONS:
                acl_bindings.add(
                    AclBinding(
                        resource=_RESOURCES[resource],
                        pattern=_PATTERNS[pattern],
                        name=name,
                        principal=principal,
                        host=host,
                        operation=_OPERATIONS.get(operation, UNKNOWN),
                        permission=_PERMISSIONS[permission],
                    )
                )
    return frozenset(acl_bindings)
