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
    """One test of `twinlog pipeline test`: records in, expected records out."""

    name: str
    given: tuple[RawRecord, ...]
    wanted: tuple[Mapping[str, Any], ...]


def read_cases(documents: Any) -> list[Case]:
    """Tests of a parsed YAML file. Raises SettingsRefused."""
    if not isinstance(documents, list) or not documents:
        raise SettingsRefused([Finding(None, "a list of tests is expected")])
    cases = []
    for number, document in enumerate(documents):
        if not isinstance(document, dict) or not document.get("in") or "out" not in document:
            raise SettingsRefused([Finding(None, f"test {number + 1} needs `in` and `out`")])
        given = tuple(_record(offset, record) for offset, record in enumerate(document["in"]))
        cases.append(Case(str(document.get("name", f"test {number + 1}")), given, tuple(document["out"])))
    return cases


def _record(offset: int, document: Mapping[str, Any]) -> RawRecord:
    headers = tuple((str(k), str(v).encode()) for k, v in (document.get("headers") or {}).items())
    return RawRecord(
        str(document.get("topic", "test")), int(document.get("partition", 0)), int(document.get("offset", offset)),
        int(document.get("timestamp", 0)), _bytes(document.get("key")), _bytes(document.get("value")), headers,
    )  # fmt: skip


def _bytes(value: Any) -> bytes | None:
    if value is None:
        return None
    return value.encode() if isinstance(value, str) else json.dumps(value).encode()


def differences(spark: Session, connector: Connector, worker: Worker, case: Case) -> list[str]:
    """What is not as expected; empty: all is well."""
    made = preview_sink(spark, connector, worker, case.given, ask_sink=False).steps[-1].rows
    if len(made) != len(case.wanted):
        return [f"{len(case.wanted)} records were expected, {len(made)} came"]
    told = []
    for number, (want, got) in enumerate(zip(case.wanted, made, strict=True)):
        if got.get("error") and not want.get("error"):
            told.append(f"record {number + 1}: it is a bad record: {got['error']}")
            continue
        for key, value in want.items():
            mine = bool(got.get(key)) if key in {"error", "left out"} and isinstance(value, bool) else got.get(key)
            if mine != value:
                told.append(f"record {number + 1}: {key}: expected {value!r}, got {mine!r}")
    return told
