"""Iceberg and Delta tables in a folder: rows read by hand, columns that come later, owners, crashes at any commit."""

from __future__ import annotations

import json
import random
from collections import Counter
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.kit.lake import delta_config, delta_files, iceberg_config, iceberg_files, rows_in, sink_of
from tests.kit.object_store import P0, P1, batch_of

from twinlog.pipelines.api import Owner, Retriable, SettingsRefused, Superseded
from twinlog.pipelines.contract import sink_faults
from twinlog.pipelines.schemas import DATE, DECIMAL, TIME, TIMESTAMP, Schema, struct
from twinlog.pipelines.sinks.lake.iceberg import parts_of
from twinlog.pipelines.validate import findings_of

ID = struct(("id", Schema("int64")), ("name", Schema("string", optional=True)))
KINDS = struct(
    ("small", Schema("int8")),
    ("day", Schema("int32", optional=True, name=DATE)),
    ("at", Schema("int64", optional=True, name=TIMESTAMP)),
    ("micros", Schema("int64", optional=True, name="io.debezium.time.MicroTimestamp")),
    ("noon", Schema("int32", optional=True, name=TIME)),
    ("price", Schema("bytes", optional=True, name=DECIMAL, parameters=(("scale", "2"),))),
    ("tags", Schema("array", optional=True, values=Schema("int16"))),
    ("inner", struct(("at", Schema("int64", optional=True, name=TIMESTAMP)), optional=True)),
    ("more", Schema("map", optional=True, keys=Schema("string"), values=Schema("int64"))),
)


class Table:
    """One of the two formats, with a table for the topic orders."""

    def __init__(self, form: str, folder: Path) -> None:
        self.form, self.folder = form, folder

    def sink(self, **config: str) -> Any:
        if self.form == "iceberg":
            return sink_of(iceberg_config(self.folder, **config))
        return sink_of(delta_config(self.folder, **config))

    def fixed(self, **config: str) -> Any:
        """A sink whose records all go to one table."""
        more = {} if self.form == "iceberg" else {"delta__table__url": f"file://{self.folder}/orders"}
        return self.sink(**more, **config)

    def files(self) -> list[str]:
        if self.form == "iceberg":
            return iceberg_files(self.folder / "shop" / "orders")
        return delta_files(self.folder / "orders")

    def rows(self) -> list[dict[str, Any]]:
        return rows_in(self.files())


@pytest.fixture(params=["iceberg", "delta"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Table:
    return Table(request.param, tmp_path)


def rows(first: int, count: int) -> list[dict[str, Any]]:
    return [{"id": n, "name": f"n{n}"} for n in range(first, first + count)]


@pytest.mark.proves("R30")
def test_rows_and_positions_are_in_one_commit(table: Table) -> None:
    sink = table.fixed()
    assert list(sink.check()) == []
    assert sink.open(Owner("s", 1), [P0]) == {}
    assert not sink.put(batch_of(rows(0, 3), schema=ID))
    sink.flush({P0: 3})
    sink.put(batch_of(rows(3, 2), first=3, schema=ID))
    sink.close()  # given up: not flushed
    again = table.fixed()
    assert again.open(Owner("s", 2), [P0, P1]) == {P0: 3}
    again.put(batch_of(rows(3, 2), first=3, schema=ID))
    again.put(batch_of(rows(100, 1), partition=1, schema=ID))
    again.flush({P0: 5, P1: 1})
    assert sorted(one["id"] for one in table.rows()) == [0, 1, 2, 3, 4, 100]
    assert len(table.files()) == 2


def test_the_contract_of_sinks_is_kept(table: Table) -> None:
    assert sink_faults(table.fixed, batch_of(rows(0, 3), schema=ID)) == []


def test_of_two_owners_one_writes(table: Table) -> None:
    old, young = table.fixed(), table.fixed()
    old.open(Owner("s", 1), [P0])
    young.open(Owner("s", 2), [P0])
    for sink in (old, young):
        sink.put(batch_of(rows(0, 3), schema=ID))
    old.flush({P0: 3})
    with pytest.raises(Retriable, match="another owner"):
        young.flush({P0: 3})
    assert young.open(Owner("s", 2), [P0]) == {P0: 3}
    young.put(batch_of(rows(3, 1), first=3, schema=ID))
    young.flush({P0: 4})
    old.put(batch_of(rows(3, 1), first=3, schema=ID))
    with pytest.raises(Superseded):
        old.flush({P0: 4})
    assert sorted(one["id"] for one in table.rows()) == [0, 1, 2, 3]


def test_tasks_commit_side_by_side(table: Table) -> None:
    one, other = table.fixed(), table.fixed()
    one.open(Owner("s", 1, 0), [P0])
    other.open(Owner("s", 1, 1), [P1])
    one.put(batch_of(rows(0, 2), schema=ID))
    other.put(batch_of([{"id": 7, "name": "x", "new": 1.5}], partition=1,
                       schema=struct(*[(f.name, f.schema) for f in ID.fields], ("new", Schema("double")))))  # fmt: skip
    one.flush({P0: 2})
    other.flush({P1: 1})  # the table changed since it was read: looked at again, and written
    one.put(batch_of(rows(2, 1), first=2, schema=ID))
    one.flush({P0: 3})
    found = {row["id"]: row.get("new") for row in table.rows()}
    assert found == {0: None, 1: None, 2: None, 7: 1.5}
    assert table.fixed().open(Owner("s", 2), [P0, P1]) == {P0: 3, P1: 1}


@pytest.mark.proves("R30")
@pytest.mark.parametrize("seed", range(4))
def test_each_row_is_there_once_whatever_breaks_off(table: Table, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commits fail before or behind their effect, at random; the framework opens anew and puts again."""
    dice = random.Random(seed)
    sink = table.fixed()
    kind = type(sink._lake.load("shop.orders") or _made(sink)).__name__
    module = f"twinlog.pipelines.sinks.lake.{table.form}"
    commit = getattr(__import__(module, fromlist=[kind]), kind).commit

    def shaky(self: Any, *args: Any) -> None:
        fate = dice.random()
        if fate < 0.2:
            raise Retriable("before")
        commit(self, *args)
        if fate < 0.4:
            raise Retriable("behind")

    monkeypatch.setattr(f"{module}.{kind}.commit", shaky)
    position, generation = 0, 1
    known = sink.open(Owner("s", generation), [P0])
    while position < 40:
        position = known.get(P0, position)
        count = dice.randint(1, 6)
        try:
            sink.put(batch_of(rows(position, count), first=position, schema=ID))
            sink.flush({P0: position + count})
            position += count
            known = {}
        except Retriable:
            sink.close()
            generation += 1
            known = sink.open(Owner("s", generation), [P0])
    found = Counter(one["id"] for one in table.rows())
    assert found == Counter(range(max(found) + 1))


def _made(sink: Any) -> Any:
    """A first commit, so that there is a table."""
    sink.open(Owner("s", 0), [P1])
    sink.put(batch_of([{"id": 0, "name": ""}], partition=1, schema=ID))
    name = sink.fixed()[0]
    target = sink._target(name)
    sink._lake.create(name, target.columns, [])
    return sink._lake.load(name)


def test_where_the_record_decides_a_table_leaves_out_what_it_has(tmp_path: Path) -> None:
    config = {"iceberg__tables": "shop.orders,shop.rest", "iceberg__tables__route-field": "name",
              "iceberg__table__shop.orders__route-regex": "a.*",
              "iceberg__table__shop.rest__route-regex": "b.*"}  # fmt: skip
    sink = sink_of(iceberg_config(tmp_path, **config))
    assert sink.open(Owner("s", 1), [P0]) == {}
    assert sink.positions("s") is None
    values = [{"id": n, "name": name} for n, name in enumerate(["a1", "b1", "c", "b2", "a2"])]
    sink.put(batch_of(values, schema=ID))
    sink.flush({P0: 5})
    again = sink_of(iceberg_config(tmp_path, **config))  # the group did not hear of the flush
    again.open(Owner("s", 2), [P0])
    again.put(batch_of([*values, {"id": 5, "name": "a3"}], schema=ID))
    again.flush({P0: 6})
    assert sorted(one["id"] for one in rows_in(iceberg_files(tmp_path / "shop" / "orders"))) == [0, 4, 5]
    assert sorted(one["id"] for one in rows_in(iceberg_files(tmp_path / "shop" / "rest"))) == [1, 3]


def test_a_field_names_its_table(tmp_path: Path) -> None:
    config = iceberg_config(tmp_path, **{"iceberg__tables": "", "iceberg__tables__dynamic-enabled": "true",
                                         "iceberg__tables__route-field": "name"})  # fmt: skip
    sink = sink_of(config)
    sink.open(Owner("s", 1), [P0])
    refused = sink.put(batch_of([{"id": 1, "name": "Shop.A"}, {"id": 2, "name": None}], schema=ID))
    assert [(one.row, one.reason) for one in refused] == [(1, "the record names no table")]
    sink.flush({P0: 2})
    assert [one["id"] for one in rows_in(iceberg_files(tmp_path / "shop" / "a"))] == [1]


def test_types(table: Table) -> None:
    value = {
        "small": 3, "day": 1, "at": 5, "micros": 7, "noon": 43_200_000, "price": Decimal("1.25"), "tags": [1, 2],
        "inner": {"at": 5}, "more": [("x", 1)],
    }  # fmt: skip
    sink = table.fixed()
    sink.open(Owner("s", 1), [P0])
    empty = {one.name: None for one in KINDS.fields} | {"small": 4}
    assert not sink.put(batch_of([value, empty], schema=KINDS))
    sink.flush({P0: 2})
    first, second = sorted(table.rows(), key=lambda one: one["small"])
    assert (first["day"], first["at"]) == (date(1970, 1, 2), datetime(1970, 1, 1, microsecond=5000, tzinfo=UTC))
    assert first["micros"].microsecond == 7
    assert str(first["noon"]) == ("12:00:00" if table.form == "iceberg" else "43200000")
    assert (first["price"], first["tags"], dict(first["more"])) == (Decimal("1.25"), [1, 2], {"x": 1})
    assert first["inner"]["at"] == first["at"]
    assert {name for name, found in second.items() if found is not None} == {"small"}


def test_columns_that_come_later_follow_the_contract(table: Table) -> None:
    wide = struct(*[(one.name, one.schema) for one in ID.fields], ("new", Schema("string", optional=True)))
    for contract, has_column in (("evolve", True), ("freeze", False), ("fail", False)):
        own = Table(table.form, table.folder / contract)
        sink = own.fixed(schema__contract=contract)
        sink.open(Owner("s", 1), [P0])
        sink.put(batch_of(rows(0, 1), schema=ID))
        sink.flush({P0: 1})
        refused = sink.put(batch_of([{"id": 1, "name": "x", "new": "y"}], first=1, schema=wide))
        assert [one.row for one in refused] == ([0] if contract == "fail" else [])
        sink.flush({P0: 2})
        found = {row["id"]: row.get("new") for row in own.rows()}
        assert found == ({0: None} | ({} if contract == "fail" else {1: "y" if has_column else None}))


def test_documents_without_a_schema(table: Table) -> None:
    sink = table.fixed()
    sink.open(Owner("s", 1), [P0])
    texts = [json.dumps(one) for one in (
        {"id": 1, "at": "2024-01-01T00:00:00", "in": {"a": None, "b": [1.5]}, "none": None, "list": []},
        {"id": 2, "in": {"a": "x"}}, 7, {"id": "no number"},
    )]  # fmt: skip
    refused = sink.put(batch_of(texts[:2]))
    assert not refused
    refused = sink.put(batch_of(texts[2:], first=2))
    assert [one.row for one in refused] == [0, 1]
    sink.flush({P0: 4})
    first, second = sorted(table.rows(), key=lambda one: one["id"])
    assert first == {"id": 1, "at": "2024-01-01T00:00:00", "in": {"a": None, "b": [1.5]}}
    assert second["in"] == {"a": "x", "b": None}


def test_bad_rows_are_alone(table: Table) -> None:
    sink = table.fixed()
    sink.open(Owner("s", 1), [P0])
    sink.put(batch_of([{"id": 1}], schema=struct(("id", Schema("int32")))))
    sink.flush({P0: 1})
    values = [{"id": n} for n in (2, 1 << 40, 3)] + [None]
    is_wider = table.form == "iceberg"  # an Iceberg column of int becomes long by itself
    refused = sink.put(batch_of(values, first=1, schema=struct(("id", Schema("int64")))))
    assert [(one.row, one.left_out) for one in refused] == ([(3, True)] if is_wider else [(3, True), (1, False)])
    sink.flush({P0: 5})
    assert sorted(one["id"] for one in table.rows()) == [1, 2, 3, *([1 << 40] if is_wider else [])]


def test_positions_can_be_set_back(table: Table) -> None:
    sink = table.fixed()
    sink.open(Owner("s", 1), [P0])
    sink.put(batch_of(rows(0, 3), schema=ID))
    sink.flush({P0: 3})
    sink.close()
    order = table.fixed()
    order.open(Owner("s", 2), [P0])
    order.flush({P0: 1})
    assert table.fixed().open(Owner("s", 3), [P0]) == {P0: 1}


def test_partitioners_cut_tables_by_columns(table: Table) -> None:
    by_field = Table(table.form, table.folder / "field")
    sink = by_field.fixed(partitioner__class="x.FieldPartitioner", partition__field__name="name")
    sink.open(Owner("s", 1), [P0])
    sink.put(batch_of([{"id": 1, "name": "a"}, {"id": 2, "name": "b"}], schema=ID))
    sink.flush({P0: 2})
    assert {Path(one).parent.name for one in by_field.files()} == {"name=a", "name=b"}
    by_time = Table(table.form, table.folder / "time")
    sink = by_time.fixed(partitioner__class="x.DailyPartitioner", timestamp__extractor="Record")
    sink.open(Owner("s", 1), [P0])
    sink.put(batch_of(rows(0, 1), schema=ID, times=[1_700_000_000_000]))
    sink.flush({P0: 1})
    (file,) = by_time.files()
    assert file.split("/")[-4:-1] == ["year=2023", "month=11", "day=14"]


def test_icebergs_own_partitions(tmp_path: Path) -> None:
    assert parts_of("country, days(at), bucket(id, 8),truncate(name,4)") == [
        ("country", "identity", 0), ("at", "day", 0), ("id", "bucket", 8), ("name", "truncate", 4),
    ]  # fmt: skip
    with pytest.raises(SettingsRefused, match=r"bucket\(id\)"):
        parts_of("bucket(id)")
    config = iceberg_config(tmp_path, **{"iceberg__tables__default-partition-by": "day(at)"})
    sink = sink_of(config)
    sink.open(Owner("s", 1), [P0])
    schema = struct(("id", Schema("int64")), ("at", Schema("int64", name=TIMESTAMP)))
    sink.put(batch_of([{"id": 1, "at": 0}, {"id": 2, "at": 86_400_000}, {"id": 3, "at": 1}], schema=schema))
    sink.flush({P0: 3})
    found = {Path(one).parent.name for one in iceberg_files(tmp_path / "shop" / "orders")}
    assert found == {"at_day=1970-01-01", "at_day=1970-01-02"}


def test_a_table_that_may_not_be_created(tmp_path: Path) -> None:
    sink = sink_of(iceberg_config(tmp_path, **{"iceberg__tables__auto-create-enabled": "false"}))
    assert [one.key for one in sink.check()] == ["iceberg.tables"]
    sink.open(Owner("s", 1), [P0])
    assert "no such table" in sink.put(batch_of(rows(0, 1), schema=ID))[0].reason


def test_preview_changes_nothing(table: Table) -> None:
    said = table.fixed().preview(batch_of(rows(0, 1), schema=ID))
    assert said[0].startswith("create table")
    assert "id int64, name string" in said[0]
    assert table.fixed().open(Owner("s", 1), [P0]) == {}
    assert not list(table.folder.rglob("*.parquet"))


@pytest.mark.parametrize(
    ("change", "key", "word"),
    [
        ({"iceberg.tables": ""}, "iceberg.tables", "missing"),
        ({"iceberg.tables": "orders"}, "iceberg.tables", "namespace"),
        ({"iceberg.catalog.type": "hadoop"}, "iceberg.catalog.type", "rest, sql"),
        ({"iceberg.catalog.catalog-impl": "x.Y"}, "iceberg.catalog.catalog-impl", "Java"),
        ({"iceberg.catalog.py-io-impl": "os.path"}, "iceberg.catalog.py-io-impl", "code"),
        ({"iceberg.tables.upsert-mode-enabled": "true"}, "iceberg.tables.upsert-mode-enabled", "only added"),
        ({"iceberg.tables.dynamic-enabled": "true"}, "iceberg.tables.route-field", "missing"),
        ({"iceberg.tables.default-partition-by": "week(at)"}, "iceberg.tables.default-partition-by", "week"),
        ({"iceberg.table.a.b.route-regex": "("}, "iceberg.table.a.b.route-regex", "regular expression"),
    ],
)
def test_wrong_keys_are_told(tmp_path: Path, change: dict[str, str], key: str, word: str) -> None:
    findings = findings_of("x", {"topics": "t", **iceberg_config(tmp_path), **change}, {})
    assert [(one.key, word in one.message) for one in findings if one.level == "error"] == [(key, True)]


def test_keys_of_the_other_sink_are_known(tmp_path: Path) -> None:
    more = {"iceberg.control.topic": "x", "iceberg.kafka.x": "y", "iceberg.catalog.s3.endpoint": "http://x"}
    assert findings_of("x", {"topics": "t", **iceberg_config(tmp_path), **more}, {}) == []
    with pytest.raises(SettingsRefused, match="must begin with"):
        sink_of(delta_config(tmp_path, delta__table__url="/lake"))


def test_rows_have_an_arrow_schema_without_numbers(table: Table) -> None:
    sink = table.fixed()
    sink.open(Owner("s", 1), [P0])
    sink.put(batch_of(rows(0, 1), schema=ID))
    sink.flush({P0: 1})
    columns = {one.name: one.type for one in sink._lake.load(sink.fixed()[0]).columns}
    assert columns == {"id": pa.int64(), "name": pa.string()}
