"""The contract kit: the example of the docs keeps the contract; each broken connector is caught by its check."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.kit.object_store import batch_of, sink_of

from twinlog.pipelines.api import Owner, SourcePartition
from twinlog.pipelines.contract import sink_faults, source_faults
from twinlog.pipelines.settings import read_settings

DOCS = Path(__file__).parents[3] / "docs" / "pipelines-own-connector.md"


def example() -> dict[str, Any]:
    """The names that the example of the docs defines."""
    found = re.search(r"```python\n(\"\"\"CSV files.*?)```", DOCS.read_text(), re.DOTALL)
    assert found is not None
    names: dict[str, Any] = {}
    exec(found[1], names)  # noqa: S102  our own docs
    return names


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Any]:
    names = example()
    for file in ("a", "b"):
        (tmp_path / f"{file}.csv").write_text("id,name\n1,x\n2,y\n")

    def made(kind: type | None = None) -> Any:
        settings = read_settings(names["CsvFolderSettings"], {"folder": str(tmp_path), "topic": "t"})
        return (kind or names["CsvFolder"])(settings)

    return made


def test_the_example_of_the_docs_keeps_the_contract(make: Callable[..., Any]) -> None:
    assert source_faults(make) == []
    source = make()
    (first, _) = source.partitions()
    assert [chunk.rows for chunk in source.read(first, None, lambda: False)] == [
        [{"id": "1", "name": "x"}, {"id": "2", "name": "y"}]
    ]
    assert list(source.check()) == []


def test_broken_sources_are_caught(make: Callable[..., Any]) -> None:
    good = example()["CsvFolder"]

    class Empty(good):  # type: ignore[misc,valid-type]
        def partitions(self) -> Any:
            return []

    class Twice(good):  # type: ignore[misc,valid-type]
        def partitions(self) -> Any:
            return super().partitions()[:1] * 2

    class Forgetful(good):  # type: ignore[misc,valid-type]
        def read(self, at: SourcePartition, start: Any, stop: Any) -> Any:  # noqa: ARG002
            yield from super().read(at, None, stop)

    class Odd(good):  # type: ignore[misc,valid-type]
        def read(self, at: SourcePartition, start: Any, stop: Any) -> Any:
            if start is None:
                yield from (replace(chunk, key=("nothing",)) for chunk in super().read(at, start, stop))

    class Changing(good):  # type: ignore[misc,valid-type]
        calls = 0

        def read(self, at: SourcePartition, start: Any, stop: Any) -> Any:
            Changing.calls += 1
            rows = [{"n": Changing.calls}]
            yield from (replace(chunk, rows=rows) for chunk in super().read(at, start, stop))

    for kind, words in ((Empty, "nothing to read"), (Twice, "same `at`"), (Forgetful, "does not give the rows behind"),
                        (Odd, "key columns"), (Changing, "other rows")):  # fmt: skip
        assert any(words in one for one in source_faults(lambda kind=kind: make(kind))), kind  # type: ignore[misc]


def test_the_object_store_sink_keeps_the_contract(tmp_path: Path) -> None:
    assert sink_faults(lambda: sink_of(tmp_path), batch_of(["{}"] * 5)) == []


def test_broken_sinks_are_caught(tmp_path: Path) -> None:
    class Loose:
        """Forgets positions, and lets everybody write."""

        delivery = "exactly-once"

        def __init__(self) -> None:
            self.inner = sink_of(tmp_path)

        def open(self, owner: Owner, partitions: Any) -> Any:
            self.inner.open(Owner(owner.connector, 1), partitions)
            return {}

        def positions(self, connector: str) -> Any:  # noqa: ARG002
            return {}

        def __getattr__(self, name: str) -> Any:
            return getattr(self.inner, name)

    faults = sink_faults(Loose, batch_of(["{}"] * 5))  # type: ignore[arg-type]
    assert [one.split("(")[0] for one in faults] == ["open", "positions", "open"]
