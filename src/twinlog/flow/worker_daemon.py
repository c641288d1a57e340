"""Spark's daemon for Python workers, with the data path loaded before it forks. Runs on executors.

Every reader and writer is a fork of this process: they start at once and share the memory of the loaded modules.
Spark finds it by `spark.python.daemon.module`.

Loaded modules are frozen (`gc.freeze`), so full collections skip them. Otherwise each would look at all of them, and
Spark asks for one whenever a worker is used again, which is when an epoch turns over and records wait.
"""

from __future__ import annotations

import gc
import runpy

import pyspark.worker  # noqa: F401

import twinlog.flow.read
import twinlog.flow.write  # noqa: F401

if __name__ == "__main__":
    gc.collect()
    gc.freeze()
    runpy.run_module("pyspark.daemon", run_name="__main__", alter_sys=True)
