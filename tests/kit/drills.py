"""Drills as an operator runs them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.kit.ends import Ends
from typer.testing import CliRunner

from twinlog.surface.cli.main import app


def drill(ends: Ends, folder: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    """The exit code and the report."""
    file, reports = ends.write_file(folder), folder / "drills.jsonl"
    answer = CliRunner().invoke(
        app, ["drill", ends.link.name, "-c", str(file), "--report", str(reports), "-o", "json", *arguments]
    )
    assert answer.stdout.startswith("{"), answer.output
    return answer.exit_code, json.loads(answer.stdout)
