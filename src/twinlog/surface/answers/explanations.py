"""Why a topic or a group is mirrored or not, and the offset map of a partition, for programs."""

from __future__ import annotations

import dataclasses
from enum import Enum
from typing import TYPE_CHECKING, Any

from twinlog.errors import ClusterError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def explanation_of(link: str, answer: DataclassInstance | ClusterError) -> dict[str, Any]:
    """What is known about one link; of a cluster that does not answer, why, and the way out."""
    if isinstance(answer, ClusterError):
        return {"link": link, "trouble": str(answer), "remedy": answer.remedy_text()}
    return dataclasses.asdict(answer, dict_factory=_plain)


def _plain(items: list[tuple[str, Any]]) -> dict[str, Any]:
    return {key: value.value if isinstance(value, Enum) else value for key, value in items}
