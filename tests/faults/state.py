"""Faults of what a mirror remembers and is told: checkpoints, ledger, groups, settings, retention."""

from __future__ import annotations

import os
import shutil
import signal
from typing import TYPE_CHECKING

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from tests.faults.judging import by_numbers
from tests.faults.processes import ENGINE_SILENT
from tests.faults.scenario import scenario
from tests.kit.groups import position, set_positions

from twinlog.model.ledger.records import ledger_topic

if TYPE_CHECKING:
    from tests.faults.scene import Scene

_GROUPS = {
    "refresh_groups_interval_seconds": "1",
    "emit_checkpoints_interval_seconds": "1",
    "sync_group_offsets_interval_seconds": "1",
}
_JUNK = ((b"state/x", b"{"), (b"\xff\xfe", b"?"), (None, b"?"), (b"engine", b"[]"), (b"gap/a/b/c", None))


@scenario("the engine's checkpoint is wiped", 35, peer=False, named=ENGINE_SILENT)
def checkpoint_wiped(scene: Scene) -> None:
    """All files of the engine are deleted while it runs, and it is killed -9; the supervisor starts it again."""
    with scene.fault():
        shutil.rmtree(scene.twinlog.engine.scratch, ignore_errors=True)
        scene.hold(3)
        scene.twinlog.kill()
        scene.injected()
        scene.effect(not scene.twinlog.engine.scratch.exists(), "no file of the engine was left")


@scenario("junk in the ledger", 36, peer=False, named=ENGINE_SILENT)
def junk_in_the_ledger(scene: Scene) -> None:
    """Records that nobody can read are written into every partition of the ledger; the engine is killed -9."""
    with scene.fault():
        topic = ledger_topic(scene.ends.alias)
        noise = Producer({"bootstrap.servers": scene.target.bootstrap_servers, "log_level": 0})
        for partition in noise.list_topics(topic, timeout=30).topics[topic].partitions:
            for key, value in _JUNK:
                noise.produce(topic, key=key, value=value, partition=partition)
        scene.effect(noise.flush(30) == 0, "the ledger took all of it")
        scene.twinlog.kill()
        scene.injected()


@scenario("the settings file is broken while the engine runs", 38, peer=False,
          named=r"SettingsInvalid.*1 setting is wrong.*clusters")  # fmt: skip
def settings_broken(scene: Scene) -> None:
    """The file is overwritten with nonsense and SIGHUP is sent; 8 s later it is put right."""
    file = scene.twinlog.file
    sound = file.read_bytes()
    with scene.fault():
        try:
            file.write_text("clusters = nobody\nnobody->nowhere.enabled = perhaps\n", encoding="latin-1")
            os.kill(scene.twinlog.engine.pid, signal.SIGHUP)
            scene.hold(8)
            refused = "clusters: must list the aliases of at least two clusters"
            scene.effect(refused in scene.twinlog.engine.output, f"the engine refused the file: {refused}")
        finally:
            file.write_bytes(sound)
        os.kill(scene.twinlog.engine.pid, signal.SIGHUP)


@scenario("retention overtakes a mirror that stood still", 18, named="OFFSET_GAP <orders>-<place>: ",
          stays=True)  # fmt: skip
def retention_overtakes(scene: Scene) -> None:
    """The mirrors are dead for 10 s; records of three partitions that they did not copy are deleted on the source."""
    for mirror in scene.mirrors:
        mirror.held = True
        mirror.kill()
    scene.hold(10)
    ends = scene.ends.source_ends([scene.orders])
    for place, end in ends.items():
        if place.partition < 3:
            scene.ends.delete_records(scene.orders, place.partition, end - 5)
    scene.exempt = {(scene.orders, number) for number in range(3)}
    scene.judge = by_numbers
    scene.effect(min(ends.values()) > 5, "records that no mirror had read were deleted in three partitions")
    with scene.fault(place=range(3)):
        for mirror in scene.mirrors:
            mirror.held = False
            mirror.start()
        scene.await_started()
        scene.await_named(60)


@scenario("all group coordinators of the source are lost", 34, spoils=True, settings=_GROUPS, peer=False,
          unnoticed="groups keep their positions on the target")  # fmt: skip
def source_coordinators_lost(scene: Scene) -> None:
    """The topic with all positions of groups is deleted on the source: no coordinator, no position is left."""
    group = f"group-{scene.mark}"
    before = _settled_position(scene, group)
    with scene.fault():
        admin = AdminClient({"bootstrap.servers": scene.source.bootstrap_servers, "log_level": 0})
        admin.delete_topics(["__consumer_offsets"])["__consumer_offsets"].result(30)
        scene.hold(15)
        lost = position(scene.ends.source_logs, group, scene.orders)
        scene.effect(lost in {None, -1}, "the group had no position on the source")
    after = position(scene.ends.target_logs, group, scene.twinlog.remote(scene.orders))
    if after != before:
        scene.missed.append(f"the group stood at {before} on the target and stands at {after} now")


@scenario("all group coordinators of the target are lost", 34, spoils=True, settings=_GROUPS, peer=False,
          unnoticed="the link writes the positions again")  # fmt: skip
def target_coordinators_lost(scene: Scene) -> None:
    """The topic with all positions of groups is deleted on the target: the link must write them again."""
    group = f"group-{scene.mark}"
    before = _settled_position(scene, group)
    copy = scene.twinlog.remote(scene.orders)
    with scene.fault():
        admin = AdminClient({"bootstrap.servers": scene.target.bootstrap_servers, "log_level": 0})
        admin.delete_topics(["__consumer_offsets"])["__consumer_offsets"].result(30)
        scene.effect(True, "the target deleted __consumer_offsets")
        scene.hold(5)
    try:
        scene.await_true(lambda: position(scene.ends.target_logs, group, copy) == before, "the group's position", 30)
    except Exception as error:  # noqa: BLE001 - a goal of this fault alone
        scene.missed.append(f"the group stood at {before} on the target and was not put there again ({error})")


def _settled_position(scene: Scene, group: str) -> int:
    """A group on the source with a position, and where that is on the target."""
    copy = scene.twinlog.remote(scene.orders)
    set_positions(scene.ends.source_logs, group, {(scene.orders, 0): 50})
    found = scene.await_true(lambda: position(scene.ends.target_logs, group, copy), "a position on the target", 60)
    assert found is not None
    return found
