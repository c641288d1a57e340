"""The object store sink on a folder: names, formats, folders, rotation; each record once, wherever it breaks off."""

from __future__ import annotations

import gzip
import io
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import fastavro
import pyarrow.parquet
import pytest
from tests.kit.object_store import P0, P1, batch_of, sink_of

from twinlog.pipelines.api import Owner, Retriable, SettingsRefused, Superseded
from twinlog.pipelines.schemas import DATE, TIMESTAMP, Schema, struct
from twinlog.pipelines.sinks.object_store.partitioners import strftime_of
from twinlog.pipelines.sinks.object_store.store import Store

SCHEMA = struct(
    ("id", Schema("int64")),
    ("day", Schema("int32", optional=True, name=DATE, version=1)),
    ("at", Schema("int64", optional=True, name=TIMESTAMP, version=1)),
    ("tags", Schema("array", optional=True, values=Schema("string"))),
)


def files(folder: Path) -> dict[str, bytes]:
    found = {str(one.relative_to(folder)): one.read_bytes() for one in folder.rglob("*") if one.is_file()}
    return {name: data for name, data in found.items() if not name.startswith("_twinlog")}


def test_files_of_fixed_size_with_confluents_names(tmp_path: Path) -> None:
    sink = sink_of(tmp_path)
    assert sink.open(Owner("s", 1), [P0]) == {}
    assert not sink.put(batch_of([f'{{"n":{n}}}' for n in range(7)], first=10))
    sink.flush({P0: 17})
    assert files(tmp_path) == {
        "topics/orders/partition=0/orders+0+0000000010.json": b'{"n":0}\n{"n":1}\n{"n":2}\n',
        "topics/orders/partition=0/orders+0+0000000013.json": b'{"n":3}\n{"n":4}\n{"n":5}\n',
    }
    assert sink.positions("s") == {P0: 17}
    sink.close()
    # The seventh record is stored, although its file is not complete.
    again = sink_of(tmp_path)
    assert again.open(Owner("s", 2), [P0]) == {P0: 17}
    again.put(batch_of(['{"n":7}', '{"n":8}'], first=17))
    again.flush({P0: 19})
    assert files(tmp_path)["topics/orders/partition=0/orders+0+0000000016.json"] == b'{"n":6}\n{"n":7}\n{"n":8}\n'


def test_parquet_avro_and_csv(tmp_path: Path) -> None:
    rows = [{"id": 1, "day": 1, "at": 5, "tags": ["a"]}, {"id": 2, "day": None, "at": None, "tags": None}]
    for form in ("ParquetFormat", "AvroFormat", "CsvFormat"):
        folder = tmp_path / form
        sink = sink_of(folder, flush_size="2", format_class=f"io.confluent.connect.s3.format.x.{form}")
        sink.open(Owner("s", 1), [P0])
        sink.put(batch_of(rows, schema=SCHEMA))
        sink.flush({P0: 2})
        ((name, data),) = files(folder).items()
        if form == "ParquetFormat":
            assert name.endswith("orders+0+0000000000.snappy.parquet")
            found: list[Any] = pyarrow.parquet.read_table(io.BytesIO(data)).to_pylist()
            assert (str(found[0]["day"]), found[0]["at"].microsecond, found[1]["tags"]) == ("1970-01-02", 5000, None)
        elif form == "AvroFormat":
            assert list(fastavro.reader(io.BytesIO(data))) == rows
        else:
            assert data.splitlines()[0] == b'"id","day","at","tags"'


def test_gzip(tmp_path: Path) -> None:
    sink = sink_of(tmp_path, flush_size="1", s3_compression_type="gzip")
    sink.open(Owner("s", 1), [P0])
    sink.put(batch_of(["{}"]))
    sink.flush({P0: 1})
    ((name, data),) = files(tmp_path).items()
    assert name.endswith(".json.gz")
    assert gzip.decompress(data) == b"{}\n"


def test_folders_by_field_and_time(tmp_path: Path) -> None:
    by_field = sink_of(tmp_path / "f", flush_size="1", partitioner_class="x.FieldPartitioner",
                       partition_field_name="country,a.b")  # fmt: skip
    by_field.open(Owner("s", 1), [P0])
    values = [json.dumps({"country": "ch/de", "a": {"b": True}}), json.dumps({"a": 1})]
    assert [(one.row, "country" in one.reason) for one in by_field.put(batch_of(values))] == [(1, True)]
    by_field.flush({P0: 2})
    assert list(files(tmp_path / "f")) == ["topics/orders/country=ch%2Fde/a.b=true/orders+0+0000000000.json"]
    by_time = sink_of(tmp_path / "t", flush_size="1", partitioner_class="x.TimeBasedPartitioner",
                      path_format="'year'=YYYY/'day'=dd/HH", partition_duration_ms="3600000",
                      timestamp_extractor="Record", timezone="Europe/Berlin", locale="de")  # fmt: skip
    by_time.open(Owner("s", 1), [P0])
    by_time.put(batch_of(["{}"], times=[1_700_000_000_000]))
    by_time.flush({P0: 1})
    assert list(files(tmp_path / "t")) == ["topics/orders/year=2023/day=14/23/orders+0+0000000000.json"]
    with pytest.raises(SettingsRefused, match="QQ"):
        strftime_of("QQ")
    with pytest.raises(SettingsRefused, match=r"path\.format"):
        sink_of(tmp_path, partitioner_class="x.TimeBasedPartitioner")


def test_files_end_by_time_of_records_and_by_another_schema(tmp_path: Path) -> None:
    sink = sink_of(tmp_path, flush_size="100", rotate_interval_ms="1000", format_class="ParquetFormat")
    sink.open(Owner("s", 1), [P0])
    row = {"id": 1, "day": None, "at": None, "tags": None}
    sink.put(batch_of([row] * 4, schema=SCHEMA, times=[0, 999, 1000, 1001]))
    sink.put(batch_of([{"id": 9}], first=4, schema=struct(("id", Schema("int64"))), times=[1002]))
    sink.flush({P0: 5})
    names = [name.rpartition("+")[2] for name in sorted(files(tmp_path))]
    assert names == ["0000000000.snappy.parquet", "0000000002.snappy.parquet"]


def test_a_record_without_a_value_is_refused_or_left_out(tmp_path: Path) -> None:
    sink = sink_of(tmp_path)
    sink.open(Owner("s", 1), [P0])
    assert [one.row for one in sink.put(batch_of(["{}", None]))] == [1]
    quiet = sink_of(tmp_path / "q", behavior_on_null_values="ignore")
    quiet.open(Owner("s", 1), [P0])
    assert not quiet.put(batch_of([None]))


def test_an_older_owner_is_refused(tmp_path: Path) -> None:
    old, new = sink_of(tmp_path), sink_of(tmp_path)
    old.open(Owner("s", 1), [P0])
    new.open(Owner("s", 2), [P0])
    old.put(batch_of(["{}"]))
    with pytest.raises(Superseded):
        old.flush({P0: 1})
    with pytest.raises(Superseded):
        sink_of(tmp_path).open(Owner("s", 1), [P0])


@pytest.mark.proves("R30")
@pytest.mark.parametrize("seed", range(4))
def test_wherever_it_is_interrupted_each_record_is_in_one_file(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    dice = random.Random(seed)
    log = {P0: [f'{{"p":0,"n":{n}}}' for n in range(40)], P1: [f'{{"p":1,"n":{n}}}' for n in range(30)]}
    put = Store.put

    def breaking(self: Store, path: str, data: bytes) -> None:
        if dice.random() < 0.15:
            raise Retriable("broken before")
        put(self, path, data)
        if dice.random() < 0.15:
            raise Retriable("broken after")

    monkeypatch.setattr(Store, "put", breaking)
    monkeypatch.setattr("os.fsync", lambda _: None)  # no power is cut here
    options = {"rotate_schedule_interval_ms": "1"} if seed % 2 else {}
    generation = 0
    at = dict.fromkeys(log, 0)
    for _ in range(2000):
        if all(at[one] >= len(log[one]) for one in log):
            break
        generation += 1
        sink = sink_of(tmp_path, flush_size=str(4), **options)
        try:
            at = {one: sink.open(Owner("s", generation), list(log)).get(one, 0) for one in log}
            for _ in range(dice.randint(1, 4)):
                for one in log:
                    some = log[one][at[one] : at[one] + dice.randint(0, 7)]
                    if some:
                        sink.put(batch_of(some, at[one], one.partition))
                        at[one] += len(some)
                sink.flush(at)
        except Retriable:
            at = dict.fromkeys(log, 0)  # whatever was reached is in the store, or it is not
            continue
    monkeypatch.undo()
    sink = sink_of(tmp_path, flush_size="4", rotate_schedule_interval_ms="1")
    reached = sink.open(Owner("s", generation + 1), list(log))
    assert reached == {one: len(log[one]) for one in log}
    for one, lines in log.items():
        sink.put(batch_of(['{"end":true}'] * 3, len(lines), one.partition))
    sink.flush({one: len(log[one]) + 3 for one in log})
    counted = Counter(line for data in files(tmp_path).values() for line in data.decode().splitlines())
    wanted = [line for one in log for line in log[one]]
    assert {line: counted[line] for line in wanted if counted[line] != 1} == {}
