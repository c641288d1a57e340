"""The canary drill as an operator starts it: a process of its own, real Spark, real brokers, over and back."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.kit.ends import Ends
from tests.kit.switches import IDENTITY


@pytest.mark.chaos
@pytest.mark.timeout(300)
@pytest.mark.proves("R5", "R10")
@pytest.mark.parametrize("naming", ["default", "identity"])
def test_a_canary_goes_over_and_back_and_leaves_nothing_behind(
    make_ends: Callable[..., Ends], tmp_path: Path, naming: str
) -> None:
    policy = {"replication_policy_class": IDENTITY} if naming == "identity" else {}
    ends = make_ends(rto_seconds="300", **policy)
    reports = tmp_path / "drills.jsonl"
    words = ["drill", ends.link.name, "-c", str(ends.write_file(tmp_path)), "--canary", "--report", str(reports)]

    done = subprocess.run(
        [sys.executable, "-m", "twinlog", *words, "-o", "json"], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert (report["verdict"], report["failures"], report["rto_kept"]) == ("passed", [], "kept")
    assert report["rto_seconds"] > 0
    assert report["facts"] == {
        "after the failover the group": "60 records, exactly 40..99",
        "after the failback the group": "20 records, exactly 100..119",
        "after the failback the log of the source": "120 records, exactly 0..119",
        "after the failback the log of the target": "120 records, exactly 0..119",
    }
    for admin in (ends.source, ends.target):
        assert not [name for name in admin.list_topics() if "drill" in name]
