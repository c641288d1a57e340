"""Runs `twinlog demo`: two clusters, the demonstration on them, and the clean-up at the end."""

from __future__ import annotations

import shutil
import signal
import tempfile
from pathlib import Path
from types import FrameType
from typing import NoReturn

import typer
from rich.console import Console

from twinlog.config.resolve import load_file
from twinlog.local.cluster import LocalCluster
from twinlog.local.demo.story import Outcome, Story, Wishes
from twinlog.local.links import links_properties
from twinlog.surface.cli.commands.local import start_clusters
from twinlog.surface.cli.demo_view import LiveView, PlainView, left_running, own_clusters, result_panel

_INTERRUPTED = 130
_WIDEST = 110


def play(wishes: Wishes) -> None:
    """Tell the whole story; exit code 1 when the proof does not hold."""
    folder = Path(tempfile.mkdtemp(prefix="twinlog-demo-"))
    console = Console()
    signal.signal(signal.SIGTERM, _as_ctrl_c)
    stage = _Stage(folder, wishes)
    leave_files = False
    kept = False
    try:
        outcome = stage.play(console)
        width = min(console.width, _WIDEST)
        console.print(result_panel(outcome, stage.source.name, stage.target.name, width))
        leave_files = not outcome.proof.holds
        kept = wishes.keep
    except KeyboardInterrupt:
        console.print("interrupted: stopping the engine and the clusters")
        raise typer.Exit(_INTERRUPTED) from None
    except Exception:
        leave_files = True
        raise
    finally:
        # A second Ctrl-C must not leave brokers behind.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        stage.clear(keep=kept)
        if leave_files and not kept:
            console.print(f"data and logs are left in {folder}", soft_wrap=True, highlight=False)
        elif not kept:
            shutil.rmtree(folder, ignore_errors=True)
    _say_goodbye(stage, console, keep=kept)
    if not outcome.proof.holds:
        raise typer.Exit(1)


class _Stage:
    """Two clusters, the file with the link between them, and the story that is played on them."""

    def __init__(self, folder: Path, wishes: Wishes) -> None:
        self.folder = folder
        self.links = folder / "links.properties"
        self.source = LocalCluster("east", folder / "east", detached=wishes.keep)
        self.target = LocalCluster("west", folder / "west", detached=wishes.keep)
        self.story: Story | None = None
        self._wishes = wishes

    def play(self, console: Console) -> Outcome:
        """Start all of it and tell the story to its end."""
        start_clusters((self.source, self.target))
        self.links.write_text(links_properties((self.source, self.target)), encoding="utf-8")
        (link,) = load_file(self.links).links
        with LiveView(console) if console.is_terminal else PlainView(console) as view:
            self.story = Story(link, self.links, self._wishes, view.show)
            return self.story.run()

    def clear(self, *, keep: bool) -> None:
        """End every process, or, to keep it, only what measures."""
        if self.story is not None:
            self.story.close(keep_engine=keep)
        if not keep:
            for cluster in (self.source, self.target):
                cluster.stop()


def _say_goodbye(stage: _Stage, console: Console, *, keep: bool) -> None:
    if keep and stage.story is not None and stage.story.engine.pid is not None:
        addresses = [(cluster.name, cluster.bootstrap_servers) for cluster in (stage.source, stage.target)]
        text = left_running(stage.links, stage.story.engine.pid, addresses, stage.folder)
        console.print(text, soft_wrap=True, highlight=False, markup=False)
    console.print(own_clusters(), soft_wrap=True, highlight=False, markup=False)


def _as_ctrl_c(_: int, __: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt
