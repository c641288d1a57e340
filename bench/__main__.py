"""`python -m bench [QUESTION ...]`: measure, print, and add a section to the dated log in `bench/results`."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable

import bench.interface.run
import bench.latency.run
import bench.ledger.run
import bench.partitions.run
import bench.pipelines.run
import bench.registry.run
import bench.soak.run
import bench.spark_doors.run
import bench.spark_work.run
import bench.start.run
import bench.throughput.run
import bench.transforms.run
import bench.translation.run
import bench.verify.run
import bench.wan.run
from bench.machine import BUSY, busy_cores, machine_facts, warn_of_other_load
from bench.options import Options
from bench.report import append, listed

QUESTIONS: dict[str, Callable[[Options], str]] = {
    "throughput": bench.throughput.run.answer,
    "latency": bench.latency.run.answer,
    "partitions": bench.partitions.run.answer,
    "translation": bench.translation.run.answer,
    "verify": bench.verify.run.answer,
    "interface": bench.interface.run.answer,
    "ledger": bench.ledger.run.answer,
    "spark_doors": bench.spark_doors.run.answer,
    "wan": bench.wan.run.answer,
    "registry": bench.registry.run.answer,
    "pipelines": bench.pipelines.run.answer,
    "spark_work": bench.spark_work.run.answer,
    "start": bench.start.run.answer,
    "soak": bench.soak.run.answer,
    "transforms": bench.transforms.run.answer,
}
ASKED_BY_NAME = ("soak",)
"""It takes an hour, so it is no part of a run of everything."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "questions",
        nargs="*",
        metavar="QUESTION",
        help=f"of {', '.join(QUESTIONS)}; default: all but {', '.join(ASKED_BY_NAME)}",
    )
    parser.add_argument("--quick", action="store_true", help="a tenth of the size, one round")
    parser.add_argument("--rounds", type=int, help="how often each mirror runs (3; quick: 1)")
    parser.add_argument("--set", action="append", default=[], metavar="NAME", help="only this data set or rate")
    parser.add_argument("--peer", action="append", default=[], metavar="NAME", help="only this mirror")
    chosen = parser.parse_args()
    unknown = [question for question in chosen.questions if question not in QUESTIONS]
    if unknown:
        parser.error(f"no such question: {', '.join(unknown)}; there are {', '.join(QUESTIONS)}")
    # Python's own answer to SIGTERM would leave the mirror under measurement behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    rounds = chosen.rounds or (1 if chosen.quick else 3)
    options = Options(chosen.quick, rounds, frozenset(chosen.set), frozenset(chosen.peer))
    for question in chosen.questions or [name for name in QUESTIONS if name not in ASKED_BY_NAME]:
        busy = busy_cores()
        before = f"{busy:.2f} cores (above {BUSY} something else was running)"
        facts = machine_facts() | {"busy before": before, "rounds": str(rounds)}
        body = QUESTIONS[question](options)
        page = append(question, options.quick, f"{warn_of_other_load(busy)}{listed(facts)}\n\n{body}")
        print(f"\n{body}\n\nwritten to {page}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
