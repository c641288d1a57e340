"""Files to Kafka and back: the first example of every book about Connect."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.kit.file_pipelines import SINK, SOURCE, WITH_SCHEMA, records_of
from tests.kit.pipelines import PATIENCE_S, committed, pipelines, produce, until_file_holds
from tests.kit.waiting import wait_until

from twinlog.local.cluster import LocalCluster
from twinlog.spark.session import Session

pytestmark = pytest.mark.timeout(420)  # several pipelines start one after the other


@pytest.mark.proves("R30")
def test_lines_of_a_file_reach_another_file_once(spark: Session, source_cluster: LocalCluster, tmp_path: Path) -> None:
    told, heard = tmp_path / "in.txt", tmp_path / "out.txt"
    told.write_text("hello\nwörld\nhalf a li")
    with pipelines(spark, source_cluster, tmp_path) as worker:
        config = SOURCE | WITH_SCHEMA | {"file": str(told), "topic": "lines-once"}
        source = worker.start("lines-in", config)
        sink = worker.start("lines-out", SINK | WITH_SCHEMA | {"file": str(heard), "topics": "lines-once"})
        until_file_holds(heard, "hello\nwörld\n", source, sink)
        with told.open("a") as file:
            file.write("ne\r\nlast\n")
        until_file_holds(heard, "hello\nwörld\nhalf a line\nlast\n", source, sink)
        # Stopped and started again, both go on where they were.
        worker.stop("lines-in")
        worker.stop("lines-out")
        with told.open("a") as file:
            file.write("after\n")
        source = worker.start("lines-in", config)
        sink = worker.start("lines-out", SINK | WITH_SCHEMA | {"file": str(heard), "topics": "lines-once"})
        until_file_holds(heard, "hello\nwörld\nhalf a line\nlast\nafter\n", source, sink)
    values = [json.loads(value or b"") for _, value in records_of(source_cluster, "lines-once", 5)]
    assert values[0] == {"schema": {"type": "string", "optional": False}, "payload": "hello"}
    assert [one["payload"] for one in values] == ["hello", "wörld", "half a line", "last", "after"]


def test_a_sink_of_a_topic_that_is_missing_says_so_and_starts_when_it_comes(
    spark: Session, source_cluster: LocalCluster, tmp_path: Path
) -> None:
    heard = tmp_path / "out.txt"
    with pipelines(spark, source_cluster, tmp_path) as worker:
        sink = worker.start("late-out", SINK | WITH_SCHEMA | {"file": str(heard), "topics": "late-topic"})
        wait_until(lambda: sink.progress.waiting, lambda told: "late-topic" in told, within_s=PATIENCE_S, what="why")
        produce(source_cluster, "late-topic", [(None, b'{"schema":{"type":"string"},"payload":"one"}')])
        until_file_holds(heard, "one\n", sink)
        assert sink.progress.waiting == ""


@pytest.mark.proves("R31")
@pytest.mark.parametrize("tolerance", ["none", "all"])
def test_a_bad_record_is_parked_or_stops_its_partition(
    spark: Session, source_cluster: LocalCluster, tmp_path: Path, tolerance: str
) -> None:
    topic, dead, heard = f"mixed-{tolerance}", f"dead-{tolerance}", tmp_path / "out.txt"
    values = (
        b'{"schema":{"type":"string"},"payload":"one"}',
        b"not json",
        b'{"schema":{"type":"string"},"payload":"two"}',
    )
    produce(source_cluster, topic, [(b"k", value) for value in values], headers=[("h", b"1")])
    errors = {
        "errors.tolerance": tolerance,
        "errors.deadletterqueue.topic.name": dead,
        "errors.deadletterqueue.topic.replication.factor": "1",
        "errors.deadletterqueue.context.headers.enable": "true",
    }
    with pipelines(spark, source_cluster, tmp_path) as worker:
        sink = worker.start("mixed-out", SINK | WITH_SCHEMA | errors | {"file": str(heard), "topics": topic})
        if tolerance == "all":
            until_file_holds(heard, "one\ntwo\n", sink)
            assert records_of(source_cluster, dead, 1) == [(b"k", b"not json")]
        else:
            until_file_holds(heard, "one\n", sink)
            faults = wait_until(lambda: sink.progress.faults, bool, within_s=PATIENCE_S, what="a fault")
            assert (faults[0]["topic"], faults[0]["offset"], faults[0]["stage"]) == (topic, 1, "VALUE_CONVERTER")


@pytest.mark.proves("R31")
def test_poison_of_every_kind_is_parked_and_the_rest_goes_on(
    spark: Session, source_cluster: LocalCluster, tmp_path: Path
) -> None:
    heard = tmp_path / "out.txt"
    good = b'{"schema":{"type":"string","optional":true},"payload":"good %d"}'
    poison = [
        b"", b"\xff\xfe", b"{", b"[1]", b"7", b'"text"', b"{}", b'{"schema":{"type":"string"}}',
        b'{"schema":{"type":"string"},"payload":"x","more":1}',
        b'{"schema":{"type":"nothing"},"payload":"x"}',
        b'{"schema":"string","payload":"x"}',
        b'{"schema":{"type":"struct"},"payload":{}}',
        b'{"schema":{"type":"map","keys":{"type":"int32"},"values":{"type":"int32"}},"payload":[[1,2]]}',
        b'{"schema":{"type":"string","optional":false},"payload":null}',
        b'{"schema":{"type":"struct","fields":[{"field":"a","type":"int32","optional":false}]},"payload":{"a":"x"}}',
    ]  # fmt: skip
    records: list[tuple[bytes | None, bytes | None]] = []
    for number, value in enumerate(poison):
        records += [(b"k", good % number), (b"k", value)]
    records.append((b"k", good % len(poison)))
    produce(source_cluster, "poison", records)
    errors = {"errors.tolerance": "all", "errors.deadletterqueue.topic.name": "poison-dead"}
    with pipelines(spark, source_cluster, tmp_path) as worker:
        sink = worker.start("poison-out", SINK | WITH_SCHEMA | errors | {"file": str(heard), "topics": "poison"})
        until_file_holds(heard, "".join(f"good {n}\n" for n in range(len(poison) + 1)), sink)
    assert [one.value() or b"" for one in committed(source_cluster, "poison-dead")] == poison
