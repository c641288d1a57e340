"""Whoever asks for status during an outage has an answer, with its cause, while the outage is young."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.kit.ends import Ends
from tests.kit.threads import engine_running
from typer.testing import CliRunner

from twinlog.local.cluster import LocalCluster
from twinlog.surface.cli.main import app


@pytest.mark.proves("R14")
def test_a_source_that_answers_nothing_is_named_within_ten_seconds(
    make_cluster: Callable[..., LocalCluster], target_cluster: LocalCluster, tmp_path: Path
) -> None:
    source = make_cluster("silent")
    ends = Ends(source, target_cluster)
    name = ends.create("orders", 2)
    ends.load(name, 2).produce(100)
    file = ends.write_file(tmp_path)
    with engine_running(ends.link, tmp_path):
        ends.await_copied(name)
        source.brokers[0].freeze()  # connections open and nothing comes back, as behind a line that drops packets
        try:
            began = time.monotonic()
            said = CliRunner().invoke(app, ["status", "-c", str(file), "-o", "json"])
            took = time.monotonic() - began
        finally:
            source.brokers[0].thaw()
    (link,) = json.loads(said.stdout)
    assert link["state"] == "SOURCE_DOWN"
    assert ends.alias in link["trouble"]
    assert took < 10
