"""The topic that keeps connectors made over HTTP, and which service of a group runs them. Its methods block.

All services of the group read it; Kafka elects one of them (logs.elected). The elected one shuts the former leader out
of the topic, then writes that it leads.

Losing the election changes nothing by itself: links continue until the log says that another service leads, and the
ledger's generations keep two engines apart meanwhile (R8, R10).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from twinlog.config.settings import ClientSettings
from twinlog.control.service_topics import AUDIT, LINKS
from twinlog.errors import ClusterError, ClusterUnreachable, LogFenced, NotActive
from twinlog.kafka.admin import ClusterAdmin
from twinlog.logs.background import BackgroundWriter
from twinlog.logs.elected import ElectedLog
from twinlog.logs.ensure import ensure_logs
from twinlog.logs.memory import MemoryLog
from twinlog.logs.topic import KeyValue, LogRecord
from twinlog.model.connectors import GroupState, Prove

log = logging.getLogger("twinlog.audit")

Record: TypeAlias = KeyValue


@dataclass(frozen=True)
class Place:
    """Where the connectors of a group are kept. `ensure` creates the topic. Without a topic they are in memory."""

    group: str
    topic: str | None
    transactional_id: str
    ensure: Callable[[ClusterAdmin], object]
    own_topic: bool = False


def shared_place(group: str, replication_factor: int) -> Place:
    """Twinlog's own topic, which all groups share."""

    def ensure(admin: ClusterAdmin) -> None:
        ensure_logs(admin, replication_factor, LINKS, AUDIT)

    return Place(group, LINKS.name, f"twinlog-links-{group}", ensure)


class LinksTopic:
    """The topic for one service of one group. `on_news` and `on_turn` are called in threads of the log."""

    def __init__(
        self,
        settings: ClientSettings,
        place: Place,
        prove: Prove | None = None,
        *,
        on_news: Callable[[GroupState], None],
        on_elected: Callable[[], None],
        on_members: Callable[[], None] = lambda: None,
    ) -> None:
        """Nothing is sent yet."""
        self.cluster = settings.cluster
        self._settings = settings
        self._place = place
        start = GroupState(place.group, own_topic=place.own_topic, prove=prove)
        self._log: ElectedLog[GroupState] | MemoryLog[GroupState]
        if place.topic is None:
            self._log = MemoryLog(start, _with_record, on_elected)
        else:
            self._log = ElectedLog(
                settings,
                place.topic,
                place.group,
                start=start,
                apply=_with_record,
                on_change=on_news,
                on_elected=on_elected,
                on_members=on_members,
                transactional_id=place.transactional_id,
            )
        self._audit = BackgroundWriter(settings, AUDIT.name)

    def open(self) -> GroupState:
        """Read everything there is, then follow it, and stand for election. Raises ClusterError."""
        self._place.ensure(ClusterAdmin(self._settings))
        return self._log.open()

    def lead(self, records: Sequence[Record]) -> GroupState:
        """Shut out the former leader, and write that we lead. Raises ClusterError."""
        return self._log.lead(records)

    def append(self, records: Sequence[Record]) -> GroupState:
        """Write records, all or none, and read up to them. Raises ClusterError; NotActive when another one leads."""
        if not self._log.leads:
            raise NotActive(self._place.group, "this service does not run the links")
        try:
            return self._log.append(records)
        except LogFenced as error:
            raise NotActive(self._place.group, "another service took the links over") from error

    def announce(self, text: str) -> None:
        """Tell the service that leads that this one can run connectors."""
        self._log.announce(text)

    def members(self) -> tuple[str, ...] | None:
        """What the living services of the group announced; None while some come or go. Raises ClusterError."""
        return self._log.members()

    def audit(self, entry: bytes, done: Callable[[str | None], None]) -> None:
        """Write one audit entry in the background. `done` gets None when it is written, or why it is not."""

        def told(error: ClusterError | None) -> None:
            done(None if error is None else error.problem)

        self._audit.append(None, entry, told)

    def close(self) -> None:
        """Leave the group, so that another service leads at once."""
        self._log.close()
        try:
            self._audit.close()
        except ClusterUnreachable as error:
            log.warning("%s: %s", AUDIT.name, error)


def _with_record(group_state: GroupState, record: LogRecord) -> GroupState:
    return group_state.take(record.key, record.value)
