"""Tests of a configuration: records in, expected records out, played through the same plan. Runs where it is called.

- name: unwraps and casts
in:  [{topic: orders, key: "1", value: {id: "7"}}]
out: [{topic: orders, value: {id: 7}}, …]     only the given parts are compared; `error: true`, `left out: true`
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from twinlog.pipelines.connector import Connector
from twinlog.pipelines.preview import RawRecord, preview_sink
from twinlog.pipelines.settings import Finding, SettingsRefused
from twinlog.pipelines.worker_settings import Worker
from twinlog.spark.session import Session


@dataclass(frozen=True)
class Case:
    """One test."""

    name: str
    given: tuple[RawRecord, ...]
    wanted: tuple[Mapping[str, Any], ...]


def read_cases(found: Any) -> list[Case]:
    """Tests of a parsed YAML file. Raises SettingsRefused."""
    if not isinstance(found, list) or not found:
        raise SettingsRefused([Finding(None, "a list of tests is expected")])
    cases = []
    for number, one in enumerate(found):
        if not isinstance(one, dict) or not one.get("in") or "out" not in one:
            raise SettingsRefused([Finding(None, f"test {number + 1} needs `in` and `out`")])
        given = tuple(_record(offset, record) for offset, record in enumerate(one["in"]))
        cases.append(Case(str(one.get("name", f"test {number + 1}")), given, tuple(one["out"])))
    return cases


def _record(offset: int, found: Mapping[str, Any]) -> RawRecord:
    headers = tuple((str(k), str(v).encode()) for k, v in (found.get("headers") or {}).items())
    return RawRecord(
        str(found.get("topic", "test")), int(found.get("partition", 0)), int(found.get("offset", offset)),
        int(found.get("timestamp", 0)), _bytes(found.get("key")), _bytes(found.get("value")), headers,
    )  # fmt: skip


def _bytes(found: Any) -> bytes | None:
    if found is None:
        return None
    return found.encode() if isinstance(found, str) else json.dumps(found).encode()


def differences(spark: Session, connector: Connector, worker: Worker, case: Case) -> list[str]:
    """What is not as expected; empty: all is well."""
    made = preview_sink(spark, connector, worker, case.given, ask_sink=False).steps[-1].rows
    if len(made) != len(case.wanted):
        return [f"{len(case.wanted)} records were expected, {len(made)} came"]
    told = []
    for number, (want, got) in enumerate(zip(case.wanted, made, strict=True)):
        for key, value in want.items():
            mine = bool(got.get(key)) if key in {"error", "left out"} and isinstance(value, bool) else got.get(key)
            if mine != value:
                told.append(f"record {number + 1}: {key}: expected {value!r}, got {mine!r}")
    return told
