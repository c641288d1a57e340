"""Whether the target survives a failure of its own while it is all there is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from twinlog.doctor.answers import Answer, Check, fail, known, named, ok, readable, warn
from twinlog.doctor.checks.limits import set_config
from twinlog.doctor.facts import EndFacts, Facts
from twinlog.model.health.inspection import TopicFacts

_THEME = "durability"
_OFFSETS, _TRANSACTIONS = "__consumer_offsets", "__transaction_state"
_LITTLE_ROOM, _NO_ROOM = 0.20, 0.10
_LARGE_LEDGER: Final = 5_000_000_000


def _looks(end: EndFacts) -> dict[str, TopicFacts]:
    return readable(known(end.topics))


def _reassign(end: EndFacts) -> str:
    return f"{end.command('kafka-reassign-partitions')} --reassignment-json-file more-replicas.json --execute"


def _replication(facts: Facts) -> Answer:
    at_source, at_target = _looks(facts.source), _looks(facts.target)
    brokers = len(known(facts.target.cluster).brokers)
    both = [
        (at_source[t], at_target[facts.remote(t)])
        for t in facts.selected
        if t in at_source and facts.remote(t) in at_target
    ]
    fewer = [copy for original, copy in both if copy.replication_factor < original.replication_factor]
    single = [copy for _, copy in both if copy.replication_factor < 2]
    if single and brokers > 1:
        return fail(f"one replica only: {named(look.name for look in single)}", _reassign(facts.target))
    if brokers == 1:
        return warn("the target has one broker: nothing has a second replica", "add brokers to the target cluster")
    if fewer:
        return warn(
            f"fewer replicas than on the source: {named(f'{look.name} {look.replication_factor}' for look in fewer)}",
            _reassign(facts.target),
        )
    return ok(f"{len(both):,} copies have as many replicas as their sources")


def _min_insync(facts: Facts) -> Answer:
    looks, configs = _looks(facts.target), readable(known(facts.target.configs))
    stuck, weak = [], []
    for topic in facts.selected:
        remote = facts.remote(topic)
        look, value = looks.get(remote), configs.get(remote, {}).get("min.insync.replicas")
        if look is None or value is None:
            continue
        if int(value) >= look.replication_factor > 1:
            stuck.append(remote)
        elif int(value) < 2 <= look.replication_factor:
            weak.append(remote)
    if stuck:
        return fail(
            f"min.insync.replicas needs every replica of {named(stuck)}: one broker away stops the link",
            set_config(facts.target, stuck[0], "min.insync.replicas", looks[stuck[0]].replication_factor - 1),
        )
    if weak:
        return warn(
            f"min.insync.replicas is 1 on {named(weak)}: an acknowledged record may be on one disk only",
            set_config(facts.target, weak[0], "min.insync.replicas", 2),
        )
    if all(looks[facts.remote(t)].replication_factor < 2 for t in facts.selected if facts.remote(t) in looks):
        return ok("there are no second replicas to wait for")
    return ok("a record is acknowledged by two replicas, and one broker may be away")


def _replicas(end: EndFacts, names: Iterable[str]) -> Answer:
    looks = _looks(end)
    mine = [looks[name] for name in names if name in looks]
    offline = [f"{look.name}-{number}" for look in mine for number in look.offline]
    behind = [f"{look.name}-{number}" for look in mine for number in look.under_replicated]
    remedy = f"{end.command('kafka-topics')} --describe --under-replicated-partitions   # then look at those brokers"
    if offline:
        return fail(f"without a leader: {named(offline)}", remedy)
    if behind:
        return warn(f"replicas are behind or away: {named(behind)}", remedy)
    return ok(f"all replicas of {len(mine):,} topics are in sync")


def _unclean(facts: Facts) -> Answer:
    at_source, at_target = readable(known(facts.source.configs)), readable(known(facts.target.configs))
    unclean = [
        (end, name)
        for end, configs in ((facts.source, at_source), (facts.target, at_target))
        for topic in facts.selected
        if (name := topic if end is facts.source else facts.remote(topic)) in configs
        and configs[name].get("unclean.leader.election.enable") == "true"
    ]
    if unclean:
        end, first = unclean[0]
        return warn(
            f"allowed on {named(f'{end.alias}: {name}' for end, name in unclean)}",
            set_config(end, first, "unclean.leader.election.enable", "false"),
        )
    return ok("a replica that is behind never becomes the leader")


def _disk(end: EndFacts) -> Answer:
    disks = [disk for disk in known(end.disks) if disk.total_bytes > 0]
    if not disks:
        return Answer("unknown", f"the brokers of {end.alias} do not tell the room on their disks")
    tight = min(disks, key=lambda disk: disk.usable_bytes / disk.total_bytes)
    share = tight.usable_bytes / tight.total_bytes
    seen = f"broker {tight.node} has {share:.0%} of {tight.total_bytes / 1e9:,.0f} GB free in {tight.folder}"
    remedy = f"{end.command('kafka-log-dirs')} --describe   # then add disk, or lower retention"
    if share < _NO_ROOM:
        return fail(seen, remedy)
    return warn(seen, remedy) if share < _LITTLE_ROOM else ok(seen)


def _ledger(facts: Facts) -> Answer:
    name = facts.ledger
    looks, configs = known(facts.target.topics), known(facts.target.configs)
    look, config = looks.get(name), configs.get(name)
    if not isinstance(look, TopicFacts) or not isinstance(config, dict):
        return Answer("unknown", f"{name}: it cannot be described; the first start of the link makes it")
    brokers = len(known(facts.target.cluster).brokers)
    if config.get("cleanup.policy") != "compact":
        return fail(
            f"{name} is not compacted: it loses positions", set_config(facts.target, name, "cleanup.policy", "compact")
        )
    if look.replication_factor < min(3, brokers):
        return warn(f"{name} has {look.replication_factor} replicas on {brokers} brokers", _reassign(facts.target))
    if look.replication_factor > 1 and int(config.get("min.insync.replicas") or 1) < 2:
        return warn(f"{name}: min.insync.replicas is 1", set_config(facts.target, name, "min.insync.replicas", 2))
    return ok(f"{look.replication_factor} replicas, compacted, {look.partitions - 1} shards")


def _ledger_size(facts: Facts) -> Answer:
    size = sum(disk.topic_bytes for disk in known(facts.target.disks))
    if size > _LARGE_LEDGER:
        return warn(
            f"{facts.ledger} holds {size / 1e9:,.1f} GB over all replicas: its cleaner may not keep up",
            set_config(facts.target, facts.ledger, "min.cleanable.dirty.ratio", "0.1"),
        )
    return ok(f"{size / 1e6:,.1f} MB over all replicas")


def _internal(facts: Facts) -> Answer:
    looks, brokers = _looks(facts.target), len(known(facts.target.cluster).brokers)
    wanted = min(3, brokers)
    poor = [looks[n] for n in (_OFFSETS, _TRANSACTIONS) if n in looks and looks[n].replication_factor < wanted]
    if poor:
        return warn(
            f"{named(f'{look.name} has {look.replication_factor} replicas' for look in poor)} on {brokers} brokers",
            _reassign(facts.target),
        )
    return ok("positions and transactions of the target have their replicas")


def _auto_create(facts: Facts) -> Answer:
    brokers = known(facts.target.broker_configs)
    if any(configs.get("auto.create.topics.enable") == "true" for configs in brokers.values()):
        return warn(
            "the target creates any topic that somebody asks for",
            "auto.create.topics.enable=false in server.properties of the target's brokers, then a rolling restart",
        )
    return ok("topics appear on the target only when somebody creates them")


CHECKS: Final = (
    Check("replication-factor", _THEME, "After a switch the target is the only copy there is.", _replication),
    Check("min-insync", _THEME, "Too few: a record can be lost. All: one broker away stops everything.", _min_insync),
    Check(
        "source-replicas",
        _THEME,
        "An ailing source is the disaster that is being waited for.",
        lambda f: _replicas(f.source, f.selected),
    ),
    Check(
        "target-replicas",
        _THEME,
        "A target that ails today will not carry everything tomorrow.",
        lambda f: _replicas(f.target, [*map(f.remote, f.selected), f.ledger]),
    ),
    Check("unclean-election", _THEME, "A log that loses its end no longer equals its copy.", _unclean),
    Check("source-disk", _THEME, "A full source stops its producers.", lambda f: _disk(f.source)),
    Check(
        "target-disk", _THEME, "A full target stops the link, and after a switch everybody.", lambda f: _disk(f.target)
    ),
    Check("ledger", _THEME, "Without the ledger positions cannot be translated.", _ledger),
    Check("ledger-size", _THEME, "Everybody who starts reads the whole ledger.", _ledger_size),
    Check("internal-topics", _THEME, "Positions of groups are lost with the one broker that has them.", _internal),
    Check(
        "auto-create",
        _THEME,
        "A client that comes too early makes a topic that is in the way of the copy.",
        _auto_create,
    ),
)
