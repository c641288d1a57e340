"""Faults of disks: full, slow, failing, and a segment that rots."""

from __future__ import annotations

import contextlib
import os
import shutil
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.faults.brokers import SOURCE_BROKER, TARGET_AWAY, TARGET_BROKER, leaders
from tests.faults.processes import frozen
from tests.faults.scenario import scenario

from twinlog.local.broker import Broker

if TYPE_CHECKING:
    from tests.faults.scene import Scene
    from tests.faults.site import Site

_BLOCK = b"\0" * (1 << 20)
_WRITES = "write,pwrite64,writev,pwritev"
_HEADER = struct.Struct(">qi")
_HEADER_BYTES = 61


@scenario("the disk of a source broker is full", 12, named=SOURCE_BROKER)
def source_disk_full(scene: Scene) -> None:
    """The tmpfs under one broker of the source is filled; the broker ends; after 15 s it is emptied, started again."""
    _fill_until_they_end(scene, scene.source, [scene.source.brokers[0]])


@scenario("the disk of a target broker is full", 12, named=TARGET_BROKER)
def target_disk_full(scene: Scene) -> None:
    """The tmpfs under one broker of the target is filled; the broker ends; after 15 s it is emptied, started again."""
    _fill_until_they_end(scene, scene.target, [scene.target.brokers[2]])


@scenario("the disks of all target brokers are full", 12, named=TARGET_AWAY, within_s=90)
def target_disks_all_full(scene: Scene) -> None:
    """The tmpfs under every broker of the target is filled; all end; after 15 s they are emptied, started again."""
    _fill_until_they_end(scene, scene.target, list(scene.target.brokers))


@scenario(
    "the disk of the engine is full", 12, 35, peer=False, spoils=True, settings={"epoch_seconds": "5"},
    named=r"No space left on device", within_s=90,
)  # fmt: skip
def engine_disk_full(scene: Scene) -> None:
    """The tmpfs with everything that the engine and Spark write is filled for 20 s, over several epochs."""
    folder = Path(tempfile.mkdtemp(prefix="tw"))
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200m", "tmpfs", str(folder)], check=True)
    before, tempfile.tempdir = tempfile.tempdir, str(folder)
    try:
        scene.restart_twinlog()
    finally:
        tempfile.tempdir = before
    with scene.fault():
        _fill(folder)
        scene.hold(20)
        scene.effect(shutil.disk_usage(folder).free < len(_BLOCK), "the disk of the engine had less than 1 MB left")
        _filler(folder).unlink()


@scenario("writes to the log of a copy fail (EIO)", 13, named=TARGET_BROKER, tools=["strace"])
def target_disk_error(scene: Scene) -> None:
    """Every write of one target broker to the logs of one copy fails with EIO for 15 s; the broker is started again."""
    broker, logs = _led_logs(scene)
    with scene.fault(broker=broker.node_id):
        with _injected(scene, broker, logs, "error=EIO"):
            scene.hold(15)
        scene.effect(not broker.running, f"broker {broker.node_id} ended")
        scene.target.revive()


@scenario("a slow disk under a target broker", 12, tools=["strace"],
          unnoticed="answers come late, and all of them come")  # fmt: skip
def target_disk_slow(scene: Scene) -> None:
    """Every write of one target broker to the logs of one copy takes 400 ms longer, for 20 s."""
    broker, logs = _led_logs(scene)
    with scene.fault(), _injected(scene, broker, logs, "delay_enter=400000"):
        scene.hold(20)


@scenario("a batch rots on the disk of the source", 25, named="CORRUPT_BATCH <orders>-0: ")
def source_batch_corrupt(scene: Scene) -> None:
    """One byte of a batch that no mirror has read is flipped on the disk of the leader; put right when it is named."""
    site = scene.source
    with frozen(scene.mirrors):
        ends = scene.ends.source_ends([scene.orders])
        place = next(place for place in ends if place.partition == 0)
        scene.hold(4)
        leader = leaders(site, scene.orders)[0][0]
        log = _log_file(site, site.broker(leader), scene.orders, 0)
        at = _position_of(log, ends[place] + 5)
        scene.exempt = {(scene.orders, 0)}
        with scene.fault():
            _flip(log, at)
    scene.await_named(30)
    scene.effect(True, f"a byte of {log.parent.name} was flipped at {at}")
    _flip(log, at)
    scene.exempt = set()
    scene.over()


# --- full ----------------------------------------------------------------------------------------------------------


def _fill_until_they_end(scene: Scene, site: Site, brokers: list[Broker]) -> None:
    with scene.fault(broker=[broker.node_id for broker in brokers]):
        for broker in brokers:
            _fill(site.disk(broker))
        scene.await_true(lambda: not any(broker.running for broker in brokers), "brokers end for want of space", 30)
        scene.injected()
        scene.effect(True, f"brokers {[one.node_id for one in brokers]} of {site.name} ended")
        scene.hold(15)
        for broker in brokers:
            _filler(site.disk(broker)).unlink()
        site.revive()


def _filler(folder: Path) -> Path:
    return folder / "filler"


def _fill(folder: Path) -> None:
    with _filler(folder).open("wb") as file, contextlib.suppress(OSError):
        while True:
            file.write(_BLOCK)
            file.flush()


# --- slow and failing ----------------------------------------------------------------------------------------------


def _log_file(site: Site, broker: Broker, topic: str, partition: int) -> Path:
    return max((site.disk(broker) / f"{topic}-{partition}").glob("*.log"))


def _led_logs(scene: Scene) -> tuple[Broker, list[Path]]:
    """A target broker, and the logs of the copies that it leads."""
    found: dict[int, list[Path]] = {}
    for mirror in scene.mirrors:
        copy = mirror.remote(scene.orders)
        for number, (leader, _) in leaders(scene.target, copy).items():
            log = _log_file(scene.target, scene.target.broker(leader), copy, number)
            found.setdefault(leader, []).append(log)
    chosen = max(found, key=lambda leader: len(found[leader]))
    return scene.target.broker(chosen), found[chosen]


@contextmanager
def _injected(scene: Scene, broker: Broker, logs: list[Path], what: str) -> Iterator[None]:
    """System calls that write to these files go wrong while the block runs."""
    told = Path(tempfile.mkdtemp(prefix="tw")) / "calls"
    paths = [option for log in logs for option in ("-P", str(log))]
    command = ["strace", "-f", "-qq", "-o", str(told), "-p", str(broker.pid), *paths]
    command += ["-e", f"trace={_WRITES}", "-e", f"inject={_WRITES}:{what}"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as tracer:
        try:
            yield
        finally:
            tracer.terminate()
            tracer.wait(20)
    calls = sum("INJECTED" in line or "DELAYED" in line for line in told.read_text(errors="replace").splitlines())
    scene.effect(calls, f"{calls} writes were met")


# --- rotten --------------------------------------------------------------------------------------------------------


def _position_of(log: Path, offset: int) -> int:
    """Where in the file the batch with this offset has the middle of its records."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        data, at = log.read_bytes(), 0
        while at + _HEADER.size <= len(data):
            base, length = _HEADER.unpack_from(data, at)
            if length <= 0:
                break
            if base >= offset and length > 2 * _HEADER_BYTES:
                return at + int(_HEADER_BYTES + _HEADER.size + length) // 2
            at += _HEADER.size + length
        time.sleep(0.2)
    raise AssertionError(f"no batch at or behind {offset} in {log}")


def _flip(log: Path, at: int) -> None:
    file = os.open(log, os.O_RDWR)
    try:
        os.pwrite(file, bytes([os.pread(file, 1, at)[0] ^ 0x10]), at)
    finally:
        os.close(file)
