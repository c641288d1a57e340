"""Runs `twinlog demo pipelines`: the folder, the demonstration line by line, and the clean-up at the end."""

from __future__ import annotations

import shutil
import signal
import tempfile
import time
from pathlib import Path
from types import FrameType
from typing import Final, NoReturn

import typer

from twinlog.local.demo.pipelines import PipelinesStory

_INTERRUPTED: Final = 130


def play_pipelines() -> None:
    """Tell the whole story. What went wrong leaves its logs behind."""
    folder = Path(tempfile.mkdtemp(prefix="twinlog-demo-"))
    began = time.monotonic()
    signal.signal(signal.SIGTERM, _as_ctrl_c)
    story = PipelinesStory(folder, lambda line: typer.echo(f"{time.monotonic() - began:6.1f} s  {line}"))
    failed = True
    try:
        story.play()
        failed = False
    except KeyboardInterrupt:
        typer.echo("interrupted: stopping the servers")
        failed = False
        raise typer.Exit(_INTERRUPTED) from None
    finally:
        # A second Ctrl-C must not leave servers behind.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        story.close()
        if failed:
            typer.echo(f"data and logs are left in {folder}", err=True)
        else:
            shutil.rmtree(folder, ignore_errors=True)


def _as_ctrl_c(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt
