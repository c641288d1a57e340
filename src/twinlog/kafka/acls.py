"""Creating and deleting ACLs. Blocking; runs in worker threads of the service. Reading them is in wire/acls.

Raises AuthorizerMissing where there is no authorizer, ClusterRightMissing where we lack Alter on Cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any, Final

from confluent_kafka.admin import AclBinding as ForeignBinding
from confluent_kafka.admin import (
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from twinlog.errors import AccessDenied, AuthorizerMissing, ClusterError, ClusterRightMissing
from twinlog.kafka.admin import ClusterAdmin
from twinlog.model.access.acls import AclBinding, Resource

_RESOURCES: Final[dict[Resource, ResourceType]] = {
    "topic": ResourceType.TOPIC,
    "group": ResourceType.GROUP,
    "transactional_id": ResourceType.TRANSACTIONAL_ID,
}
# A binding is some hundred bytes.
_BINDINGS_PER_REQUEST: Final = 1000


def create_acls(admin: ClusterAdmin, bindings: Collection[AclBinding]) -> dict[AclBinding, ClusterError | None]:
    """Create them; None where it was done."""
    return _ordered(admin, bindings, ForeignBinding, AdminClient.create_acls)


def delete_acls(admin: ClusterAdmin, bindings: Collection[AclBinding]) -> dict[AclBinding, ClusterError | None]:
    """Delete exactly these; None where it was done, also when somebody else did."""
    return _ordered(admin, bindings, AclBindingFilter, AdminClient.delete_acls)


def _ordered(
    admin: ClusterAdmin, bindings: Collection[AclBinding], kind: type[Any], order: Callable[..., dict[Any, Future[Any]]]
) -> dict[AclBinding, ClusterError | None]:
    answers: dict[AclBinding, ClusterError | None] = {}
    for part in _parts(sorted(bindings)):
        foreign = {_foreign(binding, kind): binding for binding in part}
        gathered = admin.ask(partial(_send, order, list(foreign)))
        answers.update({foreign[key]: _refusal(admin, answer) for key, answer in gathered.items()})
    return answers


def _send(
    order: Callable[..., dict[Any, Future[Any]]], what: list[Any], client: AdminClient, timeout_s: float
) -> dict[Any, Future[Any]]:
    return order(client, what, request_timeout=timeout_s)


def _refusal(admin: ClusterAdmin, answer: Any) -> ClusterError | None:
    if isinstance(answer, AuthorizerMissing):
        raise answer
    if isinstance(answer, AccessDenied):
        raise ClusterRightMissing(admin.cluster, "changing ACLs", "Alter")
    return answer if isinstance(answer, ClusterError) else None


def _foreign(binding: AclBinding, kind: type[Any]) -> Any:
    pattern = ResourcePatternType.LITERAL if binding.pattern == "literal" else ResourcePatternType.PREFIXED
    return kind(
        _RESOURCES[binding.resource],
        binding.name,
        pattern,
        binding.principal,
        binding.host,
        AclOperation[binding.operation],
        AclPermissionType[binding.permission],
    )


def _parts(bindings: Sequence[AclBinding]) -> Iterator[Sequence[AclBinding]]:
    for begin in range(0, len(bindings), _BINDINGS_PER_REQUEST):
        yield bindings[begin : begin + _BINDINGS_PER_REQUEST]
