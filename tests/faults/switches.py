"""Faults in the middle of a switch, loops, compaction: tests that exist, run as they are and counted."""

from __future__ import annotations

from tests.faults.scenario import proof

proof(
    "the process of a switch is killed before, in and after each of its steps",
    39,
    key="switch-killed",
    done="SIGKILL ends the process of planned and unplanned failover and of both failbacks at each point; another "
    "process resumes them; a source returns in the middle.",
    tests=["tests/chaos/test_switch_interrupted.py"],
)
proof(
    "failback with a divergent tail on the old primary",
    40,
    key="switch-tail",
    done="Records are produced on the lost side after the cut; the failback exports, counts and keeps or appends them.",
    tests=["tests/chaos/test_switch_tail.py"],
)
proof(
    "two links in opposite directions with the same names",
    31,
    key="loops",
    done="Active-active with identity names, meshes and rings of three clusters: every record once on every side.",
    tests=["tests/chaos/test_meshes.py"],
)
proof(
    "compaction runs on both sides while the link copies and is killed",
    29,
    key="compaction",
    done="Compacted topics with holes and tombstones; the final state of every key is compared on both sides.",
    tests=["tests/chaos/test_compacted.py"],
)
