"""Scenarios that hold on a Confluent registry 8.1.1 hold here.

The scenarios and their player are no part of the repository: see tests/unit/registry/recorded.py.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from tests.kit.memory_registry import registry_running
from tests.unit.registry.recorded import FOLDER

pytestmark = pytest.mark.timeout(600)

_OVERWRITES: Final = "Confluent replaces the text of a version in mode IMPORT; here it is refused"
DIFFERENT: Final = {
    ("import_mode_comprehensive.feature", "Duplicate version import returns existing version"): _OVERWRITES,
    ("mode_exhaustive.feature", "Import with duplicate version returns existing version"): _OVERWRITES,
}
"""Deliberate differences with their reasons."""


@pytest.mark.proves("R23")
def test_the_scenarios_hold(tmp_path: Path) -> None:
    holding = {
        (feature, name)
        for feature, results in json.loads((FOLDER / "registry-features-on-confluent-8.1.1.json").read_text()).items()
        for name in results.get("pass", [])
    }
    found = tmp_path / "found.json"
    with registry_running() as address:
        subprocess.run(
            [sys.executable, str(FOLDER.parent / "tools" / "registry_features.py"), address, str(found)],
            env={**os.environ, "FEATURES": f"{FOLDER}/registry-features/"},
            check=True,
            timeout=550,
        )
    played = {(one["file"], one["name"]): one for one in json.loads(found.read_text())}
    missed = {key: played[key]["why"] for key in holding & played.keys() if played[key]["result"] != "pass"}
    assert len(holding & played.keys()) > 1000
    assert {key: why for key, why in missed.items() if key not in DIFFERENT} == {}
