"""Answers of a cluster, one by one: the first that is a refusal is raised. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from twinlog.errors import ClusterError, TwinlogError

K = TypeVar("K")


def require(refusals: Mapping[Any, TwinlogError | None], *but: type[TwinlogError]) -> None:
    """Raise the first refusal that is none of these kinds."""
    for refusal in refusals.values():
        if refusal is not None and not isinstance(refusal, but):
            raise refusal


def offsets_of(answers: Mapping[K, int | ClusterError]) -> dict[K, int]:
    """The offsets of all partitions. Raises the first error among the answers."""
    offsets: dict[K, int] = {}
    for partition, answer in answers.items():
        if isinstance(answer, ClusterError):
            raise answer
        offsets[partition] = int(answer)
    return offsets
