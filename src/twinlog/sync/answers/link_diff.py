"""What differs between both ends of a link now: the answer of `twinlog diff`. Needs no running engine, changes nothing.

Looks with the eyes of the chores (topics, configs, deletions, ACLs) and decides by the same rules, so that it can
neither miss nor invent what they would do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field

from twinlog.config.link_values import ValuesMode
from twinlog.config.settings import LinkSettings
from twinlog.errors import AccessDenied, AuthorizerMissing, BrokerRefused, ClusterRightMissing, TopicUnknown
from twinlog.ledger.reading import look_at_ledger
from twinlog.ledger.view import LedgerView
from twinlog.model.access.acls import AclBinding
from twinlog.model.ledger.records import RosterTopic
from twinlog.model.selection import replicates
from twinlog.model.switch.fences import Fences
from twinlog.model.topics.findings import TargetConfigsUnreadable, TargetKeepsLess, TopicFinding
from twinlog.model.topics.link_diff import (
    Difference,
    Habits,
    Kind,
    LinkDiff,
    config_difference,
    shown,
    soon,
    topic_differences,
)
from twinlog.model.topics.target_topics import TopicFacts
from twinlog.model.wanted import Wanted
from twinlog.sync import acls, configs, deletions
from twinlog.sync.ends import LinkEnds
from twinlog.sync.scram_users import compared_users
from twinlog.sync.source_fences import SourceFences
from twinlog.sync.value_tables import GROUP_CONFIGS, QUOTAS, ValueKind, compared


async def read_roster(link: LinkSettings) -> LedgerView | None:
    """What the ledger says beside offsets: topics, notes and memos. None when no engine has ever run the link."""
    return await look_at_ledger(link.clients.target_consumer, link.source, part="roster")


def habits_of(link: LinkSettings) -> Habits:
    """What the link sees to by itself."""
    return Habits(
        topics_seconds=link.copies.refresh_seconds if link.copies.refresh_enabled else None,
        configs_seconds=link.configs.seconds if link.configs.enabled else None,
        acls_seconds=link.acls.seconds if link.acls.enabled else None,
        keeps_silently=link.configs.conflict == "keep",
    )


async def differences(ends: LinkEnds, wanted: Wanted) -> LinkDiff:
    """Compare both ends, for the source topics that are wanted. Raises SelectionEmpty when there are none."""
    view = await read_roster(ends.link)
    look = _Look(ends, wanted, view or LedgerView({}), await SourceFences(ends.link).look())
    if view is None:
        look.remarks.append(f"{ends.link.name}: no engine has ever run this link; start it with `twinlog run`")
    await asyncio.to_thread(look.at_topics)
    await look.at_acls()
    await look.at_values(QUOTAS, "quota", ends.link.logins.quotas)
    await look.at_values(GROUP_CONFIGS, "group config", ends.link.logins.group_configs)
    await look.at_users()
    return LinkDiff(ends.link.name, tuple(look.found), tuple(look.remarks), tuple(look.topics))


@dataclass
class _Look:
    """One look, gathering."""

    ends: LinkEnds
    wanted: Wanted
    view: LedgerView
    fences: Fences
    found: list[Difference] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    topics: list[str] = field(default_factory=list)

    def at_topics(self) -> None:
        """Topics, partitions, configs, deletions. Blocking."""
        facts = self._selected()
        remotes = {name: self.ends.link.naming.remote(self.ends.link.source, name) for name in facts}
        copies = self.ends.target.describe_topics(remotes.values())
        habits = habits_of(self.ends.link)
        both: list[RosterTopic] = []
        for name, fact in sorted(facts.items()):
            entry, answer = self.view.roster.get(name), copies[remotes[name]]
            target = answer if isinstance(answer, TopicFacts) else None
            told = target if target is not None or isinstance(answer, TopicUnknown) else str(answer)
            self.found += topic_differences(fact, remotes[name], told, entry, habits)
            if target is not None:
                both.append(_entry_for(fact, target, entry))
        self._compare_configs(both, habits)
        self._see_what_is_gone()

    def _selected(self) -> dict[str, TopicFacts]:
        link = self.ends.link
        selected = [
            name
            for name in self.ends.source.list_topics()
            if replicates(name, link.source, link.target, link.topics, link.naming)
        ]
        things = f"the topics that {link.name} mirrors"
        self.topics = self.wanted.among([*selected, *self.view.roster], things)
        names = [name for name in selected if self.wanted(name)]
        facts: dict[str, TopicFacts] = {}
        for name, answer in self.ends.source.describe_topics(names).items():
            if isinstance(answer, TopicFacts):
                facts[name] = answer
            elif not isinstance(answer, TopicUnknown):
                self.found.append(Difference("topic", name, name, "not to be seen", "unknown", str(answer)))
        return facts

    def _compare_configs(self, entries: Iterable[RosterTopic], habits: Habits) -> None:
        note = self.view.notes.get(configs.CHORE)
        memos = self.view.memos.get(configs.CHORE, {})
        for part in configs.judged_topics(self.ends, entries, memos, self.fences):
            for topic in part:
                refusals = _refusals(note.findings if note else (), topic.entry)
                told = [config_difference(topic.entry, verdict, refusals, habits) for verdict in topic.verdicts]
                self.found += [difference for difference in told if difference is not None]
                self.found += [_finding_difference(finding) for finding in topic.findings]

    def _see_what_is_gone(self) -> None:
        entries = [entry for entry in self.view.roster.values() if self.wanted(entry.topic)]
        if not entries:
            return
        # All of them: whether the source can be believed is seen from what is left.
        plan = deletions.planned_deletions(
            self.ends, self.view.roster.values(), self.view.memos.get(deletions.CHORE, {})
        )
        for entry in sorted(entries, key=lambda entry: entry.topic):
            side = "deleted" if entry.topic in plan.absences else "not to be seen"
            if entry.topic in plan.sentences:
                why = plan.sentences[entry.topic].removeprefix(f"{entry.topic}: ")
                self.found.append(Difference("deletion", entry.topic, entry.remote, side, "kept", why))
            elif entry.topic in plan.absences:
                self.remarks.append(f"{entry.topic}: {side} on the source, its copy stays: topic.deletion = ignore")
        if plan.refused:
            self.remarks.append(plan.refused)

    async def at_acls(self) -> None:
        """ACLs, unless they are none of the link's business."""
        link = self.ends.link
        if not link.acls.enabled:
            self.remarks.append("ACLs are not compared: sync.topic.acls.enabled = false")
            return
        try:
            memos = self.view.memos.get(acls.CHORE, {})
            plan = await acls.planned_acls(self.ends, set(self.view.roster), memos, self.fences)
        except AuthorizerMissing as missing:
            self.remarks.append(f"{missing.cluster}: has no authorizer, so there are no ACLs to compare")
            return
        except ClusterRightMissing as denied:
            self.found.append(Difference("acl", "all ACLs", "all ACLs", "unknown", "unknown", f"{denied}"))
            return
        later = soon(link.acls.seconds, "sync.topic.acls.enabled")
        remotes = {entry.remote for entry in self.view.roster.values() if self.wanted(entry.topic)}
        everything = self._everything()

        def of_interest(bindings: Iterable[AclBinding]) -> list[AclBinding]:
            return sorted(b for b in bindings if everything or (b.resource == "topic" and b.name in remotes))

        for binding in of_interest(plan.diff.create):
            self.found.append(Difference("acl", binding.name, str(binding), "granted", "missing", later))
        for binding in of_interest(plan.diff.remove):
            self.found.append(Difference("acl", binding.name, str(binding), "dropped", "still there", later))
        for sentence in plan.unknown:
            self.found.append(Difference("acl", sentence.split(":", 1)[0], sentence, "granted", "missing", "by hand"))
        if plan.diff.refused:
            self.remarks.append(plan.diff.refused)
        if plan.held_back:
            self.remarks.append(f"rights to write that wait for a failover: {len(plan.held_back)}")

    async def at_values(self, kind: ValueKind, word: Kind, mode: ValuesMode) -> None:
        """Client quotas or group configs, unless the settings leave them alone or only some topics are wanted."""
        if mode == "off" or not self._everything():
            return
        try:
            both = await compared(kind, self.ends, self.view.memos.get(kind.name, {}))
        except (AccessDenied, BrokerRefused) as refused:
            self.remarks.append(f"{refused}; or set {kind.setting} = off")
            return
        later = soon(self.ends.link.logins.seconds, kind.setting)
        for change in both.verdict.differences:
            if mode == "list":
                why = f"listed only; {kind.setting} = sync would set it"
            else:
                why = later if change in both.verdict.changes else "changed by hand on the target and kept"
            what = f"{change.owner} {change.key}"
            self.found.append(Difference(word, change.owner, what, shown(change.wish), shown(change.have), why))
        if both.refused:
            self.remarks.append(both.refused)

    async def at_users(self) -> None:
        """SCRAM users who could not log in on the target."""
        if self.ends.link.logins.scram_users == "off" or not self._everything():
            return
        try:
            _, missing = await compared_users(self.ends)
        except (AccessDenied, BrokerRefused) as refused:
            self.remarks.append(f"{refused}; or set sync.scram.users.mode = off")
            return
        for user in missing:
            why = "Kafka does not tell a user's key: create the user on the target with kafka-configs.sh"
            self.found.append(Difference("login", user.user, str(user), "can log in", "cannot log in", why))

    def _everything(self) -> bool:
        return all(self.wanted(entry.topic) for entry in self.view.roster.values())


def _entry_for(source: TopicFacts, target: TopicFacts, known: RosterTopic | None) -> RosterTopic:
    """The roster's entry while it is about these two topics; otherwise one that remembers nothing."""
    if known is not None and (known.source_id, known.target_id) == (source.topic_id, target.topic_id):
        return known
    return RosterTopic(
        topic=source.name, source_id=source.topic_id, remote=target.name, target_id=target.topic_id, origins=[]
    )


def _finding_difference(finding: TopicFinding) -> Difference:
    match finding:
        case TargetKeepsLess():
            what = f"{finding.remote} {finding.config}"
            why = "in force, but not a config of the topic itself; set it on the source topic to copy it"
            return Difference("config", finding.topic, what, str(finding.source_value), str(finding.target_value), why)
        case TargetConfigsUnreadable():
            return Difference("config", finding.topic, "all configs", "known", "unreadable", str(finding))
        case _:
            return Difference("config", finding.topic, "all configs", "unreadable", "known", str(finding))


def _refusals(findings: Iterable[str], entry: RosterTopic) -> dict[str, str]:
    """What the target answered when the engine last tried, by config."""
    begins = f"{entry.topic}: {entry.remote} refuses "
    told = (finding.removeprefix(begins) for finding in findings if finding.startswith(begins))
    return {sentence.split("=", 1)[0].split(" ", 1)[0]: f"refused: {sentence}" for sentence in told}
