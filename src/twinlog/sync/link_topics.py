"""Everything an engine asks of the clusters' metadata, for one link. Blocking; runs in the service's worker threads."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Final

from twinlog.config.settings import LinkSettings
from twinlog.errors import BrokerRefused, TakeOverRefused, TopicUnknown
from twinlog.kafka.admin import ClusterAdmin
from twinlog.logs.configs import fetch_configs
from twinlog.logs.ensure import ensure_logs
from twinlog.logs.topic import BROKER_TIME, LogTopic
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.ledger.records import RosterTopic, ledger_topic
from twinlog.model.ledger.roster import Origins, may_create
from twinlog.model.mirrormaker.takeover_decision import Fresh, Inherited, Refused, takeover_note
from twinlog.model.names import TopicPartition
from twinlog.model.routes.provenance import WRITERS_TOPIC, ClusterIds
from twinlog.model.selection import replicates
from twinlog.model.start import Earliest
from twinlog.model.topics.target_topics import Roster
from twinlog.sync.beginnings import fetch_beginnings
from twinlog.sync.mirrormaker_takeover import MirrorMakerTakeover
from twinlog.sync.registry_copy import RegistryCopy
from twinlog.sync.topics import TopicSync

LEDGER_CONFIGS: Final = {
    **BROKER_TIME,
    "cleanup.policy": "compact",
    # States are rewritten every second: small segments and an eager cleaner keep the ledger small enough to re-read.
    "segment.bytes": "1048576",
    "segment.ms": "600000",
    "segment.index.bytes": "65536",
    "min.cleanable.dirty.ratio": "0.2",
    # A roster entry names every partition of its topic; all else is split into batches of half a megabyte.
    "max.message.bytes": "8388608",
}
_LEAST_MESSAGE_BYTES: Final = 1_000_000
_WRITERS: Final = LogTopic(WRITERS_TOPIC, LEDGER_CONFIGS)


class LinkTopics:
    """The metadata side of one link."""

    def __init__(self, link: LinkSettings, source: ClusterAdmin, target: ClusterAdmin) -> None:
        """Use the two admins of the link; nothing is asked yet."""
        self._link = link
        self._source = source
        self._target = target
        self._sync = TopicSync(link, source, target)
        self._takeover = MirrorMakerTakeover(link, source, target)
        self._registry = RegistryCopy(link)

    def ensure_ledger(self) -> int:
        """Create our topics unless they are there; returns the ledger's shards, which were fixed when it was made."""
        ledger = LogTopic(ledger_topic(self._link.source), LEDGER_CONFIGS, 1 + self._link.writing.ledger_shards)
        known = ensure_logs(self._target, self._link.copies.replication_factor, _WRITERS, ledger)
        self._require_room(ledger.name)
        return known[ledger.name].partitions - 1

    def _require_room(self, name: str) -> None:
        """A ledger that takes no batch of ours would end every task; one that we may not ask about is tried."""
        configs = fetch_configs(self._target, name) or {}
        limit = int(configs.get("max.message.bytes") or _LEAST_MESSAGE_BYTES)
        if limit < _LEAST_MESSAGE_BYTES:
            wanted = f"set it to at least {_LEAST_MESSAGE_BYTES}"
            raise BrokerRefused(self._link.target, f"{name}: max.message.bytes is {limit}: {wanted}")

    def cluster_ids(self) -> ClusterIds:
        """Ask both clusters for the ids they were formatted with."""
        return ClusterIds(self._source.fetch_cluster_id(), self._target.fetch_cluster_id())

    def observe(self, known: Mapping[str, RosterTopic]) -> Roster:
        """One cycle of topic sync. A target topic that an operator deleted is not recreated."""
        roster = self._sync.step(lambda name, source_id: may_create(known, name, source_id))
        roster = dataclasses.replace(roster, halted=self._registry.halted(roster, known))
        told = {*roster.topics, *roster.unseen}
        missing = [name for name in known if name not in told and self.selected(name)]
        if not missing:
            return roster
        # A listing leaves out what we may not see. Only an answer about the name itself tells that it is gone.
        answers = self._source.describe_topics(missing)
        gone = [name for name in missing if isinstance(answers[name], TopicUnknown)]
        hidden = {name: str(answer) for name, answer in answers.items() if not isinstance(answer, TopicUnknown)}
        copies = self._target.describe_topics(known[name].remote for name in gone)
        vanished = frozenset(name for name in gone if isinstance(copies[known[name].remote], TopicUnknown))
        return dataclasses.replace(roster, unseen={**roster.unseen, **hidden}, vanished=vanished)

    def origins(self, partitions: list[TopicPartition], *, first_time: bool) -> Origins:
        """Where to begin: behind MirrorMaker 2, where it copied the topic before; otherwise by `start.from`."""
        decisions = self._takeover.decide(partitions, wait=first_time)
        at = self._beginnings([p for p, d in decisions.items() if isinstance(d, Fresh)], first_time=first_time)
        at |= {p: d.resume for p, d in decisions.items() if isinstance(d, Inherited)}
        refused = {
            p.topic: TakeOverRefused(*p, d.last, d.problem) for p, d in decisions.items() if isinstance(d, Refused)
        }
        return Origins(at, refused, takeover_note(decisions, SYSTEM_CLOCK.now_ms()))

    def _beginnings(self, partitions: list[TopicPartition], *, first_time: bool) -> dict[TopicPartition, int]:
        """`start.from` is for what existed when the link was new; what appears later is read whole."""
        schemas = [p for p in partitions if p.topic in self._link.registry.topics]
        others = [p for p in partitions if p not in schemas]
        # A registry without its first schemas is none: they are copied whole, whatever `start.from` says.
        start = self._link.copies.start_from if first_time else Earliest()
        source, alias = self._source, self._link.source
        return fetch_beginnings(source, alias, start, others) | fetch_beginnings(source, alias, Earliest(), schemas)

    def selected(self, topic: str) -> bool:
        """Whether the settings want this topic."""
        link = self._link
        return replicates(topic, link.source, link.target, link.topics, link.naming)
