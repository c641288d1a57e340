"""What an instance writes down, it finds again, also when the end is torn."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from twinlog.registry.snapshot import Kept, Snapshot

RECORDS = st.lists(
    st.builds(
        Kept,
        st.integers(0, 2**40),
        st.integers(0, 2**40),
        st.one_of(st.none(), st.binary(max_size=20)),
        st.one_of(st.none(), st.binary(max_size=50)),
    ),
    max_size=20,
)


@given(RECORDS, RECORDS, st.integers(0, 200))
def test_everything_up_to_a_torn_end_comes_back(
    tmp_path_factory: object, first: list[Kept], more: list[Kept], cut: int
) -> None:
    path = Path(tmp_path_factory.mktemp("s")) / "snapshot"  # type: ignore[attr-defined]
    snapshot = Snapshot(path)
    snapshot.begin()
    for record in first:
        snapshot.add(record)
    assert snapshot.written_at is None  # nothing counts before everything was read
    snapshot.whole()
    for record in more:
        snapshot.add(record)
    snapshot.close()
    assert list(Snapshot(path).records()) == [*first, *more]
    data = path.read_bytes()
    path.write_bytes(data[: max(len(data) - cut, 18)])
    found = list(Snapshot(path).records())
    assert found == [*first, *more][: len(found)]


def test_a_new_snapshot_replaces_the_old_one_only_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "snapshot"
    old, new = Kept(1, 1, b"k", b"old"), Kept(2, 2, b"k", None)
    first = Snapshot(path)
    first.begin()
    first.add(old)
    first.whole()
    first.close()
    second = Snapshot(path)
    second.begin()
    second.add(new)
    second.close()  # killed while it read
    assert list(Snapshot(path).records()) == [old]
