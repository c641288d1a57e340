"""The output of the demo: one live panel in a terminal, plain lines anywhere else, and the result at the end."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from twinlog.local.demo.proof import Kind
from twinlog.local.demo.story import TOPIC, Outcome, Scene
from twinlog.surface.cli.words import sparkline

_MARKS = {"ahead": ("·", "dim"), "now": ("▶", "bold cyan"), "done": ("✓", "green"), "failed": ("✗", "bold red")}
_WORDS = {"now": "begin ", "done": "done  ", "failed": "FAILED"}
_LINE_EVERY_S = 2.0
_WIDEST = 110
# Columns that the panel's frame and the other cells of the numbers table need beside the sparkline.
_BESIDE_SPARKLINE = 50
# The same for a step's note and title: frame, mark, seconds and the gaps between.
_BESIDE_NOTE = 6 + 2 + 9 + 1


class LiveView:
    """The panel: steps above, numbers of both ends below."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, auto_refresh=False, transient=False)

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.__exit__(kind, error, trace)

    def show(self, scene: Scene) -> None:
        self._live.update(scene_panel(scene, min(self._console.width, _WIDEST)), refresh=True)


class PlainView:
    """Lines for a pipe or a log: each change of a step, and the numbers every other second."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._states: dict[str, str] = {}
        self._next = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return

    def show(self, scene: Scene) -> None:
        """Say what is new."""
        for step in scene.steps:
            if step.state != "ahead" and self._states.get(step.title) != step.state:
                self._states[step.title] = step.state
                self._say(scene, f"{_WORDS[step.state]} {step.title}{f': {step.note}' if step.note else ''}")
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + _LINE_EVERY_S
            now = scene.reading
            self._say(
                scene,
                f"{scene.source} {now.produced:,} ({now.source_rate:,.0f}/s) "
                f"{scene.target} {now.arrived:,} ({now.target_rate:,.0f}/s) lag {now.lag:,} "
                f"latency p50 {milliseconds(now.p50_ms)} p99 {milliseconds(now.p99_ms)}",
            )

    def _say(self, scene: Scene, sentence: str) -> None:
        self._console.print(f"{scene.elapsed:6.1f} s  {sentence}", highlight=False, markup=False, soft_wrap=True)


def scene_panel(scene: Scene, width: int) -> Panel:
    """Draw one moment in so many columns."""
    steps = Table.grid(padding=(0, 1))
    steps.add_column(no_wrap=True)
    steps.add_column(no_wrap=True)
    steps.add_column(no_wrap=True, justify="right")
    steps.add_column(no_wrap=True)
    # Notes are cut here: rich would shorten the marks and titles beside a long note as well.
    room = max(0, width - _BESIDE_NOTE - max(len(step.title) for step in scene.steps))
    for step in scene.steps:
        mark, style = _MARKS[step.state]
        seconds = "" if step.seconds is None else f"{step.seconds:.1f} s"
        note = Text(step.note, "cyan")
        note.truncate(room, overflow="ellipsis")
        title_style = "bold" if step.state == "now" else "dim" if step.state == "ahead" else ""
        steps.add_row(Text(mark, style), Text(step.title, title_style), Text(seconds, "dim"), note)
    title = f"[bold]Twinlog[/]  {scene.source} [cyan]──▶[/] {scene.target}  [dim]{scene.elapsed:.0f} s[/]"
    body = Group(steps, Text(), _numbers(scene, width))
    return Panel(body, title=title, title_align="left", width=width, padding=(1, 2), border_style="cyan")


def _numbers(scene: Scene, width: int) -> RenderableType:
    now = scene.reading
    room = max(4, width - _BESIDE_SPARKLINE)
    # A burst of catching up may be a hundred times the ordinary rate, which would vanish beside it.
    ceiling = min(max((*now.source_rates, *now.target_rates, 1.0)), 3 * max((*now.source_rates, 1.0)))
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(justify="right", min_width=9, no_wrap=True)
    table.add_column(justify="right", min_width=11, no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_row("", Text("records", "dim"), Text("records/s", "dim"), Text("the last seconds", "dim"))
    for name, topic, count, rate, history in (
        (scene.source, TOPIC, now.produced, now.source_rate, now.source_rates),
        (scene.target, scene.remote, now.arrived, now.target_rate, now.target_rates),
    ):
        label = Text.assemble((name, "bold"), " ", (topic, "dim"))
        table.add_row(label, f"{count:,}", f"{rate:,.0f}", Text(sparkline(history, room, ceiling), "green"))
    lag_style = "yellow" if now.lag > 2 * max(1.0, now.source_rate) else ""
    table.add_row(
        Text("lag", "bold"), Text(f"{now.lag:,}", lag_style), "", Text(sparkline(now.lags, room), lag_style or "blue")
    )
    quantiles = f"p50 {milliseconds(now.p50_ms)}   p99 {milliseconds(now.p99_ms)}"
    latency = Text.assemble(quantiles, ("   from producer to consumer", "dim"))
    latency_row = Table.grid(padding=(0, 2))
    latency_row.add_row(Text("latency", "bold"), latency)
    return Group(table, latency_row)


def milliseconds(value: float | None) -> str:
    """A latency for people: unknown is said, and seconds are not written as thousands of milliseconds."""
    if value is None:
        return "-"
    return f"{value:,.0f} ms" if value < 10_000 else f"{value / 1000:,.1f} s"


def result_panel(outcome: Outcome, source: str, target: str, width: int) -> Panel:
    """The panel with the result of the demo: what was proved, or what was not."""
    proof = outcome.proof
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, style="dim")
    table.add_column(overflow="fold")
    counts = f"{proof.source_records:,} on {source}, {proof.target_records:,} on {target}"
    table.add_row("records", counts)
    counted = "  ".join(f"{kind} {proof.counts[kind]:,}" for kind in Kind)
    table.add_row("found", Text(counted, "green" if not proof.counts else "bold red"))
    same = proof.source_digest == proof.target_digest
    digests = f"{proof.source_digest[:16]}… {'=' if same else 'is not'} {proof.target_digest[:16]}…"
    table.add_row("all bytes", Text(digests, "green" if same else "bold red"))
    table.add_row("latency", f"p50 {milliseconds(outcome.p50_ms)}, p99 {milliseconds(outcome.p99_ms)} before the kill")
    again = f"after {outcome.killed_at:,} records; {outcome.most_behind:,} behind at most"
    table.add_row("kill -9", f"{again}; caught up {outcome.back_after_s:.1f} s after the restart")
    body: list[RenderableType] = [table]
    if proof.holds:
        verdict = Text("PROVED: nothing lost, nothing doubled, nothing reordered, every byte equal", "bold green")
    else:
        verdict = Text("NOT PROVED: the two sides differ", "bold red")
        body += [Text(), *(Text(named, "red") for named in proof.named)]
    style = "green" if proof.holds else "red"
    return Panel(Group(verdict, Text(), *body), width=width, padding=(1, 2), border_style=style)


def own_clusters() -> str:
    """How to do the same with clusters of one's own."""
    return """\
With your own clusters: a file links.properties, or the one of MirrorMaker 2

    clusters = east, west
    east.bootstrap.servers = east-1.example.com:9092
    west.bootstrap.servers = west-1.example.com:9092
    east->west.enabled = true
    east->west.topics = orders, payments.*

and run

    twinlog validate -c links.properties
    twinlog run -c links.properties

Schemas: `registry.listeners = http://127.0.0.1:8081` in that file lets `twinlog run --listen` serve a schema registry.
"""


def left_running(links: Path, pid: int, addresses: Sequence[tuple[str, str]], folder: Path) -> str:
    """Where everything is that `--keep` left, and how to end it."""
    lines = ["Still running:", ""]
    lines += [f"    {name:8} {address}" for name, address in addresses]
    lines += [f"    engine   pid {pid}, log {links.parent / 'engine.log'}", ""]
    lines += [f"    twinlog status -c {links}", "", "To stop it and delete its data:", ""]
    lines += [f"    kill {pid}", f"    twinlog local down --wipe --dir {folder}", f"    rm -r {folder}", ""]
    return "\n".join(lines)
