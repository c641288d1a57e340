"""What a fault is: a name, what to do, how its true cause reads in `twinlog status`, and what it may cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.faults.scene import Scene

Play = Callable[["Scene"], None]

FAMILIES = (
    *("processes", "brokers", "network", "disks", "topics", "records", "clocks", "state", "access"),
    *("versions", "switches", "recipes"),
)
"""The files with faults, in the order in which they are run."""


@dataclass(frozen=True)
class Topic:
    """A source topic of a scenario."""

    partitions: int
    configs: Mapping[str, str] = field(default_factory=dict)
    copy_factor: int | None = None
    """Replicas of the copy, which is then made before the topic itself; None: the mirrors make it."""


TOPICS: Mapping[str, Topic] = {"orders": Topic(6), "beside": Topic(2)}
"""Where the load goes. A fault that is aimed at a topic is aimed at `orders`; `beside` must not notice."""


@dataclass(frozen=True)
class Scenario:
    """One fault.

    `named` are patterns for the words of status that tell the true cause: they begin with the state, and a fault reads
    `CODE says`. All are wanted within ten seconds. `<source>`, `<orders>`, `<copy>` and what the play gives to
    `scene.fault` stand for the names of this run; of several each is wanted. A fault without a name says why nobody
    must be told (`unnoticed`): then no record may stand still for ten seconds. `never` is a pattern for words that
    would be untrue. A fault that `stays` is one that only an operator can end: its partitions wait, named, and all
    others go on. Mirrors that a fault `spoils` are not used for the next one.
    """

    key: str
    family: str
    matrix: tuple[int | str, ...]
    title: str
    play: Play | None
    named: tuple[str, ...] = ()
    unnoticed: str = ""
    peer: bool = True
    within_s: float = 60.0
    settings: Mapping[str, str] = field(default_factory=dict)
    topics: Mapping[str, Topic] = field(default_factory=lambda: TOPICS)
    sites: str = "plain"
    tools: tuple[str, ...] = ()
    spoils: bool = False
    stays: bool = False
    never: str | None = None

    tests: tuple[str, ...] = ()
    """Tests of the project that are run instead of a play."""
    said: str = ""

    @property
    def done(self) -> str:
        """What is done, in one sentence: the docstring of the play."""
        return self.said or " ".join((self.play.__doc__ or "").split())


_found: list[Scenario] = []


def scenario(
    title: str,
    *matrix: int,
    named: str | Sequence[str] = (),
    unnoticed: str = "",
    peer: bool = True,
    within_s: float = 60.0,
    settings: Mapping[str, str] | None = None,
    topics: Mapping[str, Topic] | None = None,
    sites: str = "plain",
    tools: Sequence[str] = (),
    spoils: bool = False,
    stays: bool = False,
    never: str | None = None,
) -> Callable[[Play], Play]:
    """Put a fault on the list; numbers are those of the published matrix."""

    def add(play: Play) -> Play:
        _found.append(
            Scenario(
                key=play.__name__.replace("_", "-"),
                family=play.__module__.rpartition(".")[2],
                matrix=matrix,
                title=title,
                play=play,
                named=(named,) if isinstance(named, str) else tuple(named),
                unnoticed=unnoticed,
                peer=peer,
                within_s=within_s,
                settings=settings or {},
                topics=topics or TOPICS,
                sites=sites,
                tools=tuple(tools),
                spoils=spoils or stays,
                stays=stays,
                never=never,
            )
        )
        return play

    return add


def proof(title: str, *matrix: int | str, key: str, done: str, tests: Sequence[str], family: str = "switches") -> None:
    """Put a fault on the list that tests of the project inject and judge."""
    _found.append(Scenario(key, family, matrix, title, None, said=done, tests=tuple(tests), peer=False))


def all_scenarios() -> list[Scenario]:
    """Every fault, family by family."""
    for family in FAMILIES:
        import_module(f"tests.faults.{family}")
    return sorted(_found, key=lambda one: FAMILIES.index(one.family))
