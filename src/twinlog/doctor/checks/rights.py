"""Checks whether the link has the rights that it needs, on both sides. It asks the clusters and tries nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from twinlog.doctor.answers import Answer, CannotTell, Check, fail, known, named, ok, warn
from twinlog.doctor.facts import EndFacts, Facts
from twinlog.errors import AccessDenied, ClusterError, TopicUnknown
from twinlog.model.health.inspection import TopicFacts, Unknown

_THEME = "rights"
_TOOL_WORDS: Final = {
    "DESCRIBE_CONFIGS": "DescribeConfigs",
    "ALTER_CONFIGS": "AlterConfigs",
    "CLUSTER_ACTION": "ClusterAction",
}


def _word(operation: str) -> str:
    return _TOOL_WORDS.get(operation, operation.title())


def _grant(end: EndFacts, operations: Iterable[str], what: str) -> str:
    wanted = " ".join(f"--operation {_word(operation)}" for operation in operations)
    return f"{end.command('kafka-acls')} --add --allow-principal User:{end.user or '<ours>'} {wanted} {what}"


def _topics(end: EndFacts, names: Iterable[str], needed: tuple[str, ...]) -> Answer:
    looks = known(end.topics)
    # Nobody can tell what we may do with a topic that is not there yet; `target-create-right` is about those.
    asked = [(name, looks[name]) for name in names if name in looks and not isinstance(looks[name], TopicUnknown)]
    hidden = [name for name, look in asked if isinstance(look, AccessDenied)]
    missing: dict[str, set[str]] = {}
    for name, look in asked:
        if isinstance(look, TopicFacts) and (lacking := set(needed) - look.operations):
            missing[name] = lacking
    if missing or hidden:
        first = next(iter(missing), None) or hidden[0]
        needs = sorted(set().union(*missing.values())) if missing else list(needed)
        seen = f"{', '.join(map(_word, needs))} is missing on {named([*missing, *hidden])}"
        return fail(seen, _grant(end, needs, f"--topic '{first}'"))
    _all_answered(dict(asked))
    if not asked:
        return ok("there are no topics to ask about yet")
    return ok(f"{', '.join(map(_word, needed))} on {len(asked):,} topics")


def _all_answered(answers: Mapping[str, object]) -> None:
    """Raises CannotTell when one was not answered, for another reason than a right."""
    for name, answer in answers.items():
        if isinstance(answer, ClusterError):
            raise CannotTell(f"{name}: {answer}")


def _cluster(end: EndFacts, operation: str) -> bool:
    return operation in known(end.cluster).operations


def _create(facts: Facts) -> Answer:
    if _cluster(facts.target, "CREATE"):
        return ok("Create on the cluster")
    existing = {name for name, look in known(facts.target.topics).items() if isinstance(look, TopicFacts)}
    lacking = [topic for topic in facts.selected if facts.remote(topic) not in existing]
    prefix = f"{facts.link.source}." if facts.link.naming.policy == "default" else ""
    remedy = _grant(facts.target, ["CREATE"], "--cluster")
    if prefix:
        remedy = _grant(facts.target, ["CREATE"], f"--topic {prefix} --resource-pattern-type prefixed")
    if lacking:
        return fail(f"Create on the cluster is missing, and {named(lacking)} have no copy yet", remedy)
    return warn("Create on the cluster is missing: new topics are mirrored only where a prefix allows it", remedy)


def _acls(facts: Facts) -> Answer:
    if not facts.link.acls.enabled:
        return ok("ACLs are not synced: sync.topic.acls.enabled = false")
    if not _cluster(facts.source, "DESCRIBE"):
        return warn("Describe on the source cluster is missing", _grant(facts.source, ["DESCRIBE"], "--cluster"))
    if not _cluster(facts.target, "ALTER"):
        return warn("Alter on the target cluster is missing", _grant(facts.target, ["ALTER"], "--cluster"))
    return ok("Describe on the source, Alter on the target")


def _fence(facts: Facts) -> Answer:
    """By ACL both clusters must be altered; by topic config the topics. What is chosen by itself needs either."""
    means = facts.link.switch.fence
    if means == "none":
        return warn("a switch shuts nobody out: switch.fence = none", f"{facts.link.name}.switch.fence = auto")
    unaltered = [end for end in (facts.source, facts.target) if means != "topic-config" and not _cluster(end, "ALTER")]
    by_config = _topics(facts.source, facts.selected, ("ALTER_CONFIGS",))
    if by_config.verdict != "ok" and (means == "topic-config" or facts.source in unaltered) and means != "acl":
        return by_config
    if not unaltered:
        return ok("a switch may shut producers out")
    end = unaltered[0]
    seen, remedy = f"Alter on the cluster is missing on {end.alias}", _grant(end, ["ALTER", "DESCRIBE"], "--cluster")
    if means == "acl":
        return fail(f"{seen}: switch.fence = acl cannot shut producers out", remedy)
    return warn(f"{seen}: a switch shuts it by topic config, which lets strays in while a failback copies", remedy)


def _groups(end: EndFacts, operation: str) -> Answer:
    if isinstance(end.groups, Unknown) and end.groups.denied:
        remedy = _grant(end, ["DESCRIBE"], "--group '*'")
        return fail(f"groups cannot be listed: {end.groups.why}", remedy)
    known(end.groups)  # who could not be listed cannot be judged
    rights = known(end.group_rights)
    refused = [name for name, operations in rights.items() if isinstance(operations, AccessDenied)]
    lacking = [
        name
        for name, operations in rights.items()
        if not isinstance(operations, ClusterError) and operation not in operations
    ]
    if lacking or refused:
        bad = [*lacking, *refused]
        return fail(f"{_word(operation)} is missing on {named(bad)}", _grant(end, [operation], f"--group '{bad[0]}'"))
    _all_answered(rights)
    if not rights:
        return ok("there are no groups to ask about yet")
    return ok(f"{_word(operation)} on {len(rights):,} groups")


def _remotes(facts: Facts) -> list[str]:
    return [facts.remote(topic) for topic in facts.selected]


CHECKS: Final = (
    Check(
        "source-topic-rights",
        _THEME,
        "A topic that we may not read is not copied.",
        lambda f: _topics(f.source, f.selected, ("DESCRIBE", "READ")),
    ),
    Check(
        "source-config-rights",
        _THEME,
        "Without a topic's configs its copy cannot be created: retention would eat old records.",
        lambda f: _topics(f.source, f.selected, ("DESCRIBE_CONFIGS",)),
    ),
    Check(
        "target-topic-rights",
        _THEME,
        "A topic that we may not write is faulted.",
        lambda f: _topics(f.target, _remotes(f), ("DESCRIBE", "WRITE")),
    ),
    Check(
        "target-config-rights",
        _THEME,
        "Configs and partitions that change on the source stay behind on the target.",
        lambda f: _topics(f.target, _remotes(f), ("ALTER_CONFIGS", "DESCRIBE_CONFIGS", "ALTER")),
    ),
    Check("target-create-right", _THEME, "A new topic of the source gets no copy.", _create),
    Check(
        "source-group-rights",
        _THEME,
        "Positions that we may not read are not on the target on the day of the switch.",
        lambda f: _groups(f.source, "DESCRIBE"),
    ),
    Check(
        "target-group-rights",
        _THEME,
        "Positions that we may not write make consumers start anywhere.",
        lambda f: _groups(f.target, "READ"),
    ),
    Check("acl-rights", _THEME, "After the switch applications are denied what they may do today.", _acls),
    Check("fence-rights", _THEME, "A switch that cannot shut producers out loses what they write meanwhile.", _fence),
    Check(
        "ledger-rights",
        _THEME,
        "The ledger is the truth about the link: without it nothing continues.",
        lambda f: _topics(f.target, (f.ledger,), ("DESCRIBE", "READ", "WRITE")),
    ),
)
