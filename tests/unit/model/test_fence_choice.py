"""Whether producers can be shut out by name: only where nobody may write without being named."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.model.access.acls import AclBinding
from twinlog.model.switch.fence_choice import EVERYBODY, why_not_by_name, writers_of

TOPICS = ("orders", "orders.eu")
bindings = st.builds(
    AclBinding,
    resource=st.sampled_from(("topic", "group")),
    pattern=st.sampled_from(("literal", "prefixed")),
    name=st.sampled_from(("orders", "ord", "orders.eu", "*", "payments")),
    principal=st.sampled_from(("User:ann", "User:bob", EVERYBODY)),
    host=st.just("*"),
    operation=st.sampled_from(("READ", "WRITE", "ALL", "DESCRIBE")),
    permission=st.sampled_from(("ALLOW", "DENY")),
)


def rule(name: str, operation: str = "WRITE", who: str = "User:ann", *, prefixed: bool = False) -> AclBinding:
    return AclBinding("topic", "prefixed" if prefixed else "literal", name, who, "*", operation, "ALLOW")


@pytest.mark.parametrize(
    ("rules", "why"),
    [
        ([rule("ord", prefixed=True)], None),
        ([rule("*")], None),
        ([rule("orders"), rule("orders.eu", "READ")], None),
        ([rule("orders")], "no ACL speaks of orders.eu"),
        ([rule("ord", prefixed=True), rule("orders", "ALL", EVERYBODY)], "everybody may write to orders"),
        ([rule("ord", prefixed=True), rule("orders", "READ", EVERYBODY)], None),
        ([], "no ACL speaks of orders"),
    ],
)
def test_where_a_fence_by_name_holds(rules: list[AclBinding], why: str | None) -> None:
    assert why_not_by_name(TOPICS, rules) == why


@given(st.lists(bindings, max_size=8))
def test_where_it_holds_every_writer_has_a_name_and_every_topic_a_rule(some: list[AclBinding]) -> None:
    if why_not_by_name(TOPICS, some) is not None:
        return
    for topic in TOPICS:
        assert EVERYBODY not in writers_of(topic, some)
        assert any(one.covers(topic) and one.resource == "topic" for one in some)
