"""Asks how fast a worker copies files to topics and topics to files, and what that costs."""

from __future__ import annotations

import itertools
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.clusters import JAVA_OPTIONS, SETTINGS
from bench.cost import Meter
from bench.options import Options
from bench.pipelines.workers import WITHIN_S, Worker, running
from bench.report import amount, ratio, table
from tests.kit.pipelines import produce

from twinlog.kafka.record_reader import RecordReader
from twinlog.local.cluster import LocalCluster
from twinlog.model.names import TopicPartition
from twinlog.pipelines.worker_settings import read_worker

PEERS: Final = ("connect", "twinlog")
RECORDS: Final = 500_000
WARM_UP: Final = 20_000
_JSON: Final = "org.apache.kafka.connect.json.JsonConverter"
_TRANSFORMS: Final = "org.apache.kafka.connect.transforms"
_LOOK_S: Final = 0.05
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Result:
    """One copy."""

    rate: float
    cpu_us: float  # per record
    peak_bytes: int


@dataclass(frozen=True)
class Bench:
    """The cluster and the folder of a run."""

    cluster: LocalCluster
    folder: Path

    def lines(self, count: int) -> Path:
        path = self.folder / f"lines-{count}.txt"
        if not path.exists():
            path.write_text("".join(f"line {n} {'x' * 90}\n" for n in range(count)))
        return path

    def ended_at(self, topic: str) -> int:
        reader = RecordReader(read_worker({"bootstrap.servers": self.cluster.bootstrap_servers}).cluster, {})
        try:
            return reader.ends([TopicPartition(topic, 0)])[TopicPartition(topic, 0)][1]
        except Exception:  # noqa: BLE001  it does not exist yet
            return 0
        finally:
            reader.close()

    def filled(self, count: int, as_json: bool) -> str:
        """A topic with so many records."""
        topic = f"filled-{next(_numbers)}"
        values = (
            json.dumps({"id": n, "name": f"n{n}", "price": n / 7, "note": "x" * 60})
            if as_json
            else f"line {n} {'x' * 90}"
            for n in range(count)
        )
        produce(self.cluster, topic, ((None, one.encode()) for one in values))
        return topic


def _timed(worker: Worker, name: str, config: dict[str, str], done: Callable[[], bool], count: int) -> Result:
    with Meter(worker.pid) as meter:
        meter.look_around()
        cpu, began = meter.cpu_seconds(), time.monotonic()
        worker.put(name, config)
        while not done():
            if time.monotonic() - began > WITHIN_S:
                raise RuntimeError(f"{worker.name}: {name}: not done within {WITHIN_S:.0f} s")
            time.sleep(_LOOK_S)
        seconds = time.monotonic() - began
        meter.look_around()
        used = meter.cpu_seconds() - cpu
    worker.delete(name)
    return Result(count / seconds, used * 1e6 / count, meter.peak_bytes)


def file_source(bench: Bench, worker: Worker, count: int) -> Result:
    topic = f"source-{next(_numbers)}"
    config = {"connector.class": "FileStreamSource", "file": str(bench.lines(count)), "topic": topic}
    produce(bench.cluster, topic, [])
    return _timed(worker, topic, config, lambda: bench.ended_at(topic) >= count, count)


def file_sink(bench: Bench, worker: Worker, count: int, extra: dict[str, str] | None = None) -> Result:
    topic = bench.filled(count, as_json=extra is not None)
    out = bench.folder / f"{topic}.out"
    config = {"connector.class": "FileStreamSink", "file": str(out), "topics": topic, **(extra or {})}

    def done() -> bool:
        return out.exists() and out.read_bytes().count(b"\n") >= count

    found = _timed(worker, topic, config, done, count)
    if out.read_bytes().count(b"\n") != count:
        raise RuntimeError(f"{worker.name}: {out} has not {count} lines")
    return found


def with_transforms(bench: Bench, worker: Worker, count: int) -> Result:
    steps = {
        "replace": ("ReplaceField$Value", {"exclude": "note"}),
        "insert": ("InsertField$Value", {"static.field": "origin", "static.value": "bench"}),
        "cast": ("Cast$Value", {"spec": "id:string"}),
        "mask": ("MaskField$Value", {"fields": "name"}),
    }
    extra = {"value.converter": _JSON, "value.converter.schemas.enable": "false", "transforms": ",".join(steps)}
    for name, (kind, keys) in steps.items():
        extra |= {f"transforms.{name}.type": f"{_TRANSFORMS}.{kind}"}
        extra |= {f"transforms.{name}.{key}": value for key, value in keys.items()}
    return file_sink(bench, worker, count, extra)


ERRANDS: Final[dict[str, Callable[[Bench, Worker, int], Result]]] = {
    "file source": file_source,
    "file sink": file_sink,
    "file sink, transforms": with_transforms,
}


def answer(options: Options) -> str:
    """Run it all; return the page's section."""
    count = int(RECORDS * options.scale)
    errands = {name: errand for name, errand in ERRANDS.items() if options.wants_set(name)}
    peers = [peer for peer in PEERS if options.wants_peer(peer)]
    found: dict[tuple[str, str], list[Result]] = {}
    with tempfile.TemporaryDirectory() as name:
        cluster = LocalCluster("bench", Path(name) / "kafka", settings=SETTINGS, java_options=JAVA_OPTIONS)
        with cluster:
            bench = Bench(cluster, Path(name))
            for turn in range(options.rounds):
                for peer in peers:
                    with running(peer, cluster, bench.folder) as worker:
                        for title, errand in errands.items():
                            errand(bench, worker, WARM_UP)
                            result = errand(bench, worker, count)
                            found.setdefault((title, peer), []).append(result)
                            print(f"  round {turn + 1}, {title}, {peer}: {result}", flush=True)
    return _page(found, list(errands), peers, count)


def _page(found: dict[tuple[str, str], list[Result]], errands: list[str], peers: list[str], count: int) -> str:
    rows = []
    for title in errands:
        beside: Result | None = None
        for peer in peers:
            runs = found[title, peer]
            middle = Result(
                statistics.median(one.rate for one in runs),
                statistics.median(one.cpu_us for one in runs),
                int(statistics.median(one.peak_bytes for one in runs)),
            )
            beside = beside or middle
            rows.append(
                [
                    f"{title}, {peer}", amount(middle.rate), ratio(middle.rate, beside.rate), f"{middle.cpu_us:.1f}",
                    f"{middle.peak_bytes / 1e6:.0f}",
                ]
            )  # fmt: skip
    head = ["errand and worker", "records/s", "beside Connect", "CPU us per record", "most memory, MB"]
    return f"{count:,} records, median of the rounds.\n\n{table(head, rows)}"
