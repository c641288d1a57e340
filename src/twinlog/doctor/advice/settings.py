"""What to set: setting, present and better value, why, evidence and effect of each advice. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from twinlog.doctor.advice.bottleneck import Bottleneck
from twinlog.doctor.advice.evidence import Evidence

Where: TypeAlias = Literal["file", "kernel", "broker", "placement"]

_LONG_TRIP_S: Final = 0.01
_WANTED: Final = 125e6
"""Bytes a second of a line of 1 Gbit/s."""
_MOST_IN_FLIGHT: Final = 2**28
_SMALL_BATCH: Final = 4096
_IDLE: Final = 0.6


@dataclass(frozen=True)
class Advice:
    """One change. `where` says whose setting it is; `command` is what to type where it is not the settings file."""

    where: Where
    setting: str
    present: str
    better: str
    why: str
    evidence: str
    effect: str
    command: str = ""


def advices(seen: Evidence, limit: Bottleneck) -> tuple[Advice, ...]:
    """Return what would help, the most effective first."""
    return (*_quotas(seen, limit), *_tasks(seen, limit), *_in_flight(seen), *_kernel(seen), *_placement(seen))


def _quotas(seen: Evidence, limit: Bottleneck) -> Iterator[Advice]:
    if limit.place == "quota" and seen.quotas:
        yield Advice(
            "broker",
            "client quota",
            "; ".join(seen.quotas),
            "higher, or none for the mirror's user",
            "the broker delays answers to the mirror",
            limit.sentence,
            "the link runs at the speed of the next limit",
            "kafka-configs.sh --alter --entity-type users --entity-name USER --add-config producer_byte_rate=BYTES",
        )


def _tasks(seen: Evidence, limit: Bottleneck) -> Iterator[Advice]:
    cpu = seen.processor
    if cpu is None or limit.place not in {"spark", "source", "line"} or seen.partitions <= seen.tasks:
        return
    if cpu.machine_busy >= _IDLE * cpu.cores:
        return
    better = min(seen.partitions, max(seen.tasks * 2, cpu.cores))
    if better > seen.tasks:
        yield Advice(
            "file",
            "tasks.max",
            str(seen.tasks_max) if seen.tasks_max is not None else f"not set ({seen.tasks} tasks)",
            str(better),
            "the processor is idle while records wait, and there are more partitions than tasks",
            f"{cpu.machine_busy:.1f} of {cpu.cores} cores busy, {seen.partitions} partitions, {seen.tasks} tasks",
            f"up to {better / seen.tasks:.1f} times as many connections read and write at once",
        )


def _in_flight(seen: Evidence) -> Iterator[Advice]:
    trip = max(seen.source_trip_s or 0.0, seen.target_trip_s or 0.0)
    product = int(_WANTED * trip)  # what a line of 1 Gbit/s holds
    # A task asks for at most half of its budget per round trip.
    need = 2 * product // max(1, seen.tasks)
    if trip < _LONG_TRIP_S or need <= seen.max_bytes_in_flight:
        return
    better = min(_MOST_IN_FLIGHT, 1 << (need - 1).bit_length())
    yield Advice(
        "file",
        "max.bytes.in.flight",
        str(seen.max_bytes_in_flight),
        str(better),
        "a task holds less than the line does, so the line is empty part of the time",
        f"{trip * 1000:.0f} ms round trip x 1 Gbit/s = {product / 2**20:.1f} MiB on the line, {seen.tasks} tasks",
        f"fills a line of 1 Gbit/s; costs up to {better / 2**20:.0f} MiB of memory per task",
    )


def _kernel(seen: Evidence) -> Iterator[Advice]:
    kernel = seen.kernel
    if kernel is None:
        return
    for end, trip, held, name in (
        ("source", seen.source_trip_s, kernel.rmem, "net.ipv4.tcp_rmem"),
        ("target", seen.target_trip_s, kernel.wmem, "net.ipv4.tcp_wmem"),
    ):
        if trip is None or trip < _LONG_TRIP_S:
            continue
        need = int(_WANTED * trip * 2)  # Linux uses about half of a buffer for data
        if held < need:
            core = "net.core.rmem_max" if "rmem" in name else "net.core.wmem_max"
            yield Advice(
                "kernel",
                name,
                str(held),
                str(need),
                f"one connection to the {end} holds less than the line does",
                f"{trip * 1000:.0f} ms round trip, {held / 2**20:.1f} MiB per connection",
                f"one connection carries {_WANTED / 1e6:.0f} MB/s instead of {held / 2 / trip / 1e6:.0f} MB/s",
                f'sysctl -w {core}={need} {name}="4096 131072 {need}"',
            )
    far = max(seen.source_trip_s or 0.0, seen.target_trip_s or 0.0) >= _LONG_TRIP_S
    if far and not kernel.window_scaling:
        yield Advice(
            "kernel", "net.ipv4.tcp_window_scaling", "0", "1", "without it a connection holds 64 KiB at most",
            "a long line", "connections fill the line", "sysctl -w net.ipv4.tcp_window_scaling=1",
        )  # fmt: skip
    if far and kernel.slow_start_after_idle:
        yield Advice(
            "kernel", "net.ipv4.tcp_slow_start_after_idle", "1", "0",
            "after a pause a connection begins slowly again, which takes several round trips", "a long line",
            "records after a pause arrive without that delay", "sysctl -w net.ipv4.tcp_slow_start_after_idle=0",
        )  # fmt: skip


def _placement(seen: Evidence) -> Iterator[Advice]:
    source, target = seen.source_trip_s, seen.target_trip_s
    if source is None or target is None or max(source, target) < _LONG_TRIP_S:
        return
    trips = f"{source * 1000:.0f} ms to the source, {target * 1000:.0f} ms to the target"
    if min(source, target) >= _LONG_TRIP_S:
        yield Advice(
            "placement", "where the mirror runs", "far from both clusters", "beside the target",
            "each record crosses two long lines; beside the target it crosses one, and the mirror survives the loss of "
            "the source",
            trips, f"up to {target * 1000:.0f} ms less latency, and half the traffic between datacenters",
        )  # fmt: skip
    elif source > target:
        yield Advice(
            "placement", "where the mirror runs", "beside the target", "beside the target, or beside the source",
            "beside the source records are pushed and arrive up to one round trip earlier; beside the target the "
            "mirror survives the loss of the source",
            trips,
            f"beside the source: up to {source * 1000:.0f} ms less latency; records are encrypted once on the line "
            "either way",
        )  # fmt: skip
    else:
        yield Advice(
            "placement", "where the mirror runs", "beside the source", "the same, with a standby at the target",
            "a disaster at the source takes the mirror with it; a second `twinlog run` beside the target takes over",
            trips,
            "the page, the API and the switch are there after a disaster",
        )  # fmt: skip
