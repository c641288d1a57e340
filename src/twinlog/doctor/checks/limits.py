"""Whether the target takes what the source holds: sizes, times, speed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from twinlog.doctor.answers import Answer, Check, fail, known, named, ok, readable, warn
from twinlog.doctor.facts import EndFacts, Facts

_THEME = "limits"
_BEFORE: Final = "message.timestamp.before.max.ms"
_AFTER: Final = "message.timestamp.after.max.ms"
_BYTE_LIMITS: Final = {"producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate"}


def pairs(facts: Facts, config: str) -> Iterator[tuple[str, str, str, str]]:
    """(topic, remote, value on the source, value on the target) where both are known."""
    at_source, at_target = readable(known(facts.source.configs)), readable(known(facts.target.configs))
    for topic in facts.selected:
        remote = facts.remote(topic)
        source, target = at_source.get(topic, {}).get(config), at_target.get(remote, {}).get(config)
        if source is not None and target is not None:
            yield topic, remote, source, target


def set_config(end: EndFacts, topic: str, config: str, value: object) -> str:
    """The command that sets one config of a topic."""
    entity = f"--alter --entity-type topics --entity-name '{topic}'"
    return f"{end.command('kafka-configs')} {entity} --add-config {config}={value}"


def _sizes(facts: Facts) -> Answer:
    small = [(r, int(s), int(t)) for _, r, s, t in pairs(facts, "max.message.bytes") if int(t) < int(s)]
    if small:
        remote, wanted, _ = small[0]
        return fail(
            f"smaller than on the source: {named(f'{r} {t:,} < {s:,}' for r, s, t in small)}",
            set_config(facts.target, remote, "max.message.bytes", wanted),
        )
    return ok("every copy takes records as large as its source does")


def _requests(facts: Facts) -> Answer:
    limit = facts.link.writing.max_request_bytes
    large = [(t, int(s)) for t, _, s, _ in pairs(facts, "max.message.bytes") if int(s) > limit]
    if large:
        return warn(
            f"max.request.size is {limit:,}, but {named(f'{t} allows {s:,}' for t, s in large)}",
            f"{facts.target.alias}.producer.max.request.size = {max(s for _, s in large)}",
        )
    return ok(f"requests of up to {limit:,} bytes hold the largest batch")


def _time_limits(facts: Facts) -> Answer:
    narrow = [
        (remote, config, source)
        for config in (_BEFORE, _AFTER)
        for _, remote, source, target in pairs(facts, config)
        if int(target) < int(source)
    ]
    if narrow:
        remote, config, wanted = narrow[0]
        return fail(
            f"narrower than on the source: {named(f'{r} {c}' for r, c, _ in narrow)}",
            set_config(facts.target, remote, config, wanted),
        )
    return ok("every copy takes the times that its source takes")


def _old_records(facts: Facts) -> Answer:
    """A link that begins at the start copies records of any age."""
    short = [(r, int(t)) for _, r, _, t in pairs(facts, _BEFORE) if int(t) < 365 * 86_400_000]
    if short:
        return warn(
            f"old records are refused: {named(f'{r} older than {t // 86_400_000} days' for r, t in short)}",
            set_config(facts.target, short[0][0], _BEFORE, 2**63 - 1),
        )
    return ok("records of any age are taken")


def _time_type(facts: Facts) -> Answer:
    stamping = [r for _, r, _, t in pairs(facts, "message.timestamp.type") if t == "LogAppendTime"]
    if stamping:
        return fail(
            f"LogAppendTime on {named(stamping)}",
            set_config(facts.target, stamping[0], "message.timestamp.type", "CreateTime"),
        )
    return ok("every copy keeps the times it is given")


def _quotas(end: EndFacts) -> Answer:
    binding = []
    for quota in known(end.quotas):
        entity = dict(quota.entity)
        client, user = entity.get("client-id", ""), entity.get("user", "")
        applies = (client in {"", None} or client in end.client_ids) and (user in {"", None} or user == end.user)
        if "ip" in entity or not applies:
            continue
        limits = [f"{name} {value:,.0f}" for name, value in quota.limits if name in _BYTE_LIMITS]
        whom = " ".join(f"{kind} {name or 'by default'}" for kind, name in quota.entity)
        binding += [f"{whom}: {', '.join(limits)}"] if limits else []
    if binding:
        client = end.client_ids[0] if end.client_ids else "twinlog"
        return warn(
            f"quotas bind us: {named(binding)}",
            f"{end.command('kafka-configs')} --alter --entity-type clients --entity-name '{client}' "
            "--add-config producer_byte_rate=<enough>,consumer_byte_rate=<enough>",
        )
    return ok("no quota binds us")


CHECKS: Final = (
    Check("message-size", _THEME, "One large record stops its partition.", _sizes),
    Check("request-size", _THEME, "A batch that fits no request must be opened and split.", _requests),
    Check("time-limits", _THEME, "A record whose time the target refuses stops its partition.", _time_limits),
    Check("old-records", _THEME, "A first copy of a long history is refused where times are limited.", _old_records),
    Check("time-type", _THEME, "A copy that stamps its own times cannot be searched by time.", _time_type),
    Check("source-quotas", _THEME, "A throttled reader falls behind: that is the loss.", lambda f: _quotas(f.source)),
    Check("target-quotas", _THEME, "A throttled writer falls behind: that is the loss.", lambda f: _quotas(f.target)),
)
