"""What is told of a JVM that is gone."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import pytest

from twinlog.spark.jvm_end import error_file_option, how_it_ended

pytestmark = pytest.mark.proves("R14")
REPORT = "#\n# There is insufficient memory for the Java Runtime Environment to continue.\n# Native memory …\n"


def process(script: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(["sh", "-c", script])


@pytest.mark.parametrize(
    ("script", "said"), [("kill -9 $$", "it was killed by SIGKILL"), ("exit 3", "it ended with exit code 3")]
)
def test_an_end_is_told_by_its_code(script: str, said: str) -> None:
    assert how_it_ended(process(script)) == said


def test_the_jvm_s_own_report_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    jvm = process("kill -6 $$")
    report = Path(error_file_option().removeprefix("-XX:ErrorFile=").replace("%p", str(jvm.pid)))
    report.write_text(REPORT)
    said = f"There is insufficient memory for the Java Runtime Environment to continue ({report})"
    assert how_it_ended(jvm) == said


def test_one_that_runs_has_not_ended() -> None:
    running = process("sleep 60")
    assert how_it_ended(running) is None
    running.kill()
