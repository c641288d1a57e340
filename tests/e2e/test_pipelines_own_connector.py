"""The page about a connector of one's own, followed: written, installed, checked, run, and killed meanwhile."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.kit.connect_process import connect_process, worker_config
from tests.kit.engine import TWINLOG
from tests.kit.pipelines import committed_values
from tests.kit.waiting import wait_until

from twinlog.local.cluster import LocalCluster

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(600)]
PAGE = Path(__file__).parents[2] / "docs" / "pipelines-own-connector.md"
PATIENCE_S = 180.0
ROWS = 3000


def block(name: str, language: str) -> str:
    """What the page says is in a file."""
    found = re.search(rf"\*\*{re.escape(name)}\*\*.*?```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert found is not None, name
    return found[1]


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder for PYTHONPATH with the package as an installer leaves it: the module, and what it is found by."""
    site = tmp_path / "site"
    about = tomllib.loads(block("pyproject.toml", "toml"))["project"]
    facts = site / f"{about['name'].replace('-', '_')}-{about['version']}.dist-info"
    facts.mkdir(parents=True)
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {about['name']}\nVersion: {about['version']}\n")
    groups = [
        f"[{group}]\n" + "".join(f"{name} = {place}\n" for name, place in entries.items())
        for group, entries in about["entry-points"].items()
    ]
    (facts / "entry_points.txt").write_text("\n".join(groups))
    (site / "csv_folder.py").write_text(block("csv_folder.py", "python"))
    (site / "test_csv_folder.py").write_text(block("test_csv_folder.py", "python"))
    return site


def path_with(site: Path) -> str:
    return os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH", "")]))


def said(*command: str, site: Path) -> str:
    env = {**os.environ, "PYTHONPATH": path_with(site), "COLUMNS": "200"}
    done = subprocess.run(command, env=env, cwd=site, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_the_page_can_be_followed(
    source_cluster: LocalCluster, installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "people"
    folder.mkdir()
    config = worker_config(source_cluster, "own", **{"value.converter.schemas.enable": "false"})
    worker_file, people = tmp_path / "worker.properties", tmp_path / "people.json"
    worker_file.write_text("".join(f"{key}={value}\n" for key, value in config.items()))
    given = json.loads(block("people.json", "json"))
    given["config"]["folder"] = str(folder)
    people.write_text(json.dumps(given))
    assert "com.example.CsvFolder" in said(*TWINLOG, "pipeline", "plugins", site=installed)
    assert "1 passed" in said(
        sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(installed), site=installed
    )
    said(*TWINLOG, "pipeline", "validate", str(people), "-c", str(worker_file), site=installed)
    monkeypatch.setenv("PYTHONPATH", path_with(installed))
    (folder / "a.csv").write_text("id,name\n" + "".join(f"{n},a\n" for n in range(ROWS)))

    def seen() -> int:
        try:
            return len(committed_values(source_cluster, "people"))
        except KeyError:
            return 0

    with connect_process(config, tmp_path, str(people)) as worker:
        wait_until(seen, lambda count: count == ROWS, within_s=PATIENCE_S, what="the first file")
        (folder / "b.csv").write_text("id,name\n" + "".join(f"{n},b\n" for n in range(ROWS)))
        worker.kill("worker")
    with connect_process(config, tmp_path):
        wait_until(seen, lambda count: count >= 2 * ROWS, within_s=PATIENCE_S, what="the second file")
        (folder / "c.csv").write_text("id,name\nlast,c\n")
        wait_until(seen, lambda count: count >= 2 * ROWS + 1, within_s=PATIENCE_S, what="all files")
    found = [(row["name"], row["id"]) for row in committed_values(source_cluster, "people")]
    assert sorted(found) == sorted([(name, str(n)) for name in ("a", "b") for n in range(ROWS)] + [("c", "last")])
