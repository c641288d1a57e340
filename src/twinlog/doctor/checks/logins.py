"""Whether applications that move to the target can log in there, and whether the same limits bind them."""

from __future__ import annotations

from typing import Final

from twinlog.doctor.answers import Answer, Check, known, named, ok, warn
from twinlog.doctor.facts import Facts
from twinlog.model.access.client_quotas import quota_values
from twinlog.model.access.scram_users import missing_users
from twinlog.model.access.value_tables import judge_values

_THEME: Final = "logins"


def _users(facts: Facts) -> Answer:
    source, target = known(facts.source.scram_users), known(facts.target.scram_users)
    missing = missing_users(source, target)
    if missing:
        return warn(
            f"cannot log in on {facts.target.alias}: {named(missing)}",
            missing[0].command(facts.target.command("kafka-configs")),
        )
    if not source:
        return ok(f"{facts.source.alias} has no SCRAM users")
    return ok(f"all {len(source):,} SCRAM users of {facts.source.alias} exist on {facts.target.alias}")


def _quotas(facts: Facts) -> Answer:
    source, target = quota_values(known(facts.source.quotas)), quota_values(known(facts.target.quotas))
    different = judge_values(source, target, {}, removing=False).differences
    if different:
        listed = [f"{quota.owner} {quota.key} {quota.wish} (there {quota.have or 'not set'})" for quota in different]
        return warn(
            f"client quotas differ on {facts.target.alias}: {named(listed)}",
            f"sync.client.quotas.mode = sync on {facts.link.name}, or set them with kafka-configs.sh",
        )
    if not source:
        return ok(f"{facts.source.alias} has no client quotas")
    return ok(f"client quotas of {len(source):,} users and client ids are equal")


CHECKS: Final = (
    Check("scram-users", _THEME, "After a failover these applications cannot log in on the target.", _users),
    Check("equal-quotas", _THEME, "After a failover applications are throttled differently than before.", _quotas),
)
