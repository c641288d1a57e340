"""How long actions show that they continue: bars at a terminal, and nothing of them anywhere else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn


@contextmanager
def bars(*, stay: bool = False) -> Iterator[Progress]:
    """Bars while the block lasts."""
    with bars_of(stay=stay) as progress:
        yield progress


def bars_of(*, stay: bool = False) -> Progress:
    """Bars on stderr; each task has a `detail`. What is printed on their console stands above them, or alone."""
    console = Console(stderr=True, highlight=False)
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[detail]}", style="dim"),
        TimeElapsedColumn(),
        console=console,
        transient=not stay,
        disable=not console.is_terminal,
    )
