"""Spark's daemon for Python workers. Runs on executors.

A room whose code runs in workers has a module that imports that code and then calls `run`; Spark finds the module by
`spark.python.daemon.module`. Every worker is a fork of this process: it starts at once and shares the memory of the
loaded modules.

Loaded modules are frozen (`gc.freeze`), so full collections skip them. Spark asks for one whenever a worker is used
again, which is when an epoch turns over and records wait.
"""

from __future__ import annotations

import gc
import runpy

import pyspark.worker  # noqa: F401


def run() -> None:
    """Serve until Spark ends it."""
    gc.collect()
    gc.freeze()
    runpy.run_module("pyspark.daemon", run_name="__main__", alter_sys=True)
