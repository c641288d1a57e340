"""Target topics kept in sync with the source: creation and growth. One cycle per call, in the service's loop thread.

    list, select, describe ── both ends ──> diff_topics ──> create, grow ──> describe again ──> Roster

Nothing is deleted or shrunk here. What the target refuses is recorded with its topic and tried again next cycle; the
other topics continue (R8).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable
from typing import assert_never

from twinlog.config.settings import LinkSettings
from twinlog.errors import ClusterError, TopicNameInvalid, TopicUnknown
from twinlog.kafka.admin import ClusterAdmin
from twinlog.model.selection import replicates
from twinlog.model.topics.configs import TopicConfig
from twinlog.model.topics.findings import (
    RETENTION,
    ConfigNotSynced,
    CreateRefused,
    GrowthRefused,
    TargetKeepsLess,
    TopicFinding,
)
from twinlog.model.topics.target_topics import (
    MAX_MESSAGE_BYTES,
    TIMESTAMP_TYPE,
    AddPartitions,
    CreateTopic,
    MirroredTopic,
    Roster,
    SourceTopic,
    TargetTopic,
    TopicFacts,
    TopicRules,
    Unreadable,
    diff_topics,
    findings_about,
)
from twinlog.sync.config_orders import config_rules
from twinlog.sync.topic_orders import TopicOrders

# A broker answers from its own copy of the metadata, which follows the controller's within milliseconds when all is
# well. Whatever is not visible after this long is simply found by the next cycle.
_VISIBLE_WITHIN_S = 5.0
_LOOK_AGAIN_S = 0.05
# Reading the configs of a thousand topics costs most of a second, so a cycle renews only the oldest answers.
_CONFIGS_PER_CYCLE = 200
_CONFIGS_OF_INTEREST = frozenset({TIMESTAMP_TYPE, MAX_MESSAGE_BYTES, *RETENTION})


class TopicSync:
    """The topics of one link. Holds nothing that cannot be observed again, but for what creation left out."""

    def __init__(self, link: LinkSettings, source: ClusterAdmin, target: ClusterAdmin) -> None:
        """Use the two admins of the link; nothing is asked yet."""
        self._link = link
        self._source = source
        self._target = target
        self._rules = TopicRules(link.source, link.copies.replication_factor, config_rules(link))
        self._configs = _ConfigMemory(target)
        # By the id of the target topic: a recreated one starts with a clean slate.
        self._left_out: dict[str, tuple[TopicFinding, ...]] = {}
        self._created: dict[str, dict[str, str]] = {}  # by name, until the target shows it
        self._created_with: dict[str, dict[str, str]] = {}  # by id

    def step(self, may_create: Callable[[str, str], bool] = lambda _name, _source_id: True) -> Roster:
        """Run one cycle. A missing target topic is created only if `may_create(source name, source id)`.

        Raises ClusterUnreachable or AccessDenied when a whole cluster does not serve us.
        """
        facts, unseen = self._fetch_selected()
        remotes = {name: self._link.naming.remote(self._link.source, name) for name in facts}
        target_facts, hidden = self._fetch_existing(remotes.values())
        sources = self._with_configs(facts, [name for name in facts if remotes[name] not in target_facts])

        diff = diff_topics(sources, self._targets(target_facts), self._link.naming, self._rules)
        orders = TopicOrders(self._target)
        for change in diff.changes:
            match change:
                case CreateTopic() if not may_create(change.topic, facts[change.topic].topic_id):
                    continue
                case CreateTopic() if change.remote in hidden:
                    orders.findings.append(CreateRefused(change.topic, change.remote, hidden[change.remote]))
                case CreateTopic():
                    orders.create(change)
                case AddPartitions():
                    orders.grow(change)
                case _:
                    assert_never(change)
        done = orders.apply()
        self._created |= orders.created
        if done:
            target_facts = self._fetch_visible(target_facts, done, remotes.values())

        targets = self._targets(target_facts)
        refused = [finding for finding in diff.findings if isinstance(finding, CreateRefused)]
        troubles = _by_topic([*orders.findings, *refused])
        topics = {}
        for source in sources:
            target = targets.get(remotes[source.name])
            findings = self._findings(source, target, troubles.get(source.name, []))
            made = None if target is None else self._made_with(target)
            topics[source.name] = _mirrored(source, remotes[source.name], target, findings, made)
        self._forget_deleted(targets)
        return Roster(topics, unseen)

    # --- observe --------------------------------------------------------------------------------------------------

    def _fetch_selected(self) -> tuple[dict[str, TopicFacts], dict[str, str]]:
        link = self._link
        names = [
            name
            for name in self._source.list_topics()
            if replicates(name, link.source, link.target, link.topics, link.naming)
        ]
        facts: dict[str, TopicFacts] = {}
        unseen: dict[str, str] = {}
        for name, answer in self._source.describe_topics(names).items():
            match answer:
                case TopicFacts():
                    facts[name] = answer
                case TopicUnknown():
                    pass  # deleted since it was listed
                case _:
                    unseen[name] = str(answer)
        return facts, unseen

    def _fetch_existing(self, remotes: Iterable[str]) -> tuple[dict[str, TopicFacts], dict[str, str]]:
        """Ask for the facts, and for the names about which the target says neither what they are nor that they are not.

        Those must not be created: the answer would be "exists already" for ever.
        """
        facts: dict[str, TopicFacts] = {}
        hidden: dict[str, str] = {}
        for name, answer in self._target.describe_topics(remotes).items():
            match answer:
                case TopicFacts():
                    facts[name] = answer
                case TopicUnknown() | TopicNameInvalid():
                    pass  # the attempt to create it gets the better sentence
                case _:
                    hidden[name] = str(answer)
        return facts, hidden

    def _with_configs(self, facts: dict[str, TopicFacts], new: Collection[str]) -> list[SourceTopic]:
        configs = self._source.fetch_topic_configs(new)
        sources = []
        for name, fact in facts.items():
            answer = configs.get(name, Unreadable("not asked for"))
            known: tuple[TopicConfig, ...] | Unreadable = (
                Unreadable(str(answer)) if isinstance(answer, ClusterError) else answer
            )
            sources.append(SourceTopic(name, fact.topic_id, fact.partitions, known))
        return sources

    def _targets(self, facts: dict[str, TopicFacts]) -> dict[str, TargetTopic]:
        configs = self._configs.fetch(facts.values())
        return {
            name: TargetTopic(name, fact.topic_id, fact.partitions, configs[fact.topic_id])
            for name, fact in facts.items()
        }

    def _fetch_visible(
        self, before: dict[str, TopicFacts], wanted: dict[str, int], remotes: Collection[str]
    ) -> dict[str, TopicFacts]:
        """Look until the target shows what it just agreed to."""
        give_up = time.monotonic() + _VISIBLE_WITHIN_S
        missing = dict(wanted)
        seen = dict(before)
        while True:
            facts, _ = self._fetch_existing(missing)
            seen.update(facts)
            missing = {name: n for name, n in missing.items() if name not in seen or seen[name].partitions < n}
            if not missing or time.monotonic() > give_up:
                return {name: seen[name] for name in remotes if name in seen}
            time.sleep(_LOOK_AGAIN_S)

    # --- report ---------------------------------------------------------------------------------------------------

    def _findings(
        self, source: SourceTopic, target: TargetTopic | None, troubles: list[TopicFinding]
    ) -> tuple[TopicFinding, ...]:
        if target is None:
            return tuple(troubles)
        left_out = [trouble for trouble in troubles if isinstance(trouble, ConfigNotSynced)]
        passing = [trouble for trouble in troubles if isinstance(trouble, GrowthRefused)]
        observed = findings_about(source, target)
        if not isinstance(source.configs, Unreadable):
            # The one cycle in which the source's configs are known; later ones report from here (R13).
            kept_less = [finding for finding in observed if isinstance(finding, TargetKeepsLess)]
            self._left_out[target.topic_id] = (*left_out, *kept_less)
            observed = [finding for finding in observed if not isinstance(finding, TargetKeepsLess)]
        return (*passing, *self._left_out.get(target.topic_id, ()), *observed)

    def _made_with(self, target: TargetTopic) -> dict[str, str] | None:
        if target.name in self._created:
            self._created_with[target.topic_id] = self._created.pop(target.name)
        return self._created_with.get(target.topic_id)

    def _forget_deleted(self, targets: dict[str, TargetTopic]) -> None:
        alive = {target.topic_id for target in targets.values()}
        self._left_out = {key: findings for key, findings in self._left_out.items() if key in alive}
        self._created_with = {key: configs for key, configs in self._created_with.items() if key in alive}
        self._configs.forget_all_but(alive)


class _ConfigMemory:
    """The target's configs that we need, by topic id, renewed a slice per cycle."""

    def __init__(self, target: ClusterAdmin) -> None:
        self._target = target
        # Insertion order is age: an answer that is renewed moves to the end.
        self._known: dict[str, dict[str, str | None] | Unreadable] = {}

    def fetch(self, topics: Iterable[TopicFacts]) -> dict[str, dict[str, str | None] | Unreadable]:
        names = {topic.topic_id: topic.name for topic in topics}
        oldest = [topic_id for topic_id in self._known if topic_id in names][:_CONFIGS_PER_CYCLE]
        asked = [topic_id for topic_id in names if topic_id not in self._known] + oldest
        answers = self._target.fetch_topic_configs(names[topic_id] for topic_id in asked)
        for topic_id in asked:
            self._known.pop(topic_id, None)
            answer = answers[names[topic_id]]
            self._known[topic_id] = (
                Unreadable(str(answer))
                if isinstance(answer, ClusterError)
                else {config.name: config.value for config in answer if config.name in _CONFIGS_OF_INTEREST}
            )
        return {topic_id: self._known[topic_id] for topic_id in names}

    def forget_all_but(self, alive: Collection[str]) -> None:
        self._known = {topic_id: configs for topic_id, configs in self._known.items() if topic_id in alive}


def _by_topic(findings: Iterable[TopicFinding]) -> dict[str, list[TopicFinding]]:
    sorted_out: dict[str, list[TopicFinding]] = {}
    for finding in findings:
        sorted_out.setdefault(finding.topic, []).append(finding)
    return sorted_out


def _mirrored(
    source: SourceTopic,
    remote: str,
    target: TargetTopic | None,
    findings: tuple[TopicFinding, ...],
    created_with: dict[str, str] | None,
) -> MirroredTopic:
    if target is None:
        return MirroredTopic(source.name, source.topic_id, source.partitions, remote, findings=findings)
    limit = target.effective(MAX_MESSAGE_BYTES)
    return MirroredTopic(
        name=source.name,
        topic_id=source.topic_id,
        partitions=source.partitions,
        remote=remote,
        remote_topic_id=target.topic_id,
        remote_partitions=target.partitions,
        remote_timestamp_type=target.effective(TIMESTAMP_TYPE),
        remote_max_message_bytes=None if limit is None else int(limit),
        findings=findings,
        created_with=created_with,
    )
