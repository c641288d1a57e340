"""Positions of groups on their way home, against logs that are written out record by record."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.offset_map import OffsetMap

from twinlog.model.ledger.runs import Run, RunMap
from twinlog.model.ledger.translation import Span
from twinlog.model.switch.failback import Cut, Return, before_stray, place_back


def make_map(pairs: list[tuple[int, int]], span: Span) -> OffsetMap:
    runs = RunMap()
    for source, target in pairs:
        runs.add(Run(source, target, 1))
    return OffsetMap(span, runs)


@pytest.mark.proves("R5")
@given(
    common=st.integers(0, 6),
    holes=st.sets(st.integers(0, 5)),
    tail=st.integers(0, 3),
    born=st.integers(0, 5),
    later=st.integers(0, 3),
    appended=st.booleans(),
    data=st.data(),
)
def test_nothing_unread_is_skipped_and_nothing_is_read_again_without_need(
    *, common: int, holes: set[int], tail: int, born: int, later: int, appended: bool, data: st.DataObject
) -> None:
    # Old primary: common (some offsets are holes), tail, then what came back. Other side: common, born, tail, later.
    kept = [offset for offset in range(common) if offset not in holes]
    old = {offset: f"c{offset}" for offset in kept} | {common + i: f"t{i}" for i in range(tail)}
    other = [f"c{offset}" for offset in kept] + [f"b{i}" for i in range(born)]
    cut = Cut(common, len(kept), common + tail)
    forward_pairs = [(offset, index) for index, offset in enumerate(kept)]
    reached = (common, len(kept))
    if appended and tail:
        forward_pairs += [(common + i, len(other) + i) for i in range(tail)]
        other += [f"t{i}" for i in range(tail)]
        reached = (common + tail, len(other))
    other += [f"l{i}" for i in range(later)]
    back_pairs: list[tuple[int, int]] = []
    at = common + tail
    for index, name in enumerate(other):
        if name[0] in "bl":
            old[at] = name
            back_pairs.append((index, at))
            at += 1
    forward = make_map(forward_pairs, Span(0, 0, *reached))
    back = make_map(back_pairs, Span(len(kept), common + tail, len(other), at))
    position = data.draw(st.integers(0, len(other)))
    read_before = data.draw(st.sampled_from((None, *range(common + tail + 1))))

    found = place_back(position, cut, forward, back, appended=appended, read_before=read_before)

    assert found.offset is not None
    read = set(other[:position]) | {name for offset, name in old.items() if offset < (read_before or 0)}
    unread = [offset for offset, name in old.items() if name not in read]
    skipped = {old[offset] for offset in unread if offset < found.offset}
    # A tail that is only kept is dealt with by its export, unless the group stands in the common part anyway.
    assert {name for name in skipped if not (name.startswith("t") and not appended)} == set()
    again = [name for offset, name in old.items() if offset >= found.offset and name in set(other[:position])]
    if not found.why:
        assert [name for name in again if not name.startswith("t")] == []
    assert len([name for name in again if name.startswith(("b", "l"))]) <= found.again


@pytest.mark.proves("R5")
@pytest.mark.parametrize(
    ("offset", "stray", "read_before", "wanted"),
    [
        (110, 105, None, 105),
        (110, 105, 100, 105),
        (110, 105, 106, 110),  # it read the stray where it was written
        (105, 105, None, 105),
        (104, 105, None, 104),
        (110, None, None, 110),
        (None, 105, None, None),
    ],
)
def test_nobody_is_put_behind_a_stray_that_it_has_not_read(
    offset: int | None, stray: int | None, read_before: int | None, wanted: int | None
) -> None:
    found = before_stray(Return(offset), stray, read_before)
    assert found.offset == wanted
    assert bool(found.why) == (found.offset != offset)
