"""What instances of the registry tell each other in their group: Confluent's bytes, and the same choice for all."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from twinlog.registry.identity import Identity, assignment_of, elect

ONE = Identity("127.0.0.1", 21081)
JOINED = b'{"host":"127.0.0.1","port":21081,"master_eligibility":true,"scheme":"http","version":1,"leader":false}'
"""Read from a broker while a Confluent registry 8.1.1 was a member of the group."""


def test_an_instance_joins_with_the_bytes_of_confluent() -> None:
    assert ONE.metadata(leader=False) == JOINED


def test_the_assignment_has_the_fields_of_confluent_in_their_order() -> None:
    assigned = elect({"sr-1-x": JOINED})
    assert assigned == b'{"error":0,"master":"sr-1-x","master_identity":' + JOINED + b',"version":1}'
    assert assignment_of(assigned).leader == ONE


def test_the_smallest_address_as_text_leads_and_a_leader_stays() -> None:
    members = {"a": Identity("h", 9000), "b": Identity("h", 10000), "c": Identity("a", 1, eligible=False)}
    said = {name: member.metadata(leader=False) for name, member in members.items()}
    assert assignment_of(elect(said)).member == "b"
    assert assignment_of(elect({**said, "a": members["a"].metadata(leader=True)})).member == "a"


def test_nobody_leads_where_nobody_may_or_two_have_one_address() -> None:
    assert assignment_of(elect({"a": Identity("h", 1, eligible=False).metadata(leader=False)})).leader is None
    twins = {"a": ONE.metadata(leader=False), "b": ONE.metadata(leader=False)}
    assert json.loads(elect(twins)) == {"error": 1, "version": 1}


@given(
    st.lists(st.tuples(st.integers(1, 65535), st.booleans(), st.booleans()), unique_by=lambda one: one[0], max_size=8)
)
def test_every_member_computes_the_same_leader_and_only_one_that_may(found: list[tuple[int, bool, bool]]) -> None:
    said = {f"m{port}": Identity("h", port, eligible).metadata(leader=led) for port, eligible, led in found}
    shuffled = dict(sorted(said.items(), reverse=True))
    first, second = assignment_of(elect(said)), assignment_of(elect(shuffled))
    assert first == second
    assert (first.leader is None) == (not any(eligible for _, eligible, _ in found))
    assert first.leader is None or first.leader.eligible
