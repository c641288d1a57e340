"""Faults of the network between the mirrors and one site."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.faults.brokers import SOURCE_AWAY, TARGET_AWAY
from tests.faults.relay import relayed
from tests.faults.scenario import scenario

if TYPE_CHECKING:
    from tests.faults.scene import Scene

_BREAKS = r"connections broke \d+ times in the last"


@scenario("black hole between mirror and source", 9, named=SOURCE_AWAY, tools=["nft"])
def source_black_hole(scene: Scene) -> None:
    """All packets between the mirrors and the source are dropped for 25 s."""
    with scene.fault():
        scene.network.lose(scene.source.mirror_ports)
        scene.hold(25)
        _whole_again(scene)


@scenario("black hole between mirror and target", 9, named=TARGET_AWAY, tools=["nft"])
def target_black_hole(scene: Scene) -> None:
    """All packets between the mirrors and the target are dropped for 25 s."""
    with scene.fault():
        scene.network.lose(scene.target.mirror_ports)
        scene.hold(25)
        _whole_again(scene)


@scenario("one-way cut: the source hears, its answers are lost", 9, named=SOURCE_AWAY, tools=["nft"])
def source_one_way(scene: Scene) -> None:
    """All packets from the source to the mirrors are dropped for 25 s; those to the source pass."""
    with scene.fault():
        scene.network.lose(scene.source.mirror_ports, to=False)
        scene.hold(25)
        _whole_again(scene)


@scenario("one-way cut: the target hears, its answers are lost", 9, 11, named=TARGET_AWAY, tools=["nft"])
def target_one_way(scene: Scene) -> None:
    """All packets from the target to the mirrors are dropped for 25 s: batches are stored, answers are lost."""
    with scene.fault():
        scene.network.lose(scene.target.mirror_ports, to=False)
        scene.hold(25)
        _whole_again(scene)


@scenario("5 % of all packets are lost on both lines", 10, tools=["nft"],
          unnoticed="TCP sends what is lost again")  # fmt: skip
def packets_lost(scene: Scene) -> None:
    """One packet in twenty, to and from both sites, is dropped for 20 s."""
    with scene.fault():
        scene.network.lose(_all_ports(scene), what="numgen random mod 100 < 5 drop")
        scene.hold(20)
        _whole_again(scene)


@scenario(
    "connections are reset all the time",
    10,
    tools=["nft"],
    named=_BREAKS,
)
def connections_reset(scene: Scene) -> None:
    """One packet in a hundred, to and from both sites, is answered with a TCP reset for 20 s."""
    with scene.fault():
        scene.network.lose(_all_ports(scene), what="numgen random mod 100 < 1 reject with tcp reset")
        scene.hold(20)
        _whole_again(scene)


@scenario("the line to the target carries 1 Mbit/s", 10, named=r"T: the line to broker \d+ is too slow", tools=["nft"])
def target_line_narrow(scene: Scene) -> None:
    """What exceeds 125 kB/s on the way to the target is dropped for 20 s; then 15 MB come at once."""
    with scene.fault():
        scene.network.lose(scene.target.mirror_ports, back=False, what="limit rate over 125 kbytes/second drop")
        scene.burst()
        scene.hold(20)
        _whole_again(scene)


@scenario("answers take 300 ms on both lines", 10, tools=["nft"],
          unnoticed="answers come late, and all of them come")  # fmt: skip
def lines_slow(scene: Scene) -> None:
    """Every packet takes 150 ms longer in each direction for 25 s (a relay), after all connections were reset."""
    with scene.fault():
        _through_relay(scene, delay_ms=150)


@scenario(
    "connections break in the middle of an answer",
    10,
    11,
    tools=["nft"],
    named=_BREAKS,
)
def answers_cut(scene: Scene) -> None:
    """A relay resets every connection after a random number of bytes of answers, 100 kB on average, for 25 s."""
    with scene.fault():
        _through_relay(scene, cut_kb=100)


def _through_relay(scene: Scene, *, delay_ms: int = 0, cut_kb: int = 0) -> None:
    scene.network.lose(_all_ports(scene), what="reject with tcp reset")
    scene.hold(1)
    scene.network.open()
    with relayed(scene.network, _all_ports(scene), delay_ms=delay_ms, cut_kb=cut_kb):
        scene.hold(25)
        scene.effect(scene.network.met, f"{scene.network.met} connections went through the relay")


def _whole_again(scene: Scene) -> None:
    scene.effect(scene.network.met, f"{scene.network.met} packets met the rule")
    scene.network.open()


def _all_ports(scene: Scene) -> set[int]:
    return scene.source.mirror_ports | scene.target.mirror_ports
