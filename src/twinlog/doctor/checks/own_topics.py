"""Checks whether other principals may write to Twinlog's own topics, on both sides."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from twinlog.doctor.answers import Answer, Check, known, named, ok, warn
from twinlog.doctor.facts import EndFacts, Facts
from twinlog.errors import AuthorizerMissing
from twinlog.model.access.acls import WILDCARD, AclBinding
from twinlog.model.naming import OWN_PREFIX, SWITCH_TOPIC

_THEME: Final = "rights"
_WRITING: Final = frozenset({"WRITE", "ALL", "DELETE", "ALTER", "ALTER_CONFIGS"})


def foreign_writers(bindings: Iterable[AclBinding], own: frozenset[str]) -> dict[str, AclBinding]:
    """Principals other than ours who may write to some topic of our own, each with a rule that lets them.

    A rule that denies takes the right away again where it covers all our topics. Super users have no rules, and do not
    appear here.
    """
    concerns = [
        binding
        for binding in bindings
        if binding.resource == "topic" and binding.operation in _WRITING and _touches(binding)
    ]
    denied = {
        concern.principal
        for concern in concerns
        if not concern.allows
        and concern.host == WILDCARD
        and concern.operation in {"WRITE", "ALL"}
        and _covers_all(concern)
    }
    if f"User:{WILDCARD}" in denied:
        return {}
    writers: dict[str, AclBinding] = {}
    for rule in sorted(concerns):
        if rule.allows and rule.principal not in own and rule.principal not in denied:
            writers.setdefault(rule.principal, rule)
    return writers


def _touches(rule: AclBinding) -> bool:
    """Whether a rule speaks of some topic of our own."""
    if rule.pattern == "prefixed":
        return rule.name.startswith(OWN_PREFIX) or OWN_PREFIX.startswith(rule.name)
    return rule.name == WILDCARD or rule.name.startswith(OWN_PREFIX)


def _covers_all(rule: AclBinding) -> bool:
    return OWN_PREFIX.startswith(rule.name) if rule.pattern == "prefixed" else rule.name == WILDCARD


def _judge(facts: Facts, end: EndFacts) -> Answer:
    if isinstance(end.acls, AuthorizerMissing):
        if end.user is None and not end.encrypted:
            return ok(f"{end.alias} has neither logins nor an authorizer: whoever reaches it may write everywhere")
        told = f"{end.alias} has no authorizer: whoever logs in there may write to {OWN_PREFIX}* and order a switch"
        return warn(told, "set authorizer.class.name on the brokers, and give Write on these topics to Twinlog alone")
    own = frozenset((*facts.link.switch.principals, *(f"User:{name}" for name in end.users)))
    strangers = foreign_writers(known(end.acls), own)
    if not strangers:
        return ok(f"nobody else may write to {OWN_PREFIX}* on {end.alias} (super users are not listed)")
    unknown = "" if own else "; our principal there is unknown; set switch.principals"
    who, rule = next(iter(strangers.items()))
    remedy = (
        f"{end.command('kafka-acls')} --add --deny-principal '{who}' --operation Write --topic {OWN_PREFIX} "
        f"--resource-pattern-type prefixed   # or narrow: {rule}"
    )
    return warn(f"may write to {OWN_PREFIX}* on {end.alias}: {named(strangers)}{unknown}", remedy)


_WHY: Final = f"Whoever may write to {SWITCH_TOPIC} can stop links and have a side shut."
CHECKS: Final = (
    Check("source-own-topics", _THEME, _WHY, lambda facts: _judge(facts, facts.source)),
    Check("target-own-topics", _THEME, _WHY, lambda facts: _judge(facts, facts.target)),
)
