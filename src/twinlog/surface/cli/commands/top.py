"""`twinlog top`: all links live in the whole terminal, asked of the clusters themselves. Needs no running engine."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from twinlog.errors import ClusterError, UsageError
from twinlog.surface.cli.chosen_link import links_to_show
from twinlog.surface.cli.commands.status import summary
from twinlog.surface.cli.options import Clusters, ConfigFile, OptionalLink
from twinlog.surface.cli.words import number, sparkline

if TYPE_CHECKING:
    from twinlog.config.settings import LinkSettings
    from twinlog.model.health.movement import Movement
    from twinlog.model.health.states import LinkStatus, PartitionStatus
    from twinlog.model.names import TopicPartition
    from twinlog.watch.monitor import LinkSnapshot

Seen: TypeAlias = "list[tuple[LinkSettings, LinkStatus | ClusterError]]"
Rates = Mapping[str, Sequence[float]]
Moves: TypeAlias = "Mapping[str, Mapping[TopicPartition, Movement]]"
_KEPT: Final = 120
_FRAME_ROWS: Final = 4
"""What a table adds to its rows."""
_BESIDE_ROWS: Final = 2 + _FRAME_ROWS
"""The title, the frame of the first table, and the last line, which stays empty."""


def top(
    *,
    link: OptionalLink = None,
    config: ConfigFile,
    clusters: Clusters = None,
    every: Annotated[float, typer.Option("--every", min=0.5, help="Seconds between two updates.")] = 2.0,
) -> None:
    """Watch links: state, lag, data at risk, throughput, faults, and the partitions that are furthest behind.

    Ctrl-C ends it. In a pipe or a script use `twinlog status -o json`.
    """
    console = Console()
    if not console.is_terminal:
        raise UsageError("twinlog top: there is no terminal to draw on; use `twinlog status`")
    links = links_to_show(link, config, clusters)
    if not links:
        raise UsageError(f"{config}: there is no link in it; add one, see `twinlog init`")
    asyncio.run(_watch(console, config, links, every))


async def _watch(console: Console, config: Path, links: tuple[LinkSettings, ...], every: float) -> None:
    """Look and draw until Ctrl-C, which is the ordinary end."""
    from twinlog.service import observer
    from twinlog.watch.monitor import LinkSnapshot

    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, ended.set)
    snapshots = [LinkSnapshot(link, observer(link)) for link in links]
    rates: dict[str, deque[float]] = {link.name: deque(maxlen=_KEPT) for link in links}
    waiting: asyncio.Task[object] = asyncio.create_task(ended.wait())
    with Live(Text(f"asking {len(links)} links …"), console=console, screen=True, auto_refresh=False) as live:
        while not ended.is_set():
            looking = asyncio.create_task(_look_at_all(snapshots))
            await asyncio.wait([looking, waiting], return_when=asyncio.FIRST_COMPLETED)
            if not looking.done():
                looking.cancel()
                await asyncio.gather(looking, return_exceptions=True)
                break
            looked = looking.result()
            for link, status in looked:
                if not isinstance(status, ClusterError) and status.records_per_second is not None:
                    rates[link.name].append(status.records_per_second)
            moves = {snapshot.link.name: snapshot.movements for snapshot in snapshots}
            live.update(screen(config, looked, rates, moves, (console.width, console.height)), refresh=True)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(every):
                    await ended.wait()
    waiting.cancel()


async def _look_at_all(snapshots: list[LinkSnapshot]) -> Seen:
    return list(await asyncio.gather(*map(_look, snapshots)))


async def _look(snapshot: LinkSnapshot) -> tuple[LinkSettings, LinkStatus | ClusterError]:
    try:
        status = await snapshot.looks.look()
    except ClusterError as error:
        return snapshot.link, error
    snapshot.take(status)  # who gets on and who does not shows over several looks
    return snapshot.link, status


def screen(config: Path, seen: Seen, rates: Rates, moves: Moves, size: tuple[int, int]) -> RenderableType:
    """The whole screen: what is wrong comes before what is far behind."""
    width, height = size
    troubles = [line for link, status in seen for line in _troubles(link, status)]
    charts = [_chart(name, values, width) for name, values in rates.items() if values]
    room = max(3, height - len(seen) - len(charts) - _BESIDE_ROWS)
    shown = troubles[: max(2, room // 2)]
    if len(troubles) > len(shown):
        shown.append(Text(f"and {len(troubles) - len(shown):,} more: `twinlog status`", "red"))
    parts = [(status, part) for _, status in seen if not isinstance(status, ClusterError) for part in status.partitions]
    behind = sorted((part for part in parts if part[1].lag), key=lambda part: -(part[1].lag or 0))
    title = Text(f"twinlog  {config}  {time.strftime('%H:%M:%S')}", "bold").append("   Ctrl-C ends", "dim")
    title.no_wrap = True
    body: list[RenderableType] = [title, summary(seen, width), *charts, *shown]
    left = room - len(shown) - _FRAME_ROWS
    if behind and left > 0:
        body.append(_furthest(behind[:left], moves))
    return Group(*body)


def _troubles(link: LinkSettings, status: LinkStatus | ClusterError) -> list[Text]:
    if isinstance(status, ClusterError):
        return [_line(f"{link.name}: {status}", "red")]
    engine = status.engine
    told = [status.source_trouble, engine.trouble if engine else "no engine has ever run this link"]
    lines = [_line(f"{link.name}: {trouble}", "red") for trouble in told if trouble]
    lines += [_line(f"{link.name}: {fault.code}  {fault.says}", "red") for fault in status.faults]
    lines += [
        _line(f"{link.name}: {chore.chore}: {chore.trouble}", "yellow") for chore in status.chores if chore.trouble
    ]
    return lines


def _line(text: str, style: str) -> Text:
    return Text(text, style, no_wrap=True, overflow="ellipsis")


def _chart(name: str, values: Sequence[float], width: int) -> Text:
    tail = f" {number(values[-1])} records/s"
    return _line(f"{name} ", "bold").append(sparkline(values, max(10, width - len(name) - len(tail) - 2))).append(tail)


def _furthest(behind: list[tuple[LinkStatus, PartitionStatus]], moves: Moves) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    left = {"furthest behind", "link", "state"}
    for title in ("furthest behind", "link", "state", "lag", "source next", "source end"):
        table.add_column(title, justify="left" if title in left else "right", no_wrap=True)
    for status, part in behind:
        state = part.fault.code if part.fault else moves.get(status.link, {}).get(part.partition, "OK")
        cells = (number(part.lag), number(part.source_next), number(part.source_end))
        table.add_row(Text(str(part.partition)), Text(status.link), Text(state, "" if state == "OK" else "red"), *cells)
    return table
