"""Whether the schemas of the source are safe, and are on the target when they are needed."""

from __future__ import annotations

from typing import Final

from twinlog.doctor.answers import Answer, Check, fail, known, named, ok, warn
from twinlog.doctor.facts import EndFacts, Facts
from twinlog.errors import ClusterError

_THEME = "schemas"
_REPLICAS: Final = 3
_LATE: Final = 100
_ABSENT: Final = "the source has no schema registry"


def _there(facts: Facts) -> bool:
    return facts.link.registry.topic in known(facts.source_topics)


def _mirrored(facts: Facts) -> Answer:
    topic = facts.link.registry.topic
    if not _there(facts):
        return ok(f"the source has no {topic}: no schema registry keeps its schemas there")
    if topic not in facts.selected:
        return warn(
            f"{topic} is not mirrored",
            f"{facts.link.name}.registry.mirror = on   # or carry schemas by the registry's own means",
        )
    remote = facts.remote(topic)
    if remote != topic:
        return warn(
            f"{topic} becomes {remote}: a registry on the target must be configured so",
            f"{facts.link.name}.registry.mirror = on   # or kafkastore.topic={remote} in the target's registry",
        )
    problem = facts.roster[topic].problem if topic in facts.roster else None
    if problem is not None:
        return fail(problem.says, problem.remedy)
    return ok(f"{topic} is mirrored under its own name")


def _ends(facts: Facts) -> list[EndFacts]:
    topic = facts.link.registry.topic
    return [end for end in facts.ends if topic in known(end.configs)]


def _compacted(facts: Facts) -> Answer:
    if not _there(facts):
        return ok(_ABSENT)
    topic = facts.link.registry.topic
    for end in _ends(facts):
        configs = known(end.configs)[topic]
        if isinstance(configs, ClusterError):
            return Answer("unknown", str(configs))
        policy = configs.get("cleanup.policy") or "delete"
        if policy != "compact":
            alter = f"{end.command('kafka-configs')} --alter --topic {topic} --add-config cleanup.policy=compact"
            return fail(f"{end.alias}: cleanup.policy of {topic} is {policy}: Kafka deletes schemas in use", alter)
    return ok(f"{topic} is compacted")


def _replicated(facts: Facts) -> Answer:
    if not _there(facts):
        return ok(_ABSENT)
    topic = facts.link.registry.topic
    for end in facts.ends:
        topic_facts = known(end.topics).get(topic)
        if topic_facts is None or isinstance(topic_facts, ClusterError):
            continue
        brokers = len(known(end.cluster).brokers)
        if topic_facts.replication_factor < min(_REPLICAS, brokers):
            says = f"{end.alias}: {topic} has {topic_facts.replication_factor} replicas on {brokers} brokers"
            way = f"{end.command('kafka-reassign-partitions')}   # give it three replicas"
            return fail(says, way)
    return ok(f"{topic} has enough replicas")


def _sizes(facts: Facts) -> Answer:
    if not _there(facts):
        return ok(_ABSENT)
    topic = facts.link.registry.topic
    sizes = {}
    for end in _ends(facts):
        configs = known(end.configs)[topic]
        if not isinstance(configs, ClusterError):
            sizes[end.alias] = int(configs.get("max.message.bytes") or 1_048_588)
    source, target = sizes.get(facts.source.alias), sizes.get(facts.target.alias)
    if source is not None and target is not None and target < source:
        alter = f"--alter --topic {topic} --add-config max.message.bytes={source}"
        says = f"{facts.target.alias}: {topic} takes {target} bytes, the source {source}: a large one would not arrive"
        return fail(says, f"{facts.target.command('kafka-configs')} {alter}")
    return ok("a schema that the source takes fits on the target")


def _in_step(facts: Facts) -> Answer:
    if not _there(facts):
        return ok(_ABSENT)
    note = facts.notes.get("registry")
    if note is None:
        return Answer("unknown", "the sync job `registry` has not run yet")
    if note.trouble:
        return fail(f"{note.trouble}: {named(note.findings)}", "twinlog registry verify URL --against URL")
    behind = note.counts.get("behind", 0)
    if behind > _LATE:
        return warn(f"the copy is {behind} records behind", "twinlog status -c FILE")
    if note.findings:
        return warn(named(note.findings), "twinlog status -c FILE   # the sync job `registry`")
    return ok(f"both sides have the same {note.counts.get('versions', 0)} versions")


def _readable(facts: Facts) -> Answer:
    if not _there(facts):
        return ok(_ABSENT)
    proof = known(facts.schema_proof)
    if proof is None:
        return ok("no registry is mirrored")
    if proof.problems:
        way = (
            "twinlog verify -c FILE   # lists all; `twinlog registry verify URL --against URL` compares both registries"
        )
        return fail(named(proof.problems), way)
    return ok(proof.sentence())


def _leader(facts: Facts) -> Answer:
    if not _there(facts):
        return ok(_ABSENT)
    group = facts.link.registry.group_id
    group_facts = known(facts.source.groups).get(group)
    if group_facts is None or group_facts.state not in {"Stable", "PreparingRebalance", "CompletingRebalance"}:
        state = "there is no such group" if group_facts is None else f"its state is {group_facts.state}"
        says = f"no instance of the registry is in group {group} on {facts.source.alias}: {state}"
        return warn(says, "twinlog registry run -c FILE   # or registry.group.id, if the group has another name")
    return ok(f"group {group} on {facts.source.alias} has a leader")


CHECKS: Final = (
    Check("schemas", _THEME, "Records without their schemas cannot be read.", _mirrored),
    Check("schemas-compacted", _THEME, "A topic that is not compacted loses schemas that are in use.", _compacted),
    Check("schemas-replicas", _THEME, "Without schemas no record is readable.", _replicated),
    Check("schemas-size", _THEME, "A schema that does not fit on the target stops all behind it.", _sizes),
    Check("schemas-in-step", _THEME, "After a switch every id must resolve to the same schema.", _in_step),
    Check("schemas-readable", _THEME, "A record whose schema id does not resolve cannot be read.", _readable),
    Check("schemas-leader", _THEME, "Without a leader no new schema can be registered.", _leader),
)
