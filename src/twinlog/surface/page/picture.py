"""The picture of clusters and links: where each stands, how arrows run. Pure; the template draws it.

Two clusters stand side by side, more of them on an ellipse that fills the frame; opposite links bend apart, so that
both labels can be read.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

WIDTH: Final = 720
_BOX: Final = (148, 64)
_BEND: Final = 40
_ROOM: Final = 6
"""So many clusters fit on the ellipse; for more of them it grows."""
_LONG: Final = 14
_LONGEST: Final = 20


@dataclass(frozen=True)
class Node:
    """A cluster in the picture."""

    name: str
    x: int
    y: int

    @property
    def left(self) -> int:
        """The left edge of its box."""
        return self.x - _BOX[0] // 2

    @property
    def long(self) -> bool:
        """Whether its name needs smaller letters."""
        return len(self.name) > _LONG

    @property
    def label(self) -> str:
        """As much of its name as its box holds; names differ at their ends."""
        return self.name if len(self.name) <= _LONGEST else f"{self.name[:8]}…{self.name[-(_LONGEST - 9) :]}"

    @property
    def top(self) -> int:
        """The upper edge of its box."""
        return self.y - _BOX[1] // 2


@dataclass(frozen=True)
class Arrow:
    """A link: a curve from one box to another, and where its label goes."""

    link: str
    path: str
    label_x: int
    label_y: int


@dataclass(frozen=True)
class Picture:
    """A drawing of clusters and links: boxes, arrows and its size."""

    width: int
    height: int
    nodes: tuple[Node, ...]
    arrows: tuple[Arrow, ...]
    box_width: int = _BOX[0]
    box_height: int = _BOX[1]


def picture_of(links: Iterable[tuple[str, str, str]]) -> Picture:
    """Lay out links given as (name, source, target)."""
    links = list(links)
    names = list(dict.fromkeys(name for _, source, target in links for name in (source, target)))
    grown = max(1.0, len(names) / _ROOM)
    width, height = round(WIDTH * grown), 200 if len(names) <= 2 else round(340 * grown)
    nodes = _places(names, width, height)
    ways = {(source, target) for _, source, target in links}
    arrows = tuple(
        _arrow(link, nodes[source], nodes[target], _BEND if (target, source) in ways else 0)
        for link, source, target in links
        if source != target
    )
    return Picture(width, height, tuple(nodes.values()), arrows)


def _places(names: list[str], width: int, height: int) -> dict[str, Node]:
    turns = [math.pi + 2 * math.pi * place / len(names) for place in range(len(names))]
    across = _spread([math.cos(turn) for turn in turns], _BOX[0] / 2 + 16, width - _BOX[0] / 2 - 16)
    # Two stand in the middle, side by side; three or more take the whole height.
    down = _spread([math.sin(turn) for turn in turns], _BOX[1] / 2 + 10, height - _BOX[1] / 2 - 10)
    return {name: Node(name, round(x), round(y)) for name, x, y in zip(names, across, down, strict=True)}


def _spread(values: list[float], low: float, high: float) -> list[float]:
    """Stretch values over a range; values that are all equal go to its middle."""
    least, most = min(values, default=0.0), max(values, default=0.0)
    if most - least < 1e-9:
        return [(low + high) / 2 for _ in values]
    return [low + (value - least) / (most - least) * (high - low) for value in values]


def _arrow(link: str, source: Node, target: Node, bend: int) -> Arrow:
    dx, dy = target.x - source.x, target.y - source.y
    length = math.hypot(dx, dy) or 1.0
    # To the left of the direction of travel: the opposite link bends the other way.
    across, down = dy / length, -dx / length
    middle = ((source.x + target.x) / 2 + across * bend * 2, (source.y + target.y) / 2 + down * bend * 2)
    begin, end = _edge(source, middle), _edge(target, middle, gap=9)
    path = f"M{begin[0]:.0f},{begin[1]:.0f} Q{middle[0]:.0f},{middle[1]:.0f} {end[0]:.0f},{end[1]:.0f}"
    label = (0.25 * begin[0] + 0.5 * middle[0] + 0.25 * end[0], 0.25 * begin[1] + 0.5 * middle[1] + 0.25 * end[1])
    return Arrow(link, path, round(label[0]), round(label[1]))


def _edge(node: Node, towards: tuple[float, float], gap: int = 2) -> tuple[float, float]:
    """Where a line from the middle of a box leaves it."""
    dx, dy = towards[0] - node.x, towards[1] - node.y
    reach = min(
        (_BOX[0] / 2 + gap) / abs(dx) if dx else math.inf,
        (_BOX[1] / 2 + gap) / abs(dy) if dy else math.inf,
    )
    return node.x + dx * reach, node.y + dy * reach
