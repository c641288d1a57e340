"""Spark's daemon for Python workers, with the data path loaded before it forks. Runs on executors.

Every reader and writer is a fork of this process: they start at once and share the memory of the loaded modules.
Spark finds it by `spark.python.daemon.module`.
"""

from __future__ import annotations

import runpy

import twinlog.flow.read
import twinlog.flow.write  # noqa: F401

if __name__ == "__main__":
    runpy.run_module("pyspark.daemon", run_name="__main__", alter_sys=True)
