"""What two topics of schemas do not agree on. Pure.

`home` is the topic that is mirrored, `copy` the mirrored one. What the copy lacks is late as long as it was not read up
to where the home ended; what the copy has beyond the home, or has otherwise, is a divergence at once.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from twinlog.registry.pair.index import SchemaId, TopicIndex

Kind = Literal["two schemas", "only in the copy", "missing in the copy", "another id", "two homes"]


@dataclass(frozen=True, slots=True)
class Divergence:
    """One thing that must not be."""

    kind: Kind
    what: str
    subjects: tuple[str, ...] = ()

    def __str__(self) -> str:
        where = f" ({', '.join(self.subjects[:3])})" if self.subjects else ""
        match self.kind:
            case "two schemas":
                return f"{self.what} stands for two schemas{where}"
            case "only in the copy":
                return f"{self.what} is in the copy and not at home{where}"
            case "missing in the copy":
                return f"{self.what} is at home and not in the copy{where}"
            case "another id":
                return f"{self.what} has another id in the copy{where}"
            case "two homes":
                return self.what


def divergences(home: TopicIndex, copy: TopicIndex, *, complete: bool) -> Iterator[Divergence]:
    """Compare. `complete`: the copy was read up to what the home held when it was read."""
    if home.home is not None and copy.home is not None and copy.home.term > home.home.term:
        told = f"the copy was promoted (term {copy.home.term}), and the home does not know (term {home.home.term})"
        yield Divergence("two homes", told)
        return
    here, there = home.digests(), copy.digests()
    for number in sorted(there):
        if number not in here:
            yield Divergence("only in the copy", str(number), _subjects(copy, number))
        elif here[number] != there[number]:
            yield Divergence("two schemas", str(number), _subjects(copy, number))
    for place, held in sorted(copy.places.items()):
        other = home.places.get(place)
        if other is not None and other.id != held.id:
            yield Divergence("another id", str(place), (f"id {other.id} at home, id {held.id} in the copy",))
    if complete:
        for number in sorted(here.keys() - there.keys()):
            yield Divergence("missing in the copy", str(number), _subjects(home, number))


def _subjects(index: TopicIndex, number: SchemaId) -> tuple[str, ...]:
    return tuple(dict.fromkeys(place.subject for place in index.places_of(number)))
