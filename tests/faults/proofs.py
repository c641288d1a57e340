"""Rows that are made by tests of the project: run with pytest, counted from its report."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

from tests.faults.machine import CoresUsed
from tests.faults.row import Cost, Row
from tests.faults.scenario import Scenario

_PROOF_WITHIN_S = 900


def run_proof(one: Scenario, commit: str) -> Row:
    """Run the tests of a scenario; every failure is a goal that was missed."""
    used = CoresUsed.now()
    row = _tested(one, commit)
    return replace(row, others=CoresUsed.now().others_since(used))


def _tested(one: Scenario, commit: str) -> Row:
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="pf") as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}", *one.tests]
        try:
            subprocess.run(command, capture_output=True, check=False, timeout=_PROOF_WITHIN_S)
        except subprocess.TimeoutExpired:
            return _row(one, commit, began, 0, [f"the tests did not end within {_PROOF_WITHIN_S} s"])
        cases = list(ET.parse(report).iter("testcase")) if report.exists() else []  # noqa: S314 - our own file
    failed = []
    for case in cases:
        trouble = case.find("failure") if case.find("failure") is not None else case.find("error")
        if trouble is not None:
            says = re.sub(r"\s+", " ", trouble.get("message") or "")[:300]
            failed.append(f"{case.get('name')}: {says}")
    return _row(one, commit, began, len(cases), failed if cases else ["no test was run"])


def _row(one: Scenario, commit: str, began: float, count: int, missed: list[str]) -> Row:
    return Row(
        key=one.key,
        family=one.family,
        matrix=list(one.matrix),
        title=one.title,
        done=one.done,
        twinlog=Cost(),
        peer=None,
        said=f"{count - len(missed)} of {count} tests passed ({', '.join(Path(test).name for test in one.tests)})",
        named_s=None,
        missed=missed,
        commit=commit,
        at=time.strftime("%H:%M:%S"),
        took_s=round(time.monotonic() - began, 1),
        proof=True,
    )
