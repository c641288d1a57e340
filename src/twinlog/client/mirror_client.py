"""What arrives in a cluster from others, and where readers of the original continue in the copy. Runs in applications.

The methods are those of MirrorMaker 2's `MirrorClient` and `RemoteClusterUtils`, and they read its topics as well as
ours. Two things differ: a position is translated exactly where Twinlog's ledger knows it, and an answer is complete or
an error (MirrorMaker 2 gives a part of it when time runs out or a record cannot be read).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, overload

from twinlog.client.checkpoints import TranslatedOffset, group_positions
from twinlog.client.timestamps import TimestampTranslation, newest_timestamps
from twinlog.client.timestamps import translated as translated_by_time
from twinlog.config.client_properties import ClusterProperties
from twinlog.config.resolve import load_file
from twinlog.config.settings import ClientSettings, LinkSettings
from twinlog.config.text.precedence import Client
from twinlog.errors import LinkUnknown, TopicUnknown, UsageError
from twinlog.kafka.admin import ClusterAdmin
from twinlog.kafka.spans import read_topic
from twinlog.ledger.reading import look_at_ledger
from twinlog.model.groups.consumer_timestamps import TIMESTAMPS_TOPIC
from twinlog.model.ledger.translation import Translation, Untranslatable
from twinlog.model.mirrormaker.offset_syncs import SyncHistory
from twinlog.model.mirrormaker.records import NotReadable, OffsetSync
from twinlog.model.names import TopicPartition
from twinlog.model.naming import TOPIC, fits_format
from twinlog.model.routes.hops import replication_hops, upstream_clusters

T = TypeVar("T")
TIMEOUT_S = 30.0


@dataclass(frozen=True)
class _Cluster:
    """One cluster as it is reached from here."""

    admin: ClusterAdmin
    consumer: ClientSettings


class MirrorClient:
    """Asks the cluster into which links lead: their target.

    `properties` reach it, in Java's words or in librdkafka's, or they are a link of a settings file. The replication
    policy is told by MirrorMaker 2's keys (`replication.policy.class`, `replication.policy.separator`). `sources` reach
    the clusters at the other end, by alias; they are needed only where the source must be asked: for offset syncs that
    MirrorMaker 2 keeps there (then `alias`, the target's own alias, is needed too) and for consumer timestamps.

    Blocking, for one thread at a time. Every method answers within `timeout_s` or raises a TwinlogError that says why.
    """

    def __init__(
        self,
        properties: Mapping[str, object] | LinkSettings,
        *,
        alias: str | None = None,
        sources: Mapping[str, Mapping[str, object]] | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        """Nothing is connected yet. Raises SettingsInvalid."""
        self._timeout_s = timeout_s
        if isinstance(properties, LinkSettings):
            link = properties
            self._alias: str | None = link.target
            self._naming = link.naming
            self._target = _Cluster(ClusterAdmin(link.clients.target_admin), link.clients.target_consumer)
            self._sources = {
                link.source: _Cluster(ClusterAdmin(link.clients.source_admin), link.clients.source_consumer)
            }
            return
        words = ClusterProperties(properties, alias or "target")
        self._alias = alias or words.text("target.cluster.alias")
        self._naming = words.naming()
        self._target = _cluster(words)
        self._sources = {name: _cluster(ClusterProperties(source, name)) for name, source in (sources or {}).items()}

    @classmethod
    def of_file(cls, file: str | Path, link: str, *, timeout_s: float = TIMEOUT_S) -> MirrorClient:
        """Make a client for the target of a link, e.g. `east->west`, in a file that `twinlog run` uses."""
        links = {settings.name: settings for settings in load_file(Path(file)).links}
        if link not in links:
            raise LinkUnknown(link, str(file), ", ".join(links) or "none")
        return cls(links[link], timeout_s=timeout_s)

    # --- what arrives here ----------------------------------------------------------------------------------------

    def remote_topics(self, source: str | None = None) -> set[str]:
        """Topics that were copied from other clusters, or from one of them."""
        copied = {
            topic: origin
            for topic in self._topics()
            if not self._naming.is_internal(topic) and (origin := self._naming.topic_source(topic)) is not None
        }
        return {topic for topic, origin in copied.items() if source is None or origin == source}

    def heartbeat_topics(self) -> set[str]:
        """Heartbeats topics: this cluster's own and those that arrived."""
        return {topic for topic in self._topics() if self._naming.is_heartbeats(topic)}

    def checkpoint_topics(self) -> set[str]:
        """Topics with the positions of groups on other clusters."""
        return {topic for topic in self._topics() if self._naming.is_checkpoints(topic)}

    def upstream_clusters(self) -> set[str]:
        """Clusters from which something arrives here, over one link or several."""
        return upstream_clusters(self._topics(), self._naming)

    def replication_hops(self, alias: str) -> int | None:
        """Links between a cluster and this one, on the shortest way; None when nothing arrives from there."""
        return replication_hops(self._topics(), alias, self._naming)

    # --- positions ------------------------------------------------------------------------------------------------

    @overload
    def translate_offsets(self, group: str, source: str) -> dict[TopicPartition, TranslatedOffset]: ...
    @overload
    def translate_offsets(
        self, group: re.Pattern[str], source: str
    ) -> dict[str, dict[TopicPartition, TranslatedOffset]]: ...

    def translate_offsets(
        self, group: str | re.Pattern[str], source: str
    ) -> dict[TopicPartition, TranslatedOffset] | dict[str, dict[TopicPartition, TranslatedOffset]]:
        """Where a group of `source` continues here, from its checkpoints; by group for a pattern of names.

        Raises TopicUnknown when nobody writes checkpoints of that cluster here, RecordsUnreadable for a foreign record.
        """
        topic = self._naming.checkpoints_topic(source)
        try:
            logs = self._read(self._target, topic)
        except TopicUnknown:
            cluster = self._target.consumer.cluster
            known = ", ".join(sorted(self.checkpoint_topics())) or "none"
            problem = f"{topic}: no link from {source} writes checkpoints here; there are: {known}"
            raise TopicUnknown(cluster, problem) from None
        records = logs[TopicPartition(topic, 0)]
        if isinstance(group, str):
            return group_positions(records, self._target.consumer.cluster, topic, lambda name: name == group).get(
                group, {}
            )
        return group_positions(
            records, self._target.consumer.cluster, topic, lambda name: group.fullmatch(name) is not None
        )

    def translate(self, topic: str, partition: int, offset: int, source: str, *, reverse: bool = False) -> Translation:
        """Translate one position (the offset to read next) of a topic of `source`; `reverse`: of its copy, back.

        Exact where Twinlog's ledger knows it. Otherwise by MirrorMaker 2's offset syncs: `Exact` for an offset that has
        one, `AtOrBefore` between two, which skips nothing but may re-read. `Untranslatable` says why.
        """
        place = TopicPartition(self._original(topic) if reverse else topic, partition)
        by_ledger = self._by_ledger(place, offset, source, reverse=reverse)
        if not isinstance(by_ledger, Untranslatable):
            return by_ledger
        syncs, looked = self._syncs(place, source)
        if syncs is None:
            return Untranslatable(f"{place}: {by_ledger.reason}; {looked}")
        by_syncs = syncs.to_source(offset) if reverse else syncs.to_target(offset)
        if isinstance(by_syncs, Untranslatable):
            return Untranslatable(f"{place}: {by_ledger.reason}; {by_syncs.reason} in {looked}")
        return by_syncs

    def translate_by_timestamps(self, group: str, source: str) -> dict[TopicPartition, TimestampTranslation]:
        """Where a group continues here, from the times that its consumers wrote (see `ConsumerTimestamps`).

        Never behind an unread record; each answer says how many records may be read again.
        """
        if source not in self._sources:
            raise UsageError(f"{source}: its properties are needed to read {TIMESTAMPS_TOPIC}; give them as `sources`")
        here = self._sources[source]
        logs = self._read(here, TIMESTAMPS_TOPIC)
        stamps = newest_timestamps((r for records in logs.values() for r in records), group, here.consumer.cluster)
        return translated_by_time(stamps, source, self._naming, self._target.admin)

    # --- underneath -----------------------------------------------------------------------------------------------

    def _original(self, remote: str) -> str:
        """The name on the source of a topic that was copied."""
        form = self._naming.rename_format
        if form != TOPIC and fits_format(remote, form):
            before, _, after = form.partition(TOPIC)
            return remote[len(before) : len(remote) - len(after)]
        return self._naming.upstream_topic(remote) or remote

    def _topics(self) -> list[str]:
        return self._target.admin.list_topics()

    def _read(self, cluster: _Cluster, topic: str) -> dict[TopicPartition, Any]:
        return read_topic(cluster.admin, cluster.consumer, topic, within_s=self._timeout_s)

    def _by_ledger(self, place: TopicPartition, offset: int, source: str, *, reverse: bool) -> Translation:
        view = _finish(look_at_ledger(self._target.consumer, source, within_s=self._timeout_s, part=place))
        entry = view.roster.get(place.topic) if view else None
        if view is None:
            return Untranslatable(f"there is no ledger of a link from {source}")
        if entry is None:
            return Untranslatable("the ledger does not know the topic")
        known = view.map_of(place)
        if known is None:
            return Untranslatable("the ledger has nothing of this partition yet")
        return known.to_source(offset) if reverse else known.to_target(offset)

    def _syncs(self, place: TopicPartition, source: str) -> tuple[SyncHistory | None, str]:
        """The offset syncs of a partition, from whichever end has them, and where they were found or looked for."""
        looked: list[str] = []
        for cluster, topic in self._sync_topics(source):
            where = f"{topic} on {cluster.consumer.cluster}"
            looked.append(where)
            try:
                logs = self._read(cluster, topic)
            except TopicUnknown:
                continue
            history = SyncHistory()
            for record in logs[TopicPartition(topic, 0)]:
                try:
                    sync = OffsetSync.read(record.key, record.value)
                except NotReadable:
                    continue  # a pair less makes an answer coarser, never wrong
                if (sync.topic, sync.partition) == place:
                    history.add(sync.upstream, sync.downstream)
            if history.newest is not None:
                return history, where
        return None, f"no offset sync of it in {' or '.join(looked)}"

    def _sync_topics(self, source: str) -> list[tuple[_Cluster, str]]:
        """Where MirrorMaker 2 may keep them: on the target, or (its default) on the source."""
        places = [(self._target, self._naming.offset_syncs_topic(source))]
        if source in self._sources and self._alias is not None:
            places.append((self._sources[source], self._naming.offset_syncs_topic(self._alias)))
        return places


def _cluster(words: ClusterProperties) -> _Cluster:
    return _Cluster(ClusterAdmin(words.client(Client.ADMIN)), words.client(Client.CONSUMER))


def _finish(work: Coroutine[Any, Any, T]) -> T:
    """Run it in a thread of its own: the application may have a loop in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()
