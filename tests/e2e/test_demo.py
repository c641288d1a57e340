"""`twinlog demo` as a user runs it: a process, its output, its exit code, and what it leaves behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import psutil
import pytest
from tests.kit.waiting import wait_until

SMALL = ("--rate", "200", "--seconds", "2")


@contextmanager
def started(folder: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    """The demo with its temporary files in a folder of our own."""
    demo = subprocess.Popen(
        [sys.executable, "-m", "twinlog", "demo", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "TMPDIR": str(folder), "COLUMNS": "100"},
        start_new_session=True,
        # As in a terminal: whoever runs the tests in the background passes on that Ctrl-C is to be ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509  no threads here
    )
    try:
        yield demo
    finally:
        if demo.poll() is None:
            demo.kill()
            demo.communicate()


def read_until(lines: IO[str] | None, wanted: str) -> str:
    """Read line by line until one holds this; the test's own time limit ends a wait in vain."""
    assert lines is not None
    seen = ""
    for line in lines:
        seen += line
        if wanted in line:
            return seen
    pytest.fail(f"the demo ended without saying {wanted!r}:\n{seen}")


def living(folder: Path) -> list[str]:
    """What the demo started and still lives: all of it inherits where temporary files go."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            ours = process.environ().get("TMPDIR", "").startswith(str(folder))
            if ours and process.status() != psutil.STATUS_ZOMBIE:
                found.append(f"{process.pid} {' '.join(process.cmdline())[:120]}")
    return found


def await_silence(folder: Path) -> None:
    wait_until(lambda: living(folder), lambda seen: not seen, within_s=60, what="processes of the demo")


def left_in(folder: Path) -> list[Path]:
    return list(folder.iterdir())


@pytest.mark.proves("R1", "R2", "R3", "R4")
@pytest.mark.timeout(400)
def test_the_demo_survives_its_kill_and_proves_it(tmp_path: Path) -> None:
    with started(tmp_path, *SMALL) as demo:
        said, _ = demo.communicate()
    assert demo.returncode == 0, said
    assert "PROVED: nothing lost, nothing doubled, nothing reordered, every byte equal" in said
    found = re.search(r"records\s+([\d,]+) on east, ([\d,]+) on west", said)
    assert found is not None, said
    assert found[1] == found[2]
    killed = re.search(r"kill -9\s+after ([\d,]+) records; ([\d,]+) behind at most", said)
    assert killed is not None, said
    # The kill came in the middle: records before it, records that waited, records after.
    before, behind, all_of_them = (int(number.replace(",", "")) for number in (killed[1], killed[2], found[1]))
    assert 0 < before < all_of_them
    assert behind >= 200, said
    assert "twinlog run -c links.properties" in said
    assert left_in(tmp_path) == []
    await_silence(tmp_path)


@pytest.mark.timeout(400)
@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.chaos)])
def test_an_interrupted_demo_leaves_nothing_behind(tmp_path: Path, number: signal.Signals) -> None:
    with started(tmp_path, *SMALL) as demo:
        read_until(demo.stdout, "begin  start the link")
        wait_until(
            lambda: living(tmp_path), lambda seen: any("twinlog run" in p for p in seen), within_s=60, what="engine"
        )
        demo.send_signal(number)
        said, _ = demo.communicate(timeout=60)
    assert demo.returncode == 130, said
    assert left_in(tmp_path) == []
    await_silence(tmp_path)


@pytest.mark.chaos
@pytest.mark.timeout(400)
def test_a_kept_demo_goes_on_until_it_is_stopped_as_printed(tmp_path: Path) -> None:
    with started(tmp_path, *SMALL, "--keep") as demo:
        said, _ = demo.communicate()
    assert demo.returncode == 0, said
    printed = re.search(r"^ +(kill \d+)\n +(twinlog local down .*)\n +(rm -r .*)$", said, re.MULTILINE)
    assert printed is not None, said
    assert run_shell(printed[1].replace("kill", "kill -0")) == 0, "the engine ended with the demo"
    assert len(living(tmp_path)) >= 3, "two brokers and the engine go on"
    assert [run_shell(command) for command in printed.groups()] == [0, 0, 0]
    assert left_in(tmp_path) == []
    await_silence(tmp_path)


def run_shell(command: str) -> int:
    """Run a printed command as it is, with this environment's twinlog first in the path."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    return subprocess.run(command, shell=True, env={**os.environ, "PATH": path}, check=False).returncode  # noqa: S602
