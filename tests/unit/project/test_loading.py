"""What a question about a link loads: nobody waits for libraries that the answer does not need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HEAVY = ("pyspark", "pyarrow", "dns")
FILE = """
clusters = A, B
A.bootstrap.servers = 127.0.0.1:1
B.bootstrap.servers = 127.0.0.1:1
A->B.enabled = true
A->B.topics = orders
"""
QUESTIONS = [
    ["status"],
    ["rpo", "A->B"],
    ["groups", "A->B"],
    ["switch", "status", "A->B"],
    ["failover", "A->B", "--unplanned", "--dry-run"],
]


def test_questions_about_a_link_load_neither_spark_nor_what_only_a_hook_needs(tmp_path: Path):
    """Each command is stopped half a second after it asked its first question; nobody listens on these ports."""
    file = tmp_path / "links.properties"
    file.write_text(FILE)
    code = (
        "import asyncio, os, sys\nfrom twinlog.surface.cli import main\nrun = asyncio.run\n"
        "asyncio.run = lambda question: run(asyncio.wait_for(question, 0.5))\n"
        f"for words in {QUESTIONS!r}:\n    sys.argv = ['twinlog', *words, '-c', {str(file)!r}]\n"
        "    try:\n        main.main()\n    except (SystemExit, TimeoutError):\n        pass\n"
        f"print(sorted(set({HEAVY!r}) & set(sys.modules)), flush=True)\n"
        "used = ('twinlog.sync.answers.group_report', 'twinlog.recovery.switching')\n"
        "print(all(name in sys.modules for name in used))\n"
        "sys.stdout.flush()\nos._exit(0)"  # a thread may still wait for an answer
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.splitlines()[-2:] == ["[]", "True"], done.stderr
