"""The topic that keeps links made over HTTP, and whose turn it is to run them. Runs in the service, in own threads.

    a consumer group of the service's group id    whoever owns the topic's one partition may lead: Kafka decides
    a transactional producer of the group         the new leader shuts the old one out, then says that it leads
    a plain reader                                everybody reads what was written, and by whom the links are run

Being sent away from the group changes nothing by itself: links go on until the log says that another one leads, and
the ledger's generations keep two engines apart meanwhile (R8, R10).
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from twinlog.config.settings import ClientSettings
from twinlog.errors import BrokerRefused, ClusterUnreachable, NotActive, TopicExists
from twinlog.kafka.admin import ClusterAdmin, TopicOrder
from twinlog.kafka.broker_time import BROKER_TIME, ensure_broker_time
from twinlog.kafka.client_options import client_options
from twinlog.kafka.foreign_errors import translated
from twinlog.model.connectors import AUDIT_TOPIC, EVENTS_TOPIC, LINKS_TOPIC, Leader, Shelf
from twinlog.model.topics.target_topics import TopicFacts

Record: TypeAlias = tuple[bytes, bytes | None]

_CONFIGS: Final = {
    LINKS_TOPIC: {**BROKER_TIME, "cleanup.policy": "compact", "min.compaction.lag.ms": "60000"},
    AUDIT_TOPIC: {**BROKER_TIME, "cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"},
    EVENTS_TOPIC: {**BROKER_TIME, "cleanup.policy": "delete", "retention.ms": str(7 * 86_400_000)},
}
_WITHIN_S: Final = 15.0
_SESSION_MS: Final = 9_000
"""How long a silent leader is waited for; a tenth of this would let a long pause of the machine change the leader."""
_POLL_S: Final = 0.2
_SHUT_OUT: Final = frozenset({KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH})  # noqa: SLF001


def ensure_topics(admin: ClusterAdmin, replication_factor: int, *topics: str) -> None:
    """Create these of the service's own topics unless they are there. Blocking."""
    deadline = time.monotonic() + _WITHIN_S
    while missing := [
        name for name, facts in admin.describe_topics(topics).items() if not isinstance(facts, TopicFacts)
    ]:
        if time.monotonic() > deadline:
            raise BrokerRefused(admin.cluster, f"{missing[0]} was created but does not appear")
        orders = [TopicOrder(name, 1, replication_factor, _CONFIGS[name]) for name in missing]
        for refusal in admin.create_topics(orders).values():
            if refusal is not None and not isinstance(refusal, TopicExists):
                raise refusal
        time.sleep(0.1)
    ensure_broker_time(admin, topics)


class LinksTopic:
    """The links topic for one service of one group. `on_news` and `on_turn` are called in threads of ours."""

    def __init__(
        self,
        settings: ClientSettings,
        group: str,
        *,
        replication_factor: int,
        on_news: Callable[[Shelf], None],
        on_turn: Callable[[], None],
    ) -> None:
        """Nothing is sent yet."""
        self.cluster = settings.cluster
        self._settings = settings
        self._group = group
        self._replication_factor = replication_factor
        self._on_news = on_news
        self._on_turn = on_turn
        self._shelf = Shelf(group)
        self._position = 0
        self._moved = threading.Condition()
        self._closing = threading.Event()
        self._threads: list[threading.Thread] = []
        self._producer: Producer | None = None
        self._audit: Producer | None = None
        self._writing = threading.Lock()

    def open(self) -> Shelf:
        """Read everything there is, then follow it, and stand in line. Blocking; raises ClusterError."""
        ensure_topics(ClusterAdmin(self._settings), self._replication_factor, LINKS_TOPIC, AUDIT_TOPIC)
        reader = Consumer(
            self._options(
                **{
                    # The client insists on a name; without subscribing and committing there is no group.
                    "group.id": f"{self._group}-reader",
                    "enable.auto.commit": False,
                    "enable.partition.eof": True,
                    "isolation.level": "read_committed",
                }
            )
        )
        reader.assign([TopicPartition(LINKS_TOPIC, 0, 0)])
        try:
            _, end = reader.get_watermark_offsets(TopicPartition(LINKS_TOPIC, 0), timeout=_WITHIN_S)
            self._read_to(reader, end)
        except KafkaException as error:
            reader.close()
            raise translated(self.cluster, error.args[0]) from error
        self._start("links-reader", lambda: self._follow(reader))
        self._start("links-turn", self._stand_in_line)
        return self._shelf

    def lead(self, leader: Leader) -> Shelf:
        """Shut out whoever led before, and say that we lead. Blocking; raises ClusterError."""
        with self._writing:
            producer = Producer(
                self._options(**{"transactional.id": f"twinlog-links-{self._group}", "transaction.timeout.ms": 30_000})
            )
            try:
                producer.init_transactions(_WITHIN_S)
            except KafkaException as error:
                raise translated(self.cluster, error.args[0]) from error
            self._producer = producer
        return self.append([self._shelf.leader_record(leader)])

    def append(self, records: Sequence[Record]) -> Shelf:
        """Write records, all or none, and read up to them. Blocking; NotActive once another one leads."""
        with self._writing:
            offset = self._commit(records)
        with self._moved:
            if not self._moved.wait_for(lambda: self._position > offset, _WITHIN_S):
                raise ClusterUnreachable(self.cluster, f"{LINKS_TOPIC} was written but could not be read in time")
            return self._shelf

    def audit(self, entry: bytes, done: Callable[[str | None], None]) -> None:
        """Hand one entry to the audit topic. `done` hears None when it is written, or why it is not."""
        if self._audit is None:
            self._audit = Producer(self._options(**{"enable.idempotence": True}))
        try:
            self._audit.produce(
                AUDIT_TOPIC, value=entry, on_delivery=lambda error, _: done(None if error is None else error.str())
            )
        except BufferError:
            done("too many entries wait to be written")
        self._audit.poll(0)

    def close(self) -> None:
        """Leave the line, so that another one leads at once. Blocking."""
        self._closing.set()
        for thread in self._threads:
            thread.join(_WITHIN_S)
        if self._audit is not None:
            self._audit.flush(3.0)

    # --- in threads of ours -------------------------------------------------------------------------------------------

    def _start(self, name: str, work: Callable[[], None]) -> None:
        thread = threading.Thread(target=work, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _follow(self, reader: Consumer) -> None:
        while not self._closing.is_set():
            if self._take(reader.poll(_POLL_S)):
                self._on_news(self._shelf)
            if self._audit is not None:
                self._audit.poll(0)  # what became of entries is told here and nowhere else
        reader.close()

    def _read_to(self, reader: Consumer, end: int) -> None:
        deadline = time.monotonic() + _WITHIN_S
        while self._position < end:
            if time.monotonic() > deadline:
                raise ClusterUnreachable(self.cluster, f"{LINKS_TOPIC} could not be read in time")
            self._take(reader.poll(_POLL_S))

    def _take(self, message: Message | None) -> bool:
        """Read one message on; True when it says something."""
        if message is None:
            return False
        error = message.error()
        if error is not None and error.code() != KafkaError._PARTITION_EOF:  # noqa: SLF001
            return False  # the client tries again by itself
        with self._moved:
            # The end of the partition tells that the markers of transactions before it are read, too.
            self._position = (message.offset() or 0) + (0 if error else 1)
            if error is None:
                self._shelf = self._shelf.take(message.key(), message.value())
            self._moved.notify_all()
        return error is None

    def _stand_in_line(self) -> None:
        line = Consumer(
            self._options(
                **{
                    "group.id": self._group,
                    "enable.auto.commit": False,
                    "auto.offset.reset": "latest",
                    "session.timeout.ms": _SESSION_MS,
                    "heartbeat.interval.ms": _SESSION_MS // 4,
                    # Whoever owns it keeps it when another one comes: a standby that begins must not move the links.
                    "partition.assignment.strategy": "cooperative-sticky",
                }
            )
        )

        def assigned(consumer: Consumer, partitions: list[TopicPartition]) -> None:
            consumer.incremental_assign(partitions)
            if partitions:
                consumer.pause(partitions)  # owning it is all that we want of it
                self._on_turn()

        line.subscribe([LINKS_TOPIC], on_assign=assigned)
        while not self._closing.is_set():
            line.poll(_POLL_S)
        line.close()

    def _commit(self, records: Sequence[Record]) -> int:
        if self._producer is None:
            raise NotActive(self._group, "this service does not run the links")
        reached: list[int] = []

        def done(error: KafkaError | None, message: Message) -> None:
            if error is None:
                reached.append(message.offset() or 0)

        try:
            self._producer.begin_transaction()
            for key, value in records:
                self._producer.produce(LINKS_TOPIC, value=value, key=key, partition=0, on_delivery=done)
            self._producer.commit_transaction(_WITHIN_S)
        except KafkaException as failure:
            error: KafkaError = failure.args[0]
            if error.code() in _SHUT_OUT or error.fatal():
                self._producer = None
                raise NotActive(self._group, "another service took the links over") from failure
            with contextlib.suppress(KafkaException):
                self._producer.abort_transaction(_WITHIN_S)
            raise translated(self.cluster, error) from failure
        return max(reached, default=-1)

    def _options(self, **more: Any) -> dict[str, Any]:
        return {**client_options(self._settings), **more}


__all__ = ["LinksTopic", "Record", "ensure_topics"]
