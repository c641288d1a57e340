"""Two datacenters over random histories: cut apart, both written to, brought together again."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twinlog.registry.memory import MemoryStore
from twinlog.registry.pair.home import Home, confirmed, home_of
from twinlog.registry.pair.index import TopicIndex
from twinlog.registry.pair.merge import Conflict, Cut, Merge, merge
from twinlog.registry.pair.orders import BringAhead, BringHome, Promote, highest_ids
from twinlog.registry.parsing import Parser
from twinlog.registry.records import Record, decode_config
from twinlog.registry.refusals import Refusal
from twinlog.registry.requests import SchemaRequest
from twinlog.registry.rules import Rules
from twinlog.registry.schemas.schema import Reference
from twinlog.registry.state import State
from twinlog.registry.subject_names import context_of
from twinlog.registry.writes.delete import DeleteSubject, DeleteVersion
from twinlog.registry.writes.register import Register
from twinlog.registry.writes.round import Order
from twinlog.registry.writes.settings import DeleteConfig, PutConfig, PutMode

RULES = Rules(default_level="NONE")
PARSER = Parser()
subjects = st.sampled_from(["a", "b", ":.x:a"])
sizes = st.integers(1, 7)


@dataclass
class Datacenter:
    """A registry in memory that remembers what it promised to its clients."""

    store: MemoryStore = field(default_factory=lambda: MemoryStore(now_ms=lambda: 0))
    promised: dict[tuple[str, int], set[str]] = field(default_factory=dict)

    @property
    def state(self) -> State:
        return self.store.state

    def carry_out(self, order: Order) -> object:
        try:
            plan = asyncio.run(self.store.submit(order)).plan
        except Refusal:
            return None
        if isinstance(order, Register):
            key = (context_of(order.request.subject), plan.answer["id"])
            self.promised.setdefault(key, set()).add(str(order.request.text))
        return plan.answer


def register(subject: str, size: int) -> Order:
    text = json.dumps({"type": "fixed", "name": "F", "size": size}, separators=(",", ":"))
    return Register(SchemaRequest(subject, text), normalize=False, parser=PARSER, rules=RULES)


def refer(subject: str, to: str, version: int) -> Order:
    fields = [{"name": "f", "type": "F"}]
    text = json.dumps({"type": "record", "name": "R", "fields": fields}, separators=(",", ":"))
    request = SchemaRequest(subject, text, references=(Reference("F", to, version),))
    return Register(request, normalize=False, parser=PARSER, rules=RULES)


orders = st.one_of(
    st.builds(register, subjects, sizes),
    st.builds(register, subjects, sizes),
    st.builds(refer, st.just("r"), st.sampled_from(["a", "b"]), st.integers(1, 3)),
    st.builds(lambda s, p: DeleteSubject(s, permanent=p), subjects, st.booleans()),
    st.builds(lambda s, v, p: DeleteVersion(s, v, p, str(v)), subjects, st.integers(1, 4), st.booleans()),
    st.builds(lambda s, n: PutConfig(s, {"compatibilityLevel": "NONE", "normalize": n}), subjects, st.booleans()),
    st.builds(lambda s: DeleteConfig(s, RULES), subjects),
    st.builds(lambda s: PutMode(s, "READONLY", False, RULES), subjects),
    st.builds(lambda s: PutMode(s, None, False, RULES), subjects),
)


def for_good(subject: str, version: int) -> list[Order]:
    return [DeleteVersion(subject, version, permanent, str(version)) for permanent in (False, True)]


some = st.one_of(
    orders.map(lambda one: [one]), orders.map(lambda one: [one]), st.builds(for_good, subjects, st.integers(1, 3))
)
histories = st.lists(some, max_size=14).map(lambda parts: [order for part in parts for order in part])


@dataclass
class Story:
    """A is the home; a link copies A's records to B and confirms ids, later and later; then A and B are cut apart."""

    before: list[Order]
    home_after: list[Order]
    away_after: list[Order]
    lag: int
    gap: int
    ahead: int = 0
    """After each so many orders of B, what it registered is brought to A at once, as while records are copied back."""
    a: Datacenter = field(default_factory=Datacenter)
    b: Datacenter = field(default_factory=Datacenter)
    noted: Home | None = None
    copied: int = 0
    cut: Cut = field(default_factory=lambda: Cut(0, 0))
    merged_at: int = 0

    def tell(self) -> Merge:
        for order in self.before:
            self.a.carry_out(order)
            self._link()
        self._link()
        for order in self.home_after:  # not copied any more
            self.a.carry_out(order)
        self.cut = Cut(self.copied, len(self.b.store.log))
        self.b.carry_out(Promote("B", self.noted, self.gap))
        for number, order in enumerate(self.away_after, 1):
            self.b.carry_out(order)
            if self.ahead and number % self.ahead == 0:
                self.a.carry_out(BringAhead(self.b.state))
        self.merged_at = len(self.a.store.log)
        merged = self.a.carry_out(BringHome(self.b.state, self.cut, "A"))
        assert isinstance(merged, Merge)
        return merged

    def _link(self) -> None:
        upto = max(self.copied, len(self.a.store.log) - self.lag)
        for record in self.a.store.log[self.copied : upto]:
            self.b.store.append(record)
        self.copied = upto
        wanted = confirmed("A", self.a.state.home, highest_ids(self.b.state), self.gap)
        if wanted is not None:
            self.noted = wanted  # the ledger first
            self.a.store.append(wanted.record())

    def go_on_copying(self) -> None:
        for record in self.a.store.log[self.copied :]:
            self.b.store.append(record)


stories = st.builds(
    Story, histories, histories, histories, st.integers(0, 6), st.integers(2, 12), ahead=st.integers(0, 3)
)


def resolved(state: State, context: str, number: int) -> str | None:
    holder = next(iter(state.holders(context, number).values()), None)
    return None if holder is None else holder.content.text


@pytest.mark.proves("R20", "R27")
@settings(max_examples=400, deadline=None)
@given(stories)
def test_no_id_ever_stands_for_two_schemas_whatever_was_cut_off(story: Story) -> None:
    story.tell()
    for key in {*story.a.promised, *story.b.promised}:
        assert len(story.a.promised.get(key, set()) | story.b.promised.get(key, set())) == 1, key


@pytest.mark.proves("R27")
@settings(max_examples=400, deadline=None)
@given(stories)
def test_every_schema_of_both_sides_is_home_afterwards_and_nothing_was_overwritten(story: Story) -> None:
    story.tell()
    home, away = story.a.state, story.b.state
    before = _before_merge(story)
    named = {conflict.what for conflict in _conflicts(story)}
    for subject, versions in away.subjects.items():
        for entry in versions.values():
            found = resolved(home, context_of(subject), entry.id)
            if f"{subject} version {entry.version} (id {entry.id})" not in named:
                assert found == entry.content.text, (subject, entry.version)
    for subject, versions in before.subjects.items():
        for entry in versions.values():
            after = home.entry(subject, entry.version)
            if after is None:  # deleted for good away, and unchanged at home
                assert away.tombstones[subject, entry.version] >= story.cut.away
                assert entry.changed < story.cut.home or _is_of_b(story, subject, entry.id)
            else:
                assert (after.id, after.content.text) == (entry.id, entry.content.text)
                assert after.deleted or not entry.deleted


@pytest.mark.proves("R27")
@settings(max_examples=300, deadline=None)
@given(stories)
def test_what_was_deleted_for_good_at_home_does_not_come_back(story: Story) -> None:
    story.tell()
    base = State()
    for offset, record in enumerate(story.a.store.log[: story.copied]):
        base.apply(record.key, record.value, offset, 0)
    before = _before_merge(story)
    for subject, versions in base.subjects.items():
        for entry in versions.values():
            gone = before.entry(subject, entry.version) is None
            back = story.a.state.entry(subject, entry.version)
            if gone and back is not None and back.id == entry.id:
                # Only what the away side registered anew, after it was promoted, may be there again.
                there = story.b.state.entry(subject, entry.version)
                assert there is not None
                assert there.offset >= story.cut.away
                assert not there.deleted


@pytest.mark.proves("R27")
@settings(max_examples=300, deadline=None)
@given(stories)
def test_a_merge_can_be_repeated_and_both_topics_end_equal(story: Story) -> None:
    story.tell()
    again = story.a.carry_out(BringHome(story.b.state, story.cut, "A"))
    assert isinstance(again, Merge)
    assert again.records == []
    story.go_on_copying()
    assert _facts(story.a.state) == _facts(story.b.state)
    assert story.b.state.home is not None
    assert (story.b.state.home.cluster, story.b.state.home.term) == ("A", 2)


def test_a_version_that_the_home_deleted_for_good_after_the_cut_stays_deleted_on_both_sides() -> None:
    story = Story([register("a", 1), register("a", 2)], for_good("a", 1), [register("a", 3)], 0, 2)
    story.tell()
    story.go_on_copying()
    for side in (story.a, story.b):
        assert side.state.entry("a", 1) is None
        assert side.state.entry("a", 2) is not None
        assert side.state.entry("a", 3) is not None


def test_what_was_deleted_away_and_is_used_at_home_is_on_both_sides_again() -> None:
    story = Story([register("a", 1)], [refer("r", "a", 1)], for_good("a", 1), 0, 2)
    merged = story.tell()
    assert [conflict.kind for conflict in merged.conflicts] == ["deleted away, used at home"]
    story.go_on_copying()
    assert story.b.state.entry("a", 1) is not None
    assert _facts(story.a.state) == _facts(story.b.state)


@pytest.mark.proves("R27")
@settings(max_examples=200, deadline=None)
@given(stories, st.integers(0, 30))
def test_a_merge_that_was_cut_off_ends_the_same_way(story: Story, written: int) -> None:
    merged = story.tell()
    whole = _facts(story.a.state)
    count = len(merged.records)
    broken = Datacenter()
    for record in story.a.store.log[2 : len(story.a.store.log) - max(0, count - min(written, count))]:
        broken.store.append(record)
    broken.carry_out(BringHome(story.b.state, story.cut, "A"))
    assert _facts(broken.state) == whole


@settings(max_examples=200, deadline=None)
@given(stories)
def test_the_small_index_sees_the_same_ids_as_the_registry(story: Story) -> None:
    story.tell()
    index = TopicIndex()
    for offset, record in enumerate(story.a.store.log):
        index.apply(record.key, record.value, offset)
    state = story.a.state
    known = {(name, number) for name, context in state.contexts.items() for number in context.ids}
    assert {tuple(one) for one in index.digests()} == known
    assert index.home == state.home
    assert all(index.highest.get(name, 0) <= state.max_id(name) for name in state.contexts)


@pytest.mark.parametrize(
    "value",
    [
        b'{"id":9,"schema":"\\"int\\"","deleted":false}',
        b'{"subject":"b","version":1,"id":9,"schema":"\\"int\\"","deleted":false}',
        b'{"subject":"a","version":1,"id":"9","schema":"\\"int\\"","deleted":false}',
        b"no JSON",
    ],
)
def test_the_index_leaves_out_what_the_registry_leaves_out(value: bytes) -> None:
    """A failback waits until every id of the index is home: an id that no registry knows would keep it waiting."""
    key = b'{"keytype":"SCHEMA","subject":"a","version":1,"magic":1}'
    good = b'{"subject":"a","version":1,"id":1,"schemaType":"AVRO","schema":"\\"string\\"","deleted":false}'
    state, index = State(), TopicIndex()
    for offset, written in enumerate((good, value)):
        state.apply(key, written, offset, 0)
        index.apply(key, written, offset)
    assert [number.number for number in index.digests()] == [*state.contexts["."].ids] == [1]
    assert index.faults == 1


@pytest.mark.proves("R26", "R27")
@settings(max_examples=300, deadline=None)
@given(stories)
def test_what_is_brought_ahead_resolves_at_home_before_the_failback_and_only_there_is_anything_new(
    story: Story,
) -> None:
    story.ahead = 1
    story.away_after.append(register("a", 9))
    story.tell()
    before = _before_merge(story)
    for subject, versions in story.b.state.subjects.items():
        for entry in versions.values():
            if _is_of_b(story, subject, entry.id):
                assert resolved(before, context_of(subject), entry.id) == entry.content.text


def test_a_home_that_schemas_were_brought_to_knows_that_they_belong_to_the_other_side() -> None:
    story = Story([register("a", 1)], [], [register("a", 2)], 0, 2, ahead=1)
    story.tell()
    home = _before_merge(story).home
    assert home is not None
    assert (home.cluster, home.term) == ("B", 1)
    assert story.a.state.home is not None
    assert (story.a.state.home.cluster, story.a.state.home.term) == ("A", 2)


def test_what_was_brought_ahead_and_deleted_for_good_away_does_not_stay() -> None:
    story = Story([], [], [register("a", 1), *for_good("a", 1)], 0, 2, ahead=1)
    merged = story.tell()
    assert merged.conflicts == []
    story.go_on_copying()
    assert story.a.state.entry("a", 1) is None
    assert _facts(story.a.state) == _facts(story.b.state)


def _is_of_b(story: Story, subject: str, number: int) -> bool:
    """Whether only B can have given this id."""
    promoted = next(home for home in map(_home_said, story.b.store.log) if home is not None and home.cluster == "B")
    return number > promoted.floor(context_of(subject))


def _home_said(record: Record) -> Home | None:
    if b"__twinlog-home" not in record.key or record.value is None:
        return None
    return home_of(decode_config(record.value))


def _conflicts(story: Story) -> list[Conflict]:
    return merge(_before_merge(story), story.b.state, story.cut, "A").conflicts


def _before_merge(story: Story) -> State:
    state = State()
    for offset, record in enumerate(story.a.store.log[: story.merged_at]):
        state.apply(record.key, record.value, offset, 0)
    return state


def _facts(state: State) -> object:
    versions = {
        (subject, entry.version, entry.id, entry.content.text, entry.deleted)
        for subject, found in state.subjects.items()
        for entry in found.values()
    }
    return versions, state.configs, state.modes, state.home
