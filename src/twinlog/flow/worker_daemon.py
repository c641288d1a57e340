"""Spark's daemon for the workers of the mirror, with the data path loaded before it forks. Runs on executors."""

from __future__ import annotations

import twinlog.flow.read
import twinlog.flow.write  # noqa: F401
from twinlog.spark.daemon import run

if __name__ == "__main__":
    run()
