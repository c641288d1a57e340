"""Spark's daemon for Python workers of pipelines, with the tasks' code loaded before it forks. Runs on executors."""

from __future__ import annotations

import twinlog.pipelines.read_kafka
import twinlog.pipelines.sink_task
import twinlog.pipelines.source_task
import twinlog.pipelines.write_kafka  # noqa: F401
from twinlog.pipelines.plugins import all_plugins
from twinlog.spark.daemon import run

if __name__ == "__main__":
    all_plugins()  # each worker would load the modules of all connectors again
    run()
