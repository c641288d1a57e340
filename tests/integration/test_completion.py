"""What real shells are offered of real clusters."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.kit.ends import Ends
from tests.kit.groups import set_positions
from tests.kit.waiting import wait_until

MakeEnds = Callable[..., Ends]
BASH = """
source "$1"
COMP_WORDS=(twinlog explain "$2" -l "$3" "$4")
COMP_CWORD=5
_twinlog_completion twinlog
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
def test_bash_is_offered_topics_and_groups_of_the_source(make_ends: MakeEnds, tmp_path: Path):
    ends = make_ends()
    orders, group = ends.create("orders"), ends.name("readers")
    set_positions(ends.source_logs, group, {(orders, 0): 0})
    scripts = str(Path(sys.executable).parent)
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith(("TWINLOG_", "COMP_"))},
        "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "XDG_CONFIG_HOME": str(tmp_path),
        "TWINLOG_CONFIG": str(ends.write_file(tmp_path)),
    }

    def told(*command: str) -> str:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, cwd=tmp_path)
        assert done.stderr == ""
        return done.stdout

    (tmp_path / "twinlog.bash").write_text(told("twinlog", "completion", "bash"))

    def offered(noun: str, begun: str) -> list[str]:
        words = (noun, f"{ends.alias}-\\>T", begun)
        return told("bash", "-c", BASH, "bash", "./twinlog.bash", *words).split()

    for noun, wanted in (("topic", orders), ("group", group)):
        # On a busy machine a cluster may not answer in the time that somebody waits behind TAB.
        wait_until(lambda: offered(noun, ends.prefix), lambda seen: seen == [wanted], within_s=60, what=noun)  # noqa: B023
