"""Faults of the network between the mirrors and one site."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.faults.brokers import SOURCE_AWAY, TARGET_AWAY
from tests.faults.scenario import scenario

if TYPE_CHECKING:
    from tests.faults.scene import Scene


@scenario("black hole between mirror and source", 9, named=SOURCE_AWAY, tools=["nft"])
def source_black_hole(scene: Scene) -> None:
    """All packets between the mirrors and the source are dropped for 25 s."""
    with scene.fault():
        scene.network.lose(scene.source.mirror_ports)
        scene.hold(25)
        scene.network.open()


@scenario("black hole between mirror and target", 9, named=TARGET_AWAY, tools=["nft"])
def target_black_hole(scene: Scene) -> None:
    """All packets between the mirrors and the target are dropped for 25 s."""
    with scene.fault():
        scene.network.lose(scene.target.mirror_ports)
        scene.hold(25)
        scene.network.open()


@scenario("one-way cut: the source hears, its answers are lost", 9, named=SOURCE_AWAY, tools=["nft"])
def source_one_way(scene: Scene) -> None:
    """All packets from the source to the mirrors are dropped for 25 s; those to the source pass."""
    with scene.fault():
        scene.network.lose(scene.source.mirror_ports, to=False)
        scene.hold(25)
        scene.network.open()


@scenario("one-way cut: the target hears, its answers are lost", 9, 11, named=TARGET_AWAY, tools=["nft"])
def target_one_way(scene: Scene) -> None:
    """All packets from the target to the mirrors are dropped for 25 s: batches are stored, answers are lost."""
    with scene.fault():
        scene.network.lose(scene.target.mirror_ports, to=False)
        scene.hold(25)
        scene.network.open()
