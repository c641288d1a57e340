"""How the copies of a scene are judged, by the checker that all tests share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tests.kit.checker import check_mirror, compare_logs, judge_numbers
from tests.kit.logs import read_logs
from tests.kit.verdict import Verdict

if TYPE_CHECKING:
    from tests.faults.mirrors import Mirror
    from tests.faults.scene import Scene
    from tests.faults.steady import Steady
    from tests.faults.witness import Place


def compare(scene: Scene, mirror: Mirror) -> Verdict:
    """Read both clusters completely and compare them; partitions that wait behind a named fault are left out."""
    names = {topic: mirror.remote(topic) for topic in scene.topics.values()}
    waiting = _waiting(scene, mirror)
    if not waiting:
        return check_mirror(scene.ends.source_logs, scene.ends.target_logs, names)
    verdict = Verdict()
    for load in scene.loads.values():
        judged = [p for p in range(load.partitions) if (load.topic, p) not in waiting]
        verdict += compare_logs(
            read_logs(scene.ends.source_logs, load.topic, "read_committed", judged),
            read_logs(scene.ends.target_logs, names[load.topic], "read_uncommitted", judged),
            load.topic,
        )
    return verdict


def by_numbers(scene: Scene, mirror: Mirror, loads: Mapping[str, Steady] | None = None) -> Verdict:
    """Judge by the numbers that records carry, for sources that hold less than they once did."""
    verdict = Verdict()
    waiting = _waiting(scene, mirror)
    for load in (loads or scene.loads).values():
        judged = [p for p in range(load.partitions) if (load.topic, p) not in waiting]
        remote = mirror.remote(load.topic)
        logs = read_logs(scene.ends.target_logs, remote, "read_uncommitted", judged)
        verdict += judge_numbers(load.seed, {p: load.acknowledged[p] for p in judged}, load.aborted, logs, remote)
    return verdict


def in_short(verdict: Verdict) -> str:
    """The counts and the first difference."""
    kinds = ", ".join(f"{count} {kind.value}" for kind, count in verdict.counts.items())
    return f"{kinds}; first: {str(verdict.differences[0])[:160]}"


def _waiting(scene: Scene, mirror: Mirror) -> set[Place]:
    """Partitions of Twinlog that may wait for an operator, and that status shows as faulted."""
    if mirror is not scene.twinlog:
        return set()
    found = {(scene.topics[name], p) for name in scene.loads for p in scene.faulted(name)} & scene.exempt
    if found:
        scene.notes.append(f"{len(found)} partitions wait behind a named fault and are not compared")
    return found
