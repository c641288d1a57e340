"""Checks whether both clusters can be reached, also when some brokers of one of them are lost."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from typing import Final

from twinlog.doctor.answers import Answer, Check, fail, known, named, ok, warn
from twinlog.doctor.facts import EndFacts, Facts
from twinlog.errors.clusters import likely_remedy
from twinlog.model.health.inspection import FETCH, FIND_COORDINATOR, PRODUCE, CertificateFacts, Unknown, release_of

_THEME = "reach"
_LONG_TTL_S: Final = 60
_SOON_MS: Final = 30 * 86_400_000


def _answers(end: EndFacts) -> Answer:
    if isinstance(end.cluster, Unknown):
        try_by_hand = f"{end.command('kafka-broker-api-versions')}   # from this machine"
        return fail(end.cluster.why, likely_remedy(end.alias, end.cluster.why) or try_by_hand)
    return ok(f"{len(end.cluster.brokers)} brokers answer as cluster {end.cluster.cluster_id}")


def _two_clusters(facts: Facts) -> Answer:
    source, target = known(facts.source.cluster), known(facts.target.cluster)
    if source.cluster_id == target.cluster_id:
        return fail(
            f"{facts.source.alias} and {facts.target.alias} are the same cluster, {source.cluster_id}",
            f"correct {facts.source.alias}.bootstrap.servers or {facts.target.alias}.bootstrap.servers in the file",
        )
    source_addresses = {(broker.host, broker.port) for broker in source.brokers}
    shared = [f"{b.host}:{b.port}" for b in target.brokers if (b.host, b.port) in source_addresses]
    if shared:
        return fail(
            f"both clusters advertise {named(shared)}", "correct advertised.listeners of one of the two clusters"
        )
    return ok(f"{source.cluster_id} and {target.cluster_id}")


def _bootstrap(end: EndFacts) -> Answer:
    brokers = len(known(end.cluster).brokers)
    if len(end.servers) == 1 and brokers > 1:
        return warn(
            f"one bootstrap server, {end.servers[0]}, of {brokers} brokers",
            f"list more of them: {end.alias}.bootstrap.servers = "
            + ",".join(f"{b.host}:{b.port}" for b in known(end.cluster).brokers[:3]),
        )
    return ok(f"{len(end.servers)} listed, {brokers} brokers")


def _names(end: EndFacts) -> Answer:
    looks = known(end.names)
    if not looks:
        return ok("plain addresses: no name has to be looked up")
    lost = [look.name for look in looks if not look.addresses]
    if lost:
        return fail(f"no address for {named(lost)}", f"getent hosts {lost[0]}   # then correct the zone or resolv.conf")
    slow = [look for look in looks if look.ttl_s is not None and look.ttl_s > _LONG_TTL_S]
    if slow:
        return warn(
            f"remembered for long: {named(f'{look.name} {look.ttl_s} s' for look in slow)}",
            f"lower the time to live of {slow[0].name} to {_LONG_TTL_S} s or less, well before it is needed",
        )
    times = [look for look in looks if look.ttl_s is not None]
    return ok(named(f"{look.name} {look.ttl_s} s" for look in times) or "names come from this machine's own table")


def is_address(host: str) -> bool:
    """Tell whether it needs no looking up."""
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True


def _version(end: EndFacts) -> Answer:
    speaks = known(end.versions)
    # Older ones than 2.8 are refused when they are connected to.
    oldest = "2.8" if speaks[FIND_COORDINATOR] < 4 else "3.0"
    release = release_of(speaks[FETCH], oldest)
    upgrade = f"upgrade {end.alias}; until then the limits named here hold"
    if speaks[FIND_COORDINATOR] < 4:
        return fail(f"Kafka {release}: records are copied, positions of groups cannot be asked", upgrade)
    if speaks[FETCH] < 13:
        return warn(f"Kafka {release}: a topic created again is noticed by the next look at topics only", upgrade)
    if speaks[PRODUCE] < 13:
        return ok(f"Kafka {release}; records are written by topic name: a copy created again is noticed by its offsets")
    return ok(f"Kafka {release}")


def _certificates(end: EndFacts, facts: Facts) -> Answer:
    if not end.encrypted:
        return ok("connections are not encrypted: there is nothing that could end")
    return _expiry(known(end.certificates), facts.now_ms, f"renew the brokers' certificates of {end.alias}")


def _own_certificates(facts: Facts) -> Answer:
    own = known(facts.own_certificates)
    if not own:
        return ok("we do not log in by certificate")
    return _expiry(own, facts.now_ms, "renew it and change ssl.keystore.* in the file; a running engine picks it up")


def _expiry(looks: Iterable[CertificateFacts], now_ms: int, remedy: str) -> Answer:
    by_end = sorted(looks, key=lambda look: look.ends_ms)
    if not by_end:
        return ok("none was shown")
    first = by_end[0]
    days = (first.ends_ms - now_ms) / 86_400_000
    where = f"{first.subject} at {first.where}"
    if days <= 0:
        return fail(f"{where} ended {-days:.0f} days ago", remedy)
    if first.ends_ms - now_ms < _SOON_MS:
        return warn(f"{where} ends in {days:.0f} days", remedy)
    return ok(f"the first to end is {where}, in {days:.0f} days")


def _coordinator(facts: Facts) -> Answer:
    known(facts.target.cluster)  # a refused login is no missing right
    if isinstance(facts.coordinator, Unknown) and facts.coordinator.denied:
        return fail(
            facts.coordinator.why,
            f"{facts.target.command('kafka-acls')} --add --allow-principal User:<ours> --operation Write "
            f"--operation Describe --transactional-id twinlog. --resource-pattern-type prefixed",
        )
    return ok(f"broker {known(facts.coordinator)} coordinates our writers")


CHECKS: Final = (
    Check("source-answers", _THEME, "Nothing can be copied.", lambda f: _answers(f.source)),
    Check("target-answers", _THEME, "Nothing can be copied, and there is nowhere to go.", lambda f: _answers(f.target)),
    Check("two-clusters", _THEME, "A mirror of a cluster into itself is a copy of nothing.", _two_clusters),
    Check(
        "source-bootstrap", _THEME, "With that one broker away nobody finds the others.", lambda f: _bootstrap(f.source)
    ),
    Check(
        "target-bootstrap", _THEME, "With that one broker away nobody finds the others.", lambda f: _bootstrap(f.target)
    ),
    Check("source-names", _THEME, "Clients keep asking the old address after the switch.", lambda f: _names(f.source)),
    Check("target-names", _THEME, "Clients keep asking the old address after a move.", lambda f: _names(f.target)),
    Check("source-version", _THEME, "Old brokers cannot tell topics apart by id.", lambda f: _version(f.source)),
    Check("target-version", _THEME, "Old brokers cannot tell topics apart by id.", lambda f: _version(f.target)),
    Check(
        "source-certificates",
        _THEME,
        "An expired certificate stops every client at once.",
        lambda f: _certificates(f.source, f),
    ),
    Check(
        "target-certificates",
        _THEME,
        "An expired certificate on the target would first be noticed during a failover.",
        lambda f: _certificates(f.target, f),
    ),
    Check("own-certificates", _THEME, "Without it we are strangers to the clusters.", _own_certificates),
    Check(
        "transaction-coordinator",
        _THEME,
        "A writer takes a shard over through it (Write and Describe on our transactional ids).",
        _coordinator,
    ),
)
