"""Which chores a link has: the one list. A chore that the settings switch off is not on it."""

from __future__ import annotations

from twinlog.model.deletion import IgnoreDeletion
from twinlog.sync.chores import Chore
from twinlog.sync.configs import ConfigSync
from twinlog.sync.deletions import DeletionSync
from twinlog.sync.ends import LinkEnds


def chores_of(ends: LinkEnds) -> list[Chore]:
    """The chores of one link."""
    chores: list[Chore] = []
    if ends.link.sync_topic_configs:
        chores.append(ConfigSync(ends))
    if not isinstance(ends.link.topic_deletion, IgnoreDeletion):
        chores.append(DeletionSync(ends))
    return chores
