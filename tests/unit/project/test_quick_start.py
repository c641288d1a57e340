"""TAB and --help must not wait for what only a running command needs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SLOW = ("pyspark", "pyarrow", "confluent_kafka", "aiokafka", "pydantic", "cryptography", "fastapi", "uvicorn", "yaml")
ASK = f"""
import contextlib, io, json, sys
from twinlog.surface.cli import main
sys.argv[0] = "twinlog"
with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.suppress(SystemExit):
    main.main()
print(json.dumps({{"said": said.getvalue(), "slow": [name for name in {SLOW} if name in sys.modules]}}))
"""


def ask(home: Path, *arguments: str, **variables: str) -> tuple[str, list[str]]:
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("TWINLOG_", "COMP_"))}
    done = subprocess.run(
        [sys.executable, "-c", ASK, *arguments],
        env={**clean, "XDG_CONFIG_HOME": str(home), "XDG_CACHE_HOME": str(home), **variables},
        capture_output=True,
        text=True,
        check=True,
        cwd=home,
    )
    answer = json.loads(done.stdout)
    return answer["said"], answer["slow"]


@pytest.mark.parametrize("arguments", [("--help",), ("status", "--help"), ("link", "--help")])
def test_help_loads_nothing_slow(tmp_path: Path, arguments: tuple[str, ...]):
    said, slow = ask(tmp_path, *arguments)
    assert "Usage:" in said
    assert slow == []


def test_the_shell_is_offered_commands_without_loading_anything_slow(tmp_path: Path):
    words = {"_TWINLOG_COMPLETE": "complete_bash", "COMP_WORDS": "twinlog\nstat", "COMP_CWORD": "1"}
    said, slow = ask(tmp_path, **words)
    assert said.split() == ["status"]
    assert slow == []
