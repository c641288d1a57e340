"""Spark's daemon for Python workers of pipelines, with the tasks' code loaded before it forks. Runs on executors."""

from __future__ import annotations

import gc
import runpy

import pyspark.worker  # noqa: F401

import twinlog.pipelines.read_kafka
import twinlog.pipelines.sink_task
import twinlog.pipelines.source_task
import twinlog.pipelines.write_kafka  # noqa: F401

if __name__ == "__main__":
    gc.collect()
    gc.freeze()
    runpy.run_module("pyspark.daemon", run_name="__main__", alter_sys=True)
