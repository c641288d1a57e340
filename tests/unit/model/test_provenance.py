"""The two kinds of provenance: what a batch's writer and a record's headers decide."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.model.routes.provenance import (
    HEADER,
    ClusterIds,
    Hop,
    Override,
    Provenance,
    WriterNote,
    parse_overrides,
    read_hops,
    read_writer,
)

ENDS = ClusterIds("id-of-S", "id-of-T")
HOME = WriterNote(7, "T->S", "id-of-T")
ELSEWHERE = WriterNote(8, "X->S", "id-of-X")

names = st.text("abcXYZ019._-", min_size=1, max_size=20)
hops = st.builds(Hop, names, names, st.integers(0, 1 << 45))


@given(st.lists(hops, max_size=4))
def test_hops_survive_the_headers_in_their_order_between_others(way: list[Hop]) -> None:
    headers = [("trace", b"1"), *((HEADER, hop.encode()) for hop in way), ("trace", None)]
    assert read_hops(headers) == way


@pytest.mark.parametrize(
    "value", [None, b"", b"a", b"a,b", b"a,b,", b"a,b,-1", b",b,1", b"a,,1", b"\xff\xfe", b"a,b,1,2"]
)
def test_a_header_of_our_name_that_we_did_not_write_says_nothing(value: bytes | None) -> None:
    assert read_hops([(HEADER, value)]) == []


def test_a_writer_is_read_as_it_was_noted() -> None:
    assert read_writer(HOME.key(), HOME.value()) == HOME
    for key, value in (
        (b"writer/7", b"{}"),
        (b"writer/7", b"no json"),
        (b"writer/7", None),
        (b"state/x/0", HOME.value()),
    ):
        assert read_writer(key, value) is None


@pytest.mark.parametrize(
    ("provenance", "home", "elsewhere"),
    [
        (Provenance("batch", "all"), True, False),
        (Provenance("batch", "none"), True, True),
        (Provenance("header"), False, False),
        (Provenance("off"), False, False),
    ],
)
def test_which_writers_are_left_out(provenance: Provenance, home: bool, elsewhere: bool) -> None:
    assert provenance.leaves_out(HOME, ENDS, exempt=False) is home
    assert provenance.leaves_out(ELSEWHERE, ENDS, exempt=False) is elsewhere
    assert provenance.leaves_out(HOME, ENDS, exempt=True) is False
    assert provenance.leaves_out(ELSEWHERE, ENDS, exempt=True) is elsewhere


@pytest.mark.parametrize(
    ("way", "home"),
    [
        ([], False),
        ([Hop("id-of-T", "orders", 5)], True),
        ([Hop("id-of-X", "orders", 4), Hop("id-of-T", "orders", 5)], True),
        ([Hop("id-of-T", "orders", 4), Hop("id-of-X", "orders", 5)], True),
        ([Hop("id-of-T", "payments", 5)], False),
        ([Hop("id-of-S", "orders", 5)], False),
    ],
)
def test_a_record_comes_home_when_any_hop_names_the_target_and_its_topic(way: list[Hop], home: bool) -> None:
    assert Provenance("header").comes_home(way, ENDS, "orders") is home


@pytest.mark.parametrize(
    ("text", "copied"),
    [
        ("id-of-T,orders,-", True),
        (".*,.*,-", True),
        ("id-of-X,orders,-", False),
        ("id-of-T,order,-", False),
        ("id-of-T,orders,100-", True),
        ("id-of-T,orders,101-", False),
        ("id-of-T,orders,-101", True),
        ("id-of-T,orders,-100", False),
        ("id-of-T,orders,100-101", True),
        ("id-of-X,.*,-; id-of-T , ord.* , 50-200 ;", True),
        ("", False),
    ],
)
def test_overrides_let_records_come_home(text: str, copied: bool) -> None:
    provenance = Provenance("header", overrides=parse_overrides(text))
    assert provenance.comes_home([Hop("id-of-T", "orders", 100)], ENDS, "orders") is not copied


def test_every_hop_that_names_the_target_needs_an_override() -> None:
    provenance = Provenance("header", overrides=parse_overrides("id-of-T,orders,-100"))
    assert provenance.comes_home([Hop("id-of-T", "orders", 50), Hop("id-of-T", "orders", 150)], ENDS, "orders")


@pytest.mark.parametrize("text", ["a,b", "a,b,c", "a,b,1-2,d", ",b,-", "a,,-", "a,b,2", "(,b,-", "a,*,-", "a,b,x-y"])
def test_overrides_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="part 1"):
        parse_overrides(text)


def test_only_overrides_without_a_time_exempt_a_topic_from_looking_at_batches() -> None:
    assert Provenance("batch", overrides=(Override("id-of-T", "orders"),)).exempts(ENDS, "orders")
    assert not Provenance("batch", overrides=(Override("id-of-T", "orders", 1),)).exempts(ENDS, "orders")
    assert not Provenance("batch", overrides=(Override("id-of-T", "orders"),)).exempts(ENDS, "payments")
