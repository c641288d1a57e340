"""ACLs: MirrorMaker 2's rules to the letter, what `full` adds, and what is removed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.model.access.acls import (
    UNKNOWN,
    AclBinding,
    AclRules,
    bindings_in_memos,
    diff_acls,
    memos_of,
    not_copied,
    promote_set,
    removal_doubt,
    wanted_acls,
)
from twinlog.model.naming import ReplicationNaming
from twinlog.model.selection import Selection

MIRRORED = ("orders", "orders.eu", "payments")
EVERYTHING = Selection((".*",), ("secret.*",))
MM2 = AclRules("mm2", "A", "B", EVERYTHING, Selection((".*",), ("connect-.*",)), ReplicationNaming(), MIRRORED)
FULL = replace(MM2, mode="full")
IDENTITY = ReplicationNaming("identity", source_alias="A")

names = st.sampled_from(("orders", "ord", "payments", "secret.x", "*", "B.orders", "connect-1", "x/y"))
bindings = st.builds(
    AclBinding,
    resource=st.sampled_from(("topic", "group", "transactional_id")),
    pattern=st.sampled_from(("literal", "prefixed")),
    name=names,
    principal=st.sampled_from(("User:ann", "User:bob")),
    host=st.sampled_from(("*", "10.0.0.1")),
    operation=st.sampled_from(("READ", "WRITE", "ALL", "DESCRIBE", "DELETE", UNKNOWN)),
    permission=st.sampled_from(("ALLOW", "DENY")),
)
sets = st.frozensets(bindings, max_size=12)
rules = st.builds(
    lambda mode, naming: replace(MM2, mode=mode, naming=naming),
    st.sampled_from(("mm2", "full")),
    st.sampled_from((ReplicationNaming(), IDENTITY)),
)


def topic(name: str, operation: str = "READ", permission: str = "ALLOW", *, prefixed: bool = False) -> AclBinding:
    return AclBinding("topic", "prefixed" if prefixed else "literal", name, "User:ann", "*", operation, permission)


# --- MirrorMaker 2's rules --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (topic("orders"), topic("A.orders")),
        (topic("orders", "DESCRIBE"), topic("A.orders", "DESCRIBE")),
        (topic("orders", "ALL"), topic("A.orders", "READ")),
        (topic("orders", "ALL", "DENY"), topic("A.orders", "ALL", "DENY")),
        (topic("orders", "WRITE", "DENY"), topic("A.orders", "WRITE", "DENY")),
        (topic("*"), topic("A.*")),  # useless, but that is what it does
        (topic("orders", "WRITE"), None),
        (topic("secret.x"), None),
        (topic("B.orders"), None),
        (topic("orders", prefixed=True), None),
        (AclBinding("group", "literal", "g", "User:ann", "*", "READ", "ALLOW"), None),
        (AclBinding("transactional_id", "literal", "t", "User:ann", "*", "WRITE", "ALLOW"), None),
    ],
)
def test_mirrormaker_s_rules(source: AclBinding, target: AclBinding | None) -> None:
    assert wanted_acls([source], MM2) == ({target} if target else set())


def test_with_unchanged_names_the_wildcard_is_one() -> None:
    assert wanted_acls([topic("*")], replace(MM2, naming=IDENTITY)) == {topic("*")}


# --- full -------------------------------------------------------------------------------------------------------------


def test_full_carries_prefixes_wildcards_and_groups() -> None:
    groups = {AclBinding("group", "literal", name, "User:ann", "*", "READ", "ALLOW") for name in ("g", "*")}
    excluded = AclBinding("group", "literal", "connect-1", "User:ann", "*", "READ", "ALLOW")
    given = {topic("orders", prefixed=True), topic("*"), topic("unheard", prefixed=True), excluded, *groups}

    assert wanted_acls(given, FULL) == {topic("A.orders", prefixed=True), topic("A.", prefixed=True), *groups}


def test_writers_wait_for_the_failover() -> None:
    ids = AclBinding("transactional_id", "prefixed", "app", "User:ann", "*", "WRITE", "ALLOW")
    given = [topic("orders", "WRITE"), topic("payments", "ALL"), topic("ord", "WRITE", prefixed=True), ids]

    assert wanted_acls(given, FULL) == {topic("A.payments", "READ")}
    assert promote_set(given, FULL) == {
        topic("A.orders", "WRITE"),
        topic("A.payments", "ALL"),
        topic("A.ord", "WRITE", prefixed=True),
        ids,
        # Producers go on under the names that they know, and only there.
        *(topic(name, "WRITE") for name in ("orders", "orders.eu")),
        topic("payments", "ALL"),
    }
    assert promote_set(given, MM2) == frozenset()


@given(sets, rules)
def test_rights_under_original_names_wait_for_the_failover_and_reach_no_topic_of_the_target_s_own(
    some: frozenset[AclBinding], rules: AclRules
) -> None:
    before, after = wanted_acls(some, rules), promote_set(some, rules)
    if rules.naming.keeps_names or rules.mode == "mm2":
        return
    for name in MIRRORED:
        theirs = {replace(b, pattern="literal", name=name) for b in some if b.resource == "topic" and b.covers(name)}
        known = {binding for binding in theirs if binding.operation != UNKNOWN}
        assert known <= after
        assert not {binding for binding in before if binding.resource == "topic"} & known
    mine = {b for b in after if b.resource == "topic" and not b.name.startswith("A.")}
    assert {binding.name for binding in mine} <= set(MIRRORED)
    assert {binding.pattern for binding in mine} <= {"literal"}


@given(sets, rules)
def test_nobody_is_let_to_write_into_a_copy_before(some: frozenset[AclBinding], rules: AclRules) -> None:
    for binding in wanted_acls(some, rules):
        if binding.resource == "topic" and binding.allows:
            assert binding.operation not in {"WRITE", "ALL"}


@given(sets, rules)
@pytest.mark.proves("R13")
def test_every_binding_that_full_knows_is_granted_held_back_or_named(
    some: frozenset[AclBinding], rules: AclRules
) -> None:
    named = not_copied(some, rules)
    for binding in some:
        alone = [binding]
        if binding.operation == UNKNOWN:
            assert not wanted_acls(alone, rules) | promote_set(alone, rules)
        elif rules.mode == "full" and binding.resource == "transactional_id":
            assert promote_set(alone, rules)
    assert all("User:" in sentence for sentence in named)
    assert bool(named) <= any(binding.operation == UNKNOWN for binding in some)


# --- the diff ---------------------------------------------------------------------------------------------------------


@given(sets, sets, sets, st.booleans(), st.none() | st.just("doubtful"))
@pytest.mark.proves("R13")
def test_what_was_there_before_us_stays_and_one_cycle_is_enough(
    wanted: frozenset[AclBinding],
    have: frozenset[AclBinding],
    added: frozenset[AclBinding],
    removing: bool,
    doubt: str | None,
) -> None:
    diff = diff_acls(wanted, have, added, removing=removing, doubt=doubt)
    after = (have | diff.create) - diff.remove
    ours = diff.kept | diff.create

    assert have - added <= after
    assert wanted <= after
    assert not diff.remove or (removing and doubt is None)
    if removing and doubt is None:
        assert ours <= wanted
    again = diff_acls(wanted, after, ours, removing=removing, doubt=doubt)
    assert (again.create, again.remove) == (frozenset(), frozenset())


def test_an_empty_or_another_source_is_not_believed() -> None:
    assert removal_doubt([topic("orders")], "here", "here") is None
    assert removal_doubt([topic("orders")], "here", None) is None
    assert "no ACLs at all" in (removal_doubt([], "here", "here") or "")
    assert "another cluster" in (removal_doubt([topic("orders")], "here", "there") or "")


@given(sets, sets)
def test_what_is_remembered_comes_back(added: frozenset[AclBinding], held: frozenset[AclBinding]) -> None:
    bodies = {**memos_of("added", added), **memos_of("promote", held), "source": {"cluster_id": "x"}}

    assert bindings_in_memos("added", bodies) == added
    assert bindings_in_memos("promote", bodies) == held
