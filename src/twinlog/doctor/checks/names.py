"""Whether everything is mirrored that should be, each into a place of its own."""

from __future__ import annotations

from collections import Counter
from typing import Final

from twinlog.doctor.answers import Answer, Check, fail, known, named, ok, warn
from twinlog.doctor.facts import Facts
from twinlog.errors import ClusterError
from twinlog.model.topics.writers_topics import missing_for_writers

_THEME = "names"
_LONGEST: Final = 249


def _collisions(facts: Facts) -> Answer:
    # Kafka's metrics spell `.` and `_` alike, and brokers refuse the second of two such names.
    spelt = Counter(facts.remote(topic).replace(".", "_") for topic in facts.selected)
    twice = [topic for topic in facts.selected if spelt[facts.remote(topic).replace(".", "_")] > 1]
    if twice:
        return fail(
            f"copies that get in each other's way: {named(f'{t} as {facts.remote(t)}' for t in twice)}",
            f"{facts.link.name}.topics.exclude = {twice[-1]}   # or rename one of them",
        )
    return ok(f"{len(facts.selected):,} topics, each with a name of its own on the target")


def _lengths(facts: Facts) -> Answer:
    long = [topic for topic in facts.selected if len(facts.remote(topic)) > _LONGEST]
    if long:
        return fail(
            f"with the alias before it longer than {_LONGEST} characters: {named(long)}",
            f"{facts.link.name}.replication.policy.class = IdentityReplicationPolicy   # or exclude them",
        )
    return ok("every name fits")


def _coverage(facts: Facts) -> Answer:
    if not facts.roster:
        return Answer("unknown", "the link has never run: nothing is mirrored yet")
    missing = [topic for topic in facts.selected if topic not in facts.roster]
    if missing:
        return fail(
            f"selected and not mirrored: {named(missing)}", "twinlog status -c FILE   # it says what stands in the way"
        )
    return ok(f"all {len(facts.selected):,} selected topics are mirrored")


def _selection(facts: Facts) -> Answer:
    everything = known(facts.source_topics)
    naming = facts.link.naming
    left = [
        t
        for t in everything
        if t not in facts.selected and not naming.is_internal(t) and naming.topic_source(t) != facts.link.target
    ]
    if not facts.selected:
        return fail("the settings select no topic at all", f"{facts.link.name}.topics = .*")
    if left:
        return warn(f"not selected: {named(left)}", f"twinlog validate -c FILE --explain '{facts.link.name}.topics'")
    return ok("every topic of the source is selected")


def _partitions(facts: Facts) -> Answer:
    at_source, at_target = known(facts.source.topics), known(facts.target.topics)
    fewer, more = [], []
    for topic in facts.selected:
        source, target = at_source.get(topic), at_target.get(facts.remote(topic))
        if source is None or target is None or isinstance(source, ClusterError) or isinstance(target, ClusterError):
            continue
        if target.partitions < source.partitions:
            fewer.append((target.name, source.partitions))
        elif target.partitions > source.partitions:
            more.append(target.name)
    if fewer:
        name, count = fewer[0]
        return fail(
            f"fewer partitions than the source: {named(n for n, _ in fewer)}",
            f"{facts.target.command('kafka-topics')} --alter --topic '{name}' --partitions {count}",
        )
    if more:
        return warn(
            f"more partitions than the source: {named(more)}; producers with keys go elsewhere after the switch",
            f"{facts.source.command('kafka-topics')} --alter --topic <its source> --partitions <as many>",
        )
    return ok("as many partitions as on the source")


def _writers_topics(facts: Facts) -> Answer:
    if facts.link.naming.keeps_names:
        return ok("copies have the names of their originals: producers find their topics")
    if not facts.roster:
        return Answer("unknown", "the link has never run: nothing is mirrored yet")
    missing = missing_for_writers(facts.roster.values(), facts.link.naming, set(known(facts.target_topics)))
    if missing:
        says = f"producers will not find on {facts.link.target}: {named(missing)}"
        return warn(says, f"twinlog link prepare '{facts.link.name}' -c FILE   # or IdentityReplicationPolicy")
    return ok(f"every topic that producers use exists on {facts.link.target}")


def _way_back(facts: Facts) -> Answer:
    if facts.link.naming.keeps_names:
        return ok("with the same names on both sides a failback needs no link of its own")
    back = f"{facts.link.target}->{facts.link.source}"
    if not known(facts.back_enabled):
        return warn(f"{back} is not enabled: `failback --delta` would be refused", f"{back}.enabled = true")
    return ok(f"{back} is enabled: it carries home what is written on {facts.link.target}")


CHECKS: Final = (
    Check("names-collide", _THEME, "Two sources in one copy, or a copy that cannot be created.", _collisions),
    Check("names-fit", _THEME, "A copy whose name is too long cannot be created.", _lengths),
    Check("partitions", _THEME, "Keys find their partition by the number of them.", _partitions),
    Check("all-mirrored", _THEME, "What is not mirrored is lost with the source.", _coverage),
    Check("selection", _THEME, "What no link selected is lost with the source.", _selection),
    Check("writers-topics", _THEME, "After a failover producers write to the names that they know.", _writers_topics),
    Check("way-back", _THEME, "A failback must be possible before the failover is needed.", _way_back),
)
