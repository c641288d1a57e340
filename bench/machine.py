"""Where a figure was measured: without it the figure says nothing."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from pathlib import Path

import psutil

from twinlog.local.jars import KAFKA_VERSION
from twinlog.machine.java import find_java

BUSY = 0.5
"""Cores that are at work right before a run, above which the machine does other work."""
_LOOK_S = 3.0
_PACKAGES = ("twinlog", "pyspark", "aiokafka", "pyarrow", "google-crc32c", "confluent-kafka")


def machine_facts() -> dict[str, str]:
    """Processor, memory, system and versions, and whether something else kept the machine busy."""
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in _PACKAGES)
    return {
        "machine": f"{_processor()}, {os.cpu_count()} cores, {psutil.virtual_memory().total / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.release()}, Python {platform.python_version()}, "
        f"Java {find_java().version}",
        "clusters": f"two of one broker each, Kafka {KAFKA_VERSION}, 1 GB heap, on the same machine as the mirror",
        "mirror beside": f"MirrorMaker 2 {KAFKA_VERSION}",
        "versions": versions,
    }


def busy_cores() -> float:
    """How many cores work right now. An average of the last minute would also count what has ended."""
    return psutil.cpu_percent(_LOOK_S) / 100 * (os.cpu_count() or 1)


def warn_of_other_load(busy: float) -> str:
    """A sentence for the page when the machine did other work; empty when it did not."""
    if busy <= BUSY:
        return ""
    return "**Other work ran on this machine while this was measured. Nobody should quote these figures.**\n\n"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())
