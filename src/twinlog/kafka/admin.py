"""Questions and orders to a cluster about its topics, through confluent-kafka's admin client.

Runs in the service and on the driver, in any thread. Every call is batched (a thousand topics are a few requests) and
ends within the request timeout of the settings, by an answer or by an error of ours. Calls about many things answer
per thing, so that one refused topic says nothing about the others (R8); an unreachable cluster raises.
"""

from __future__ import annotations

import base64
import contextlib
import time
import uuid
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass
from typing import Any, TypeVar

from confluent_kafka import OFFSET_INVALID, IsolationLevel, KafkaError, KafkaException, TopicCollection
from confluent_kafka import TopicPartition as ForeignPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
    TopicDescription,
)

from twinlog.config.settings import ClientSettings
from twinlog.errors import (
    BrokerRefused,
    ClusterError,
    ClusterUnreachable,
    LeaderMissing,
    LoginUnavailable,
    TopicUnknown,
)
from twinlog.kafka.client_options import client_options
from twinlog.kafka.foreign_errors import denies_access, lacks_token, translated
from twinlog.model.names import NextOffset, TopicPartition
from twinlog.model.topics.configs import ConfigOrigin, TopicConfig
from twinlog.model.topics.target_topics import TopicFacts

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

# Requests stay below a few megabytes, also for topics with long names and many configs.
_TOPICS_PER_REQUEST = 500
_PARTITIONS_PER_REQUEST = 10_000
# How often a waiting call looks whether the client has meanwhile been refused.
_GLANCE_S = 0.1
# A client that had no token tries again by itself; a call after that gives it this long.
_TOKEN_LIMIT_S = 2.0
# All brokers may be away for a moment, as in a restart; whoever waits longer wants to know.
_AWAY_S = 7.0
# Most requests go to the controller. The client waits for the one that it knows and does not ask who is it now.
_CONTROLLER_S = 3.0
# The client's own timer answers first; this only keeps a bug in it from hanging a loop for ever.
_GRACE_S = 5.0
# A leader that changed is found again in a moment; a partition that stays without one must not hold all others up.
_ELECTION_S = 3.0
_FEW_TOPICS = 10

_ORIGINS = {
    ConfigSource.DYNAMIC_TOPIC_CONFIG.value: ConfigOrigin.TOPIC,
    ConfigSource.DYNAMIC_BROKER_CONFIG.value: ConfigOrigin.DYNAMIC_BROKER,
    ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG.value: ConfigOrigin.DYNAMIC_DEFAULT_BROKER,
    ConfigSource.STATIC_BROKER_CONFIG.value: ConfigOrigin.STATIC_BROKER,
    ConfigSource.DEFAULT_CONFIG.value: ConfigOrigin.DEFAULT,
}


@dataclass(frozen=True, slots=True)
class TopicOrder:
    """A topic to create. A replication factor of -1 is the broker's default."""

    name: str
    partitions: int
    replication_factor: int
    configs: Mapping[str, str]


class ClusterAdmin:
    """One cluster's admin client. Cheap to keep, thread-safe, reconnects by itself."""

    def __init__(self, settings: ClientSettings) -> None:
        """Nothing is sent yet."""
        self.cluster = settings.cluster
        self._timeout_s = settings.request_timeout_ms / 1000
        self._complaint: KafkaError | None = None
        self._no_token: KafkaError | None = None
        self._all_away: KafkaError | None = None
        self._greeted = False
        options: dict[str, Any] = {**client_options(settings), "error_cb": self._note_complaint}
        try:
            self._client = AdminClient(options)
        except KafkaException as error:
            # Nothing was sent: the client itself cannot do what the settings ask, which is GSSAPI in most builds.
            raise LoginUnavailable(self.cluster, error.args[0].str()) from error

    # --- asking ---------------------------------------------------------------------------------------------------

    def fetch_cluster_id(self) -> str:
        """Ask for the id that the cluster was formatted with."""
        self._forget_complaints()
        future = self._client.describe_cluster(request_timeout=self._timeout_s)
        answer = self._gathered({self.cluster: future})[self.cluster]
        if isinstance(answer, ClusterError):
            raise answer
        self._greeted = True
        return str(answer.cluster_id)

    def list_topics(self) -> list[str]:
        """List the names of all topics we may describe, Kafka's own ones included, sorted."""
        if not self._greeted or self._all_away is not None:
            # The listing below blocks until its time-out when the cluster is away or refuses us; this call does not.
            self.fetch_cluster_id()
        self._forget_complaints()
        try:
            return sorted(self._client.list_topics(timeout=self._timeout_s).topics)
        except KafkaException as error:
            raise self._own(error) from error

    def describe_topics(self, names: Iterable[str]) -> dict[str, TopicFacts | ClusterError]:
        """Ask for the facts of each topic; TopicUnknown for the ones it does not have."""
        answers: dict[str, TopicFacts | ClusterError] = {}
        for part in _batches(names, _TOPICS_PER_REQUEST):
            self._forget_complaints()
            futures = self._client.describe_topics(TopicCollection(list(part)), request_timeout=self._timeout_s)
            for name, answer in self._gathered(futures).items():
                answers[name] = answer if isinstance(answer, ClusterError) else _facts(answer)
        return answers

    def fetch_topic_configs(self, names: Iterable[str]) -> dict[str, tuple[TopicConfig, ...] | ClusterError]:
        """Ask for all configs in force for each topic, whoever set them."""
        answers: dict[str, tuple[TopicConfig, ...] | ClusterError] = {}
        for part in _batches(names, _TOPICS_PER_REQUEST):
            self._forget_complaints()
            resources = [ConfigResource(ResourceType.TOPIC, name) for name in part]
            futures = self._client.describe_configs(resources, request_timeout=self._timeout_s)
            for resource, answer in self._gathered(futures).items():
                answers[resource.name] = answer if isinstance(answer, ClusterError) else _configs(answer)
        return answers

    def fetch_start_offsets(
        self, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, NextOffset | ClusterError]:
        """Ask where each log begins."""
        return self._offsets(partitions, OffsetSpec.earliest())  # type: ignore[no-untyped-call]

    def fetch_end_offsets(
        self, partitions: Iterable[TopicPartition], *, committed: bool = False
    ) -> dict[TopicPartition, NextOffset | ClusterError]:
        """Ask where each log ends: the high watermark, or with `committed` the start of the oldest open transaction."""
        return self._offsets(partitions, OffsetSpec.latest(), committed=committed)  # type: ignore[no-untyped-call]

    def fetch_offsets_at(
        self, partitions: Iterable[TopicPartition], timestamp_ms: int
    ) -> dict[TopicPartition, NextOffset | ClusterError]:
        """Ask for the first record of that time or later in each log; its end where there is none."""
        wanted = list(partitions)
        # The ends are read first: a record that arrives between the two questions lies behind the end we fall back
        # to, so it is read. In the other order it would be skipped (R1).
        ends = self.fetch_end_offsets(wanted)
        offsets = self._offsets(wanted, OffsetSpec.for_timestamp(timestamp_ms))
        return {
            partition: ends[partition] if isinstance(offset, int) and offset < 0 else offset
            for partition, offset in offsets.items()
        }

    # --- ordering -------------------------------------------------------------------------------------------------

    def create_topics(
        self, orders: Iterable[TopicOrder], *, validate_only: bool = False
    ) -> dict[str, ClusterError | None]:
        """Create topics with their configs in the same request; None where it was done (or would be)."""
        answers: dict[str, ClusterError | None] = {}
        by_name = {order.name: order for order in orders}
        for part in _batches(by_name, _TOPICS_PER_REQUEST):
            self._forget_complaints()
            topics = [_new_topic(by_name[name]) for name in part]
            futures = self._client.create_topics(
                topics, request_timeout=self._timeout_s, operation_timeout=self._timeout_s, validate_only=validate_only
            )
            answers.update(_outcomes(self._gathered(futures)))
        return answers

    def create_partitions(self, totals: Mapping[str, int]) -> dict[str, ClusterError | None]:
        """Grow topics to the given number of partitions; None where it was done."""
        answers: dict[str, ClusterError | None] = {}
        for part in _batches(totals, _TOPICS_PER_REQUEST):
            self._forget_complaints()
            futures = self._client.create_partitions(
                [NewPartitions(name, totals[name]) for name in part],
                request_timeout=self._timeout_s,
                operation_timeout=self._timeout_s,
            )
            answers.update(_outcomes(self._gathered(futures)))
        return answers

    def apply_topic_configs(self, changes: Mapping[str, Mapping[str, str | None]]) -> dict[str, ClusterError | None]:
        """Set (or with None: unset) single configs of topics and leave the others alone; None where it was done."""
        answers: dict[str, ClusterError | None] = {}
        for part in _batches(changes, _TOPICS_PER_REQUEST):
            self._forget_complaints()
            resources = [
                ConfigResource(ResourceType.TOPIC, name, incremental_configs=_alterations(changes[name]))
                for name in part
            ]
            futures = self._client.incremental_alter_configs(resources, request_timeout=self._timeout_s)
            gathered = {resource.name: answer for resource, answer in self._gathered(futures).items()}
            answers.update(_outcomes(gathered))
        return answers

    def delete_topics(self, names: Iterable[str]) -> dict[str, ClusterError | None]:
        """Delete topics with all they hold; None where it was done."""
        answers: dict[str, ClusterError | None] = {}
        for part in _batches(names, _TOPICS_PER_REQUEST):
            self._forget_complaints()
            futures = self._client.delete_topics(
                list(part), request_timeout=self._timeout_s, operation_timeout=self._timeout_s
            )
            answers.update(_outcomes(self._gathered(futures)))
        return answers

    def ask(self, question: Callable[[AdminClient, float], Mapping[K, Future[Any]]]) -> dict[K, Any]:
        """Ask or order anything else (see acls): `question` gets the client and the time-out, the answers are ours."""
        self._forget_complaints()
        return self._gathered(question(self._client, self._timeout_s))

    # --- underneath -----------------------------------------------------------------------------------------------

    def _offsets(
        self, partitions: Iterable[TopicPartition], spec: OffsetSpec, *, committed: bool = False
    ) -> dict[TopicPartition, NextOffset | ClusterError]:
        """Ask, and once more where the leader just changed or the topic is younger than what the client remembers."""
        deadline = time.monotonic() + _ELECTION_S
        answers = self._offsets_now(partitions, spec, committed=committed)
        if forgotten := [where for where, answer in answers.items() if _is_forgotten(answer)]:
            there = self.describe_topics({where.topic for where in forgotten})
            answers |= {
                where: unknown for where in forgotten if isinstance(unknown := there[where.topic], TopicUnknown)
            }
            young = [where for where in forgotten if not isinstance(there[where.topic], ClusterError)]
            answers |= self._offsets_now(young, spec, committed=committed)
        while changed := [where for where, answer in answers.items() if isinstance(answer, LeaderMissing)]:
            if time.monotonic() > deadline:
                break
            time.sleep(_GLANCE_S)
            self._look_up_leaders({where.topic for where in changed})
            answers |= self._offsets_now(changed, spec, committed=committed)
        return answers

    def _look_up_leaders(self, topics: Collection[str]) -> None:
        """Let the client ask who leads. By itself it asks for offsets with the leader epoch that it remembers.

        After a restart of all brokers that epoch is too old, every answer is FENCED_LEADER_EPOCH, and it stays so.
        """
        for topic in topics if len(topics) <= _FEW_TOPICS else (None,):
            try:
                self._client.list_topics(*filter(None, [topic]), timeout=_GLANCE_S * 10)
            except KafkaException:
                return  # the answers say what is wrong

    def _offsets_now(
        self, partitions: Iterable[TopicPartition], spec: OffsetSpec, *, committed: bool
    ) -> dict[TopicPartition, NextOffset | ClusterError]:
        level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
        answers: dict[TopicPartition, NextOffset | ClusterError] = {}
        for part in _batches(partitions, _PARTITIONS_PER_REQUEST):
            self._forget_complaints()
            futures = self._client.list_offsets(
                {ForeignPartition(topic, partition): spec for topic, partition in part},
                isolation_level=level,
                request_timeout=self._timeout_s,
            )
            for foreign, answer in self._gathered(futures).items():
                partition = TopicPartition(foreign.topic, foreign.partition)
                answers[partition] = self._offset(partition, answer)
        return answers

    def _offset(self, partition: TopicPartition, answer: Any) -> NextOffset | ClusterError:
        if isinstance(answer, ClusterError):
            return answer
        if answer.offset == OFFSET_INVALID:
            # A leader that died while it was asked: librdkafka calls that an answer.
            return ClusterUnreachable(self.cluster, f"the leader of {partition} gave no answer")
        return NextOffset(answer.offset)

    def _gathered(self, futures: Mapping[K, Future[Any]]) -> dict[K, Any]:
        """Wait for all, then give the answer or our error for each key."""
        pending = set(futures.values())
        began = time.monotonic()
        deadline = began + self._timeout_s + _GRACE_S
        asked = began
        while pending:
            _, pending = wait(pending, timeout=_GLANCE_S)
            if not pending:
                break
            self._client.poll(0)
            if self._complaint is not None and denies_access(self._complaint):
                raise translated(self.cluster, self._complaint)
            if self._no_token is not None and time.monotonic() > began + _TOKEN_LIMIT_S:
                raise translated(self.cluster, self._no_token)
            if self._all_away is not None and time.monotonic() > began + _AWAY_S:
                raise translated(self.cluster, self._all_away)
            if time.monotonic() > deadline:
                raise ClusterUnreachable(self.cluster, f"no answer within {self._timeout_s + _GRACE_S:.0f} s")
            if time.monotonic() > asked + _CONTROLLER_S:
                self._ask_for_controller()
                asked = time.monotonic()
        answers: dict[K, Any] = {}
        for key, future in futures.items():
            try:
                answers[key] = future.result()
                self._no_token = self._all_away = None
            except KafkaException as error:
                answer = self._own(error)
                if isinstance(answer, ClusterUnreachable):
                    raise answer from error
                answers[key] = answer
        return answers

    def _ask_for_controller(self) -> None:
        """Ask any broker which one is the controller now: requests that wait for a dead one go to the new one."""
        with contextlib.suppress(KafkaException):  # who waits hears why from its own request
            self._client.list_topics(timeout=_CONTROLLER_S)

    def _own(self, error: KafkaException) -> ClusterError:
        self._client.poll(0)
        return translated(self.cluster, error.args[0], self._complaint or self._no_token)

    def _note_complaint(self, error: KafkaError) -> None:
        # "All brokers are down" follows every real reason and would cover it.
        if error.code() != KafkaError._ALL_BROKERS_DOWN:  # noqa: SLF001 (its own codes are spelled like this)
            self._complaint = error
        else:
            # Said once for an outage, and nothing is said of its end: it holds until something is answered.
            self._all_away = self._complaint or error
        if lacks_token(error):
            # Said only once for as long as the reason is the same: it holds until something is answered.
            self._no_token = error

    def _forget_complaints(self) -> None:
        """Serve what the background threads reported since the last call: it explains nothing that comes now."""
        self._client.poll(0)
        self._complaint = None


def _is_forgotten(answer: Any) -> bool:
    """Whether the client, not the cluster, says that it knows no leader.

    A client that was asked about a topic before it was created may remember for ever that there is none: it looks
    again only when its knowledge of other topics is old, too. To describe the topic renews what it remembers.
    """
    return isinstance(answer, BrokerRefused) and answer.problem.startswith("_NOENT")


def _batches(things: Iterable[K], size: int) -> Iterator[Sequence[K]]:
    # A name asked for twice is refused by the client before anything is sent.
    unique = list(dict.fromkeys(things))
    for begin in range(0, len(unique), size):
        yield unique[begin : begin + size]


def _outcomes(gathered: Mapping[K, object]) -> dict[K, ClusterError | None]:
    return {key: answer if isinstance(answer, ClusterError) else None for key, answer in gathered.items()}


def _new_topic(order: TopicOrder) -> NewTopic:
    return NewTopic(order.name, order.partitions, order.replication_factor, config=dict(order.configs))


def _facts(topic: TopicDescription) -> TopicFacts:
    return TopicFacts(
        name=topic.name,
        topic_id=_topic_id(topic),
        partitions=len(topic.partitions),
        replication_factor=max((len(partition.replicas) for partition in topic.partitions), default=0),
        internal=bool(topic.is_internal),
    )


def _topic_id(topic: TopicDescription) -> str:
    # The client prints ids in base64; the wire room, which compares them with ours, in the usual groups of hex digits.
    return str(uuid.UUID(bytes=base64.b64decode(f"{topic.topic_id}==")))


def _configs(entries: Mapping[str, ConfigEntry]) -> tuple[TopicConfig, ...]:
    return tuple(
        TopicConfig(
            name=entry.name,
            value=entry.value,
            # The client leaves the number of the enum here, not the enum.
            origin=_ORIGINS.get(_number(entry.source), ConfigOrigin.OTHER),
            read_only=entry.is_read_only,
            sensitive=entry.is_sensitive,
        )
        for entry in entries.values()
    )


def _number(source: ConfigSource | int) -> int:
    return int(source.value) if isinstance(source, ConfigSource) else source


def _alterations(changes: Mapping[str, str | None]) -> list[ConfigEntry]:
    return [
        ConfigEntry(
            name,
            value,
            incremental_operation=AlterConfigOpType.DELETE if value is None else AlterConfigOpType.SET,
        )
        for name, value in changes.items()
    ]
