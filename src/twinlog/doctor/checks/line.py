"""Whether a long line can be filled from this machine."""

from __future__ import annotations

from typing import Final

from twinlog.doctor.answers import Answer, Check, known, ok, warn
from twinlog.doctor.facts import Facts

_THEME = "reach"
_SHORT_S: Final = 0.01
_ENOUGH: Final = 25e6
"""Bytes a second per connection: a few of them fill 1 Gbit/s."""


def _source_line(facts: Facts) -> Answer:
    buffers = known(facts.sockets)
    return _line(known(facts.source.round_trip_s), buffers.receive, "tcp_rmem")


def _target_line(facts: Facts) -> Answer:
    buffers = known(facts.sockets)
    return _line(known(facts.target.round_trip_s), buffers.send, "tcp_wmem")


def _line(round_trip_s: float, held: int, setting: str) -> Answer:
    trip = f"{round_trip_s * 1000:.0f} ms round trip"
    if round_trip_s < _SHORT_S:
        return ok(trip)
    rate = held / round_trip_s
    seen = f"{trip}; one connection holds at most {held / 2**20:.1f} MiB here, so it carries {rate / 1e6:.0f} MB/s"
    if rate >= _ENOUGH:
        return ok(seen)
    wanted = int(round_trip_s * 4 * _ENOUGH)
    return warn(seen, f'sysctl -w net.ipv4.{setting}="4096 131072 {wanted}"   # on every machine that runs executors')


CHECKS: Final = (
    Check("source-line", _THEME, "Records are fetched more slowly than the network could carry them.", _source_line),
    Check("target-line", _THEME, "Records are written more slowly than the network could carry them.", _target_line),
)
