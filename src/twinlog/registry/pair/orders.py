"""What a switch writes into topics of schemas: that a cluster is their home, and what was registered away. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from twinlog.registry.pair.home import Home, later, promoted
from twinlog.registry.pair.index import Place, TopicIndex, fingerprint
from twinlog.registry.pair.merge import Cut, bring_ahead, merge
from twinlog.registry.state import State
from twinlog.registry.writes.round import Plan, Round


@dataclass
class Claim:
    """Write into a topic which cluster its schemas belong to. From then on no schema is registered there.

    The answer is None, or why the copy must not begin: the topic has a schema that the home does not have.
    """

    home: TopicIndex
    says: Home
    alone: bool = True

    def plan(self, state: State, _current: Round) -> Plan:
        """Nothing is written where a home is named already."""
        for subject, versions in state.subjects.items():
            for version, entry in versions.items():
                held = self.home.places.get(Place(subject, version))
                if held is None or (held.id, held.digest) != (entry.id, fingerprint(entry.content)):
                    return Plan([], f"{subject} version {version} (id {entry.id}) was registered there")
        return Plan([] if state.home is not None else [self.says.record()], None)


@dataclass
class Promote:
    """Make a cluster the home of the schemas that it has a copy of. Nothing is written where it is the home already.

    `noted` is what the link's ledger remembers of the old home.
    """

    cluster: str
    noted: Home | None
    gap: int
    alone: bool = True

    def plan(self, state: State, _current: Round) -> Plan:
        """The answer is the home that is written, or that is there."""
        if state.home is not None and state.home.cluster == self.cluster:
            return Plan([], state.home)
        known = later(self.noted, state.home)
        if known is not None and self.noted is not None and self.noted.term == known.term:
            known = _widest(known, self.noted)
        home = promoted(self.cluster, known, highest_ids(state), self.gap)
        return Plan([home.record()], home)


@dataclass
class BringHome:
    """Write what the away datacenter registered, and that this cluster is the home again."""

    away: State
    cut: Cut
    cluster: str
    alone: bool = True

    def plan(self, state: State, _current: Round) -> Plan:
        """The answer is the merge."""
        merged = merge(state, self.away, self.cut, self.cluster)
        return Plan(merged.records, merged)


@dataclass
class BringAhead:
    """Write the versions whose ids only the away datacenter can have given, while it is promoted."""

    away: State
    alone: bool = True

    def plan(self, state: State, _current: Round) -> Plan:
        """The answer is the merge."""
        merged = bring_ahead(state, self.away)
        return Plan(merged.records, merged)


def highest_ids(state: State) -> dict[str, int]:
    """The highest id of each context that was ever given, as far as a topic tells."""
    return {name: state.max_id(name) for name in {*state.contexts, *state.marks}}


def _widest(first: Home, other: Home) -> Home:
    """Of two words about one term the one that allows more ids: none of them may be given again."""
    gap = max(first.gap, other.gap)
    return Home(
        first.cluster, first.term, gap, _most(first.confirmed, other.confirmed), _most(first.floors, other.floors)
    )


def _most(first: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return {name: max(first.get(name, 0), other.get(name, 0)) for name in {*first, *other}}
