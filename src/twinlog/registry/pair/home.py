"""Which Kafka cluster the schemas belong to, as a record of the topic says it. Pure.

    term 0   home A, written by the link A->B         ids of A end at confirmed + gap
    term 1   home B, written when B is promoted       ids of B begin behind what A may have given
    term 2   home A, written when the schemas are back

The record is CONFIG of an unused context, so other registries read it as settings that concern nobody. The link copies
it with all others: a registry that finds another cluster's name in its own topic serves a copy and does not write. A
lower term never replaces a higher one. `confirmed` is the highest id of a context that both datacenters know.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from twinlog.registry.records import Record, config_record

HOME_SUBJECT: Final = ":.__twinlog-home:"
_HOME: Final = "home"
_TERM: Final = "term"
_GAP: Final = "gap"
_CONFIRMED: Final = "confirmed:"
_FLOOR: Final = "floor:"
DEFAULT_GAP: Final = 100_000
ANY: Final = "*"
"""Stands for contexts that nobody knew when the term began."""


@dataclass(frozen=True)
class Home:
    """Whose schemas these are. `floors` are what a promoted cluster gives ids above, by context."""

    cluster: str
    term: int = 0
    gap: int = DEFAULT_GAP
    confirmed: Mapping[str, int] = field(default_factory=dict)
    floors: Mapping[str, int] = field(default_factory=dict)

    def floor(self, context: str) -> int:
        """No id of this term is at or below it; 0 where the topic alone says what comes next."""
        return self.floors.get(context, self.floors.get(ANY, 0))

    def ceiling(self, context: str) -> int:
        """No id of this term is above it until the other datacenter has confirmed more."""
        return max(self.confirmed.get(context, 0), self.floor(context)) + self.gap

    def record(self) -> Record:
        """As it is written into the topic."""
        properties = {_HOME: self.cluster, _TERM: str(self.term), _GAP: str(self.gap)}
        properties |= {f"{_CONFIRMED}{name}": str(number) for name, number in sorted(self.confirmed.items())}
        properties |= {f"{_FLOOR}{name}": str(number) for name, number in sorted(self.floors.items())}
        return config_record(HOME_SUBJECT, {"defaultMetadata": {"properties": dict(sorted(properties.items()))}})


def home_of(config: Mapping[str, Any] | None) -> Home | None:
    """What a record says; None when it says nothing that can be understood."""
    said = ((config or {}).get("defaultMetadata") or {}).get("properties") or {}
    cluster = said.get(_HOME)
    if not isinstance(cluster, str) or not cluster:
        return None
    return Home(
        cluster,
        _number(said.get(_TERM), 0),
        _number(said.get(_GAP), DEFAULT_GAP),
        _numbers(said, _CONFIRMED),
        _numbers(said, _FLOOR),
    )


def later(known: Home | None, other: Home | None) -> Home | None:
    """The one that counts: of a higher term, or of the same term and written later."""
    if known is None or other is None:
        return other if known is None else known
    return other if other.term >= known.term else known


def promoted(cluster: str, known: Home | None, highest: Mapping[str, int], gap: int) -> Home:
    """The next term with this cluster as home. Its ids begin behind everything that the old home may have given."""
    before = known or Home("", 0, gap)
    names = {*before.confirmed, *before.floors, *highest, ANY}
    floors = {name: max(before.ceiling(name), highest.get(name, 0) + gap) for name in names}
    return Home(cluster, before.term + 1, gap, dict(highest), floors)


def returned(cluster: str, away: Home, highest: Mapping[str, int]) -> Home:
    """The term after a promotion, when all schemas are home: ids continue behind the highest of both datacenters."""
    return Home(cluster, away.term + 1, away.gap, dict(highest), {})


def confirmed(cluster: str, known: Home | None, both: Mapping[str, int], gap: int) -> Home | None:
    """The home with newly confirmed ids; None while nothing has to be written."""
    if known is not None and known.cluster != cluster:
        return None
    before = known.confirmed if known is not None else {}
    higher = {name: max(number, before.get(name, 0)) for name, number in both.items()}
    far = any(number - before.get(name, 0) >= gap // 2 for name, number in higher.items())
    if known is not None and not far:
        return None
    floors = {} if known is None else dict(known.floors)
    return Home(cluster, 0 if known is None else known.term, gap, {**before, **higher}, floors)


def _numbers(said: Mapping[str, Any], prefix: str) -> dict[str, int]:
    return {name.removeprefix(prefix): _number(value, 0) for name, value in said.items() if name.startswith(prefix)}


def _number(value: Any, default: int) -> int:
    return int(value) if isinstance(value, str) and value.isdecimal() else default
