"""A link as one look at both clusters finds it, for programs: `twinlog status -o json`, and the bundle for support.

The shape is that of `/v1/links/LINK`, with the partitions.
"""

from __future__ import annotations

from twinlog.config.settings import LinkSettings
from twinlog.errors import ClusterError
from twinlog.ledger.view import LedgerView
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.health.states import LinkStatus
from twinlog.surface.answers.links import LinkDetail, detail_of
from twinlog.surface.answers.rows import PartitionRow, partition_of
from twinlog.watch.monitor import LinkSnapshot


class _SeenOnce:
    """Stands for the observer of a link that was looked at already."""

    def __init__(self, outcome: LinkStatus | ClusterError) -> None:
        self._found = outcome
        self.view = LedgerView({})

    async def look(self) -> LinkStatus:
        """What was found."""
        if isinstance(self._found, ClusterError):
            raise self._found
        return self._found


class LinkStatusAnswer(LinkDetail):
    """One link with everything, from one look: what takes a history to know is null."""

    partition_list: list[PartitionRow]


def status_of(link: LinkSettings, outcome: LinkStatus | ClusterError) -> LinkStatusAnswer:
    """All that is known of a link."""
    snapshot = LinkSnapshot(link, _SeenOnce(outcome), looked_ms=SYSTEM_CLOCK.now_ms())
    if isinstance(outcome, ClusterError):
        snapshot.trouble, snapshot.remedy = str(outcome), outcome.remedy_text()
    else:
        snapshot.status, snapshot.looked_ms = outcome, outcome.now_ms
    partitions = [] if snapshot.status is None else snapshot.status.partitions
    rows = [partition_of(part, None) for part in partitions]
    return LinkStatusAnswer(**{**detail_of(snapshot).model_dump(), "movement": None}, partition_list=rows)
