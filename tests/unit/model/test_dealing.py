"""Which member of a group runs which connector: evenly, and with as few moves as possible."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from hypothesis import given
from hypothesis import strategies as st

from twinlog.model.dealing import deal

NAMES = st.sets(st.sampled_from([f"c{n}" for n in range(12)]))
MEMBERS = st.sets(st.sampled_from("ABCDE"), min_size=1)
Dealt = Mapping[str, Sequence[str]]


def owners(dealt: Dealt) -> dict[str, str]:
    return {name: member for member, its in dealt.items() for name in its}


def kept(before: Dealt, after: Dealt) -> int:
    return sum(len(set(its) & set(after.get(member, ()))) for member, its in before.items())


@given(NAMES, MEMBERS, NAMES, MEMBERS)
def test_every_connector_is_dealt_once_and_evenly(
    names: set[str], members: set[str], earlier: set[str], former: set[str]
) -> None:
    dealt = deal(names, members, deal(earlier, former, {}))
    assert sorted(itertools.chain(*dealt.values())) == sorted(names)
    assert dealt.keys() == members
    sizes = [len(its) for its in dealt.values()]
    assert max(sizes) - min(sizes) <= 1


@given(NAMES, MEMBERS, st.dictionaries(st.sampled_from("ABCDE"), NAMES))
def test_the_same_members_deal_the_same_again(names: set[str], members: set[str], before: dict[str, set[str]]) -> None:
    dealt = deal(names, members, before)
    assert deal(names, members, dealt) == dealt, "nothing moves without a reason"
    assert deal(sorted(names, reverse=True), sorted(members, reverse=True), before) == dealt


@given(st.sets(st.sampled_from("abcdef"), max_size=6), st.sets(st.sampled_from("ABC"), min_size=1), st.data())
def test_no_other_even_dealing_keeps_more_connectors_where_they_are(
    names: set[str], members: set[str], data: st.DataObject
) -> None:
    owner = data.draw(st.fixed_dictionaries({name: st.sampled_from("ABCD") for name in sorted(names)}))
    before = {member: [name for name in owner if owner[name] == member] for member in "ABCD"}
    dealt = deal(names, members, before)
    best = 0
    for choice in itertools.product(sorted(members), repeat=len(names)):
        other = {m: [n for n, at in zip(sorted(names), choice, strict=True) if at == m] for m in sorted(members)}
        sizes = [len(its) for its in other.values()]
        if max(sizes) - min(sizes) <= 1:
            best = max(best, kept(before, other))
    assert kept(before, dealt) == best


@given(NAMES, MEMBERS, st.sampled_from("ABCDE"))
def test_a_member_that_goes_moves_its_own_connectors_only(names: set[str], members: set[str], gone: str) -> None:
    before = deal(names, members, {})
    left = members - {gone}
    if left:
        after = owners(deal(names, left, before))
        assert all(after[name] == member for name, member in owners(before).items() if member != gone)


@given(NAMES, MEMBERS, st.sampled_from("ABCDE"))
def test_a_member_that_comes_gets_what_the_others_have_too_much(names: set[str], members: set[str], new: str) -> None:
    before = deal(names, members - {new}, {})
    if before:
        after = deal(names, members | {new}, before)
        moved = {name for name, member in owners(before).items() if owners(after)[name] != member}
        assert moved == set(after[new])


def test_nobody_gets_anything_where_there_is_no_member() -> None:
    assert deal(["a"], [], {"A": ["a"]}) == {}
