"""The classes of connectors that are links, or sync jobs of a link. Pure.

MirrorSourceConnector, ReplicatorSourceConnector     a link
MirrorCheckpointConnector, MirrorHeartbeatConnector  sync jobs of the link of the same pair, switched on
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from twinlog.model.connectors import names_class

Sort: TypeAlias = Literal["source", "checkpoint", "heartbeat", "replicator"]

_MIRROR: Final = "org.apache.kafka.connect.mirror."
CLASSES: Final[dict[Sort, str]] = {
    "source": f"{_MIRROR}MirrorSourceConnector",
    "checkpoint": f"{_MIRROR}MirrorCheckpointConnector",
    "heartbeat": f"{_MIRROR}MirrorHeartbeatConnector",
    "replicator": "io.confluent.connect.replicator.ReplicatorSourceConnector",
}
COPYING: Final[frozenset[Sort]] = frozenset({"source", "replicator"})
"""Those that are links; the others are sync jobs of one."""


def sort_of(class_name: str) -> Sort | None:
    """Which of them a class is; None for another one."""
    return next((sort for sort, known in CLASSES.items() if names_class(class_name, known)), None)


def file_connector(link: str, sort: Sort) -> str:
    """Name a link of the settings file, or one of its sync jobs, as a connector."""
    return f"{link}.{CLASSES[sort].rpartition('.')[2]}"
