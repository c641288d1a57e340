"""The picture of clusters and links: where each stands, how arrows run. Pure; the template draws it.

two clusters side by side, more of them on an ellipse; opposite links bend apart, so that both labels can be read
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

WIDTH: Final = 720
_BOX: Final = (148, 64)
_BEND: Final = 40


@dataclass(frozen=True)
class Node:
    """A cluster."""

    name: str
    x: int
    y: int

    @property
    def left(self) -> int:
        """The left edge of its box."""
        return self.x - _BOX[0] // 2

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
    """All of it."""

    height: int
    nodes: tuple[Node, ...]
    arrows: tuple[Arrow, ...]
    box_width: int = _BOX[0]
    box_height: int = _BOX[1]
    width: int = WIDTH


def picture_of(links: Iterable[tuple[str, str, str]]) -> Picture:
    """Lay out links given as (name, source, target)."""
    links = list(links)
    names = list(dict.fromkeys(name for _, source, target in links for name in (source, target)))
    height = 220 if len(names) <= 2 else 400
    nodes = {name: _place(place, len(names), name, height) for place, name in enumerate(names)}
    ways = {(source, target) for _, source, target in links}
    arrows = tuple(
        _arrow(link, nodes[source], nodes[target], _BEND if (target, source) in ways else 0)
        for link, source, target in links
        if source != target
    )
    return Picture(height, tuple(nodes.values()), arrows)


def _place(place: int, count: int, name: str, height: int) -> Node:
    if count <= 2:
        return Node(name, 110 if place == 0 else WIDTH - 110, height // 2)
    turn = math.pi + 2 * math.pi * place / count
    x = WIDTH / 2 + (WIDTH / 2 - 100) * math.cos(turn)
    y = height / 2 + (height / 2 - 56) * math.sin(turn)
    return Node(name, round(x), round(y))


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
