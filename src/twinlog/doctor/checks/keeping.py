"""Whether both sides keep what they should: retention, compaction, positions."""

from __future__ import annotations

from typing import Final

from twinlog.doctor.answers import Answer, Check, fail, known, named, ok, warn
from twinlog.doctor.checks.limits import pairs, set_config
from twinlog.doctor.facts import Facts

_THEME = "keeping"
_SHORT_OFFSETS_MIN: Final = 1440


def _less(target: str, source: str) -> bool:
    at_target, at_source = int(target), int(source)
    return at_target >= 0 and (at_source < 0 or at_target < at_source)


def _retention(facts: Facts) -> Answer:
    policies = {topic: target for topic, _, _, target in pairs(facts, "cleanup.policy")}
    short = [
        (remote, config, source, target)
        for config in ("retention.ms", "retention.bytes")
        for topic, remote, source, target in pairs(facts, config)
        if "delete" in policies.get(topic, "delete") and _less(target, source)
    ]
    if short:
        remote, config, wanted, _ = short[0]
        return fail(
            f"the copy keeps less: {named(f'{r} {c} {t} < {s}' for r, c, s, t in short)}",
            set_config(facts.target, remote, config, wanted),
        )
    return ok("every copy keeps at least what its source keeps")


def _time_to_loss(facts: Facts) -> Answer:
    exposure = known(facts.status).exposure
    if exposure is None or exposure.total.time_to_loss_s is None:
        return ok("nothing waits that the source could delete")
    first = min(
        (topic for topic in exposure.topics if topic.time_to_loss_s is not None),
        key=lambda topic: topic.time_to_loss_s or 0.0,
    )
    left = first.time_to_loss_s or 0.0
    remedy = set_config(facts.source, first.topic, "retention.ms", "-1") + "   # until the link has caught up"
    if left == 0:
        return fail(f"{first.topic}: the source may delete what is not copied at any moment", remedy)
    behind = first.seconds or 0.0
    if left < 3600 or left < behind:
        return warn(f"{first.topic}: in {left / 60:,.0f} min the source deletes what is not copied", remedy)
    return ok(f"the first that is not copied is kept for {left / 3600:,.1f} more hours ({first.topic})")


def _cleanup(facts: Facts) -> Answer:
    differ = [(r, s, t) for _, r, s, t in pairs(facts, "cleanup.policy") if set(s.split(",")) != set(t.split(","))]
    if differ:
        remote, wanted, _ = differ[0]
        return fail(
            f"other than on the source: {named(f'{r} {t}, not {s}' for r, s, t in differ)}",
            set_config(facts.target, remote, "cleanup.policy", f"[{wanted}]" if "," in wanted else wanted),
        )
    return ok("deletion and compaction are as on the source")


def _tombstones(facts: Facts) -> Answer:
    policies = {topic: source for topic, _, source, _ in pairs(facts, "cleanup.policy")}
    short = [
        (r, s)
        for topic, r, s, t in pairs(facts, "delete.retention.ms")
        if "compact" in policies.get(topic, "") and int(t) < int(s)
    ]
    if short:
        return warn(
            f"deletions are forgotten sooner on {named(r for r, _ in short)}",
            set_config(facts.target, short[0][0], "delete.retention.ms", short[0][1]),
        )
    return ok("deletions of keys are kept as long as on the source")


def _differences(facts: Facts) -> Answer:
    if not facts.link.configs.enabled:
        return warn("topic configs are not synced", f"{facts.link.name}.sync.topic.configs.enabled = true")
    note = facts.notes.get("configs")
    if note is None:
        return Answer("unknown", "the engine has not compared configs yet")
    if note.trouble or note.found:
        return warn(
            note.trouble or f"{note.found:,} differences: {named(note.findings)}", f"twinlog diff {facts.link.name}"
        )
    return ok(f"configs of {note.counts.get('topics', 0):,} topics are equal")


def _offsets(facts: Facts) -> Answer:
    brokers = known(facts.target.broker_configs)
    times = [int(value) for c in brokers.values() if (value := c.get("offsets.retention.minutes"))]
    if times and min(times) < _SHORT_OFFSETS_MIN:
        return warn(
            f"positions of groups without members are kept for {min(times)} minutes",
            "offsets.retention.minutes=10080 in server.properties of the target's brokers, then a rolling restart",
        )
    return ok(f"positions are kept for {min(times) / 1440:.0f} days" if times else "the brokers' default")


CHECKS: Final = (
    Check("retention", _THEME, "After a switch records are gone that the source would still have.", _retention),
    Check("time-to-loss", _THEME, "What the source deletes before it is copied is lost for ever.", _time_to_loss),
    Check("cleanup-policy", _THEME, "A copy that is not compacted, or is, means something else to readers.", _cleanup),
    Check("tombstones", _THEME, "A consumer that comes late never hears that a key was deleted.", _tombstones),
    Check("config-differences", _THEME, "Topics that behave differently after the switch surprise.", _differences),
    Check("offsets-retention", _THEME, "Synced positions that expire make consumers start anywhere.", _offsets),
)
