"""Memory, file descriptors and threads of a mirror's processes by role, and the bytes of its own topics on disk."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import psutil

_PSS = re.compile(r"^Pss:\s+(\d+) kB", re.MULTILINE)
OWN_TOPICS = "__twinlog-"


def read_processes(root: psutil.Process) -> dict[str, float]:
    """`memory MiB`, `descriptors` and `threads` of each role: service, JVM, workers."""
    sums: defaultdict[str, float] = defaultdict(float)
    for process in (root, *root.children(recursive=True)):
        try:
            role = _role(process, root)
            rollup = Path(f"/proc/{process.pid}/smaps_rollup").read_text(encoding="ascii")
            shared_out = _PSS.search(rollup)
            sums[f"{role}: memory MiB"] += (int(shared_out.group(1)) if shared_out else 0) / 1024
            sums[f"{role}: file descriptors"] += process.num_fds()
            sums[f"{role}: threads"] += process.num_threads()
        except (OSError, psutil.Error):  # it has just ended
            continue
    return dict(sums)


def ledger_bytes(cluster_folder: Path) -> float:
    """MiB of Twinlog's own topics in the logs of a local cluster."""
    size = 0
    for log in cluster_folder.rglob("*.log"):
        if log.parent.name.startswith(OWN_TOPICS):
            try:
                size += log.stat().st_blocks * 512
            except OSError:  # a segment that was just deleted
                continue
    return size / 2**20


def _role(process: psutil.Process, root: psutil.Process) -> str:
    if process.pid == root.pid:
        return "service"
    return "JVM" if process.name() == "java" else "workers"
