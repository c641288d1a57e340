"""`twinlog` as a shell calls it, in this process."""

from __future__ import annotations

import os
import sys
from unittest.mock import patch

import pytest

from twinlog.surface.cli.main import main


def run_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str, **variables: str
) -> tuple[int, str, str]:
    """Its exit code and what it said; variables of ours count only when they are given here."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("TWINLOG_") or key == "TWINLOG_HOME"}
    monkeypatch.setattr(sys, "argv", ["twinlog", *arguments])
    with (
        patch.dict(os.environ, {**kept, "COLUMNS": "200", **variables}, clear=True),
        pytest.raises(SystemExit) as ended,
    ):
        main()
    told = capsys.readouterr()
    code = ended.value.code
    return code if isinstance(code, int) else 0, told.out, told.err
