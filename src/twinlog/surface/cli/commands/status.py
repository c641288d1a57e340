"""`twinlog status`: the state of every link, asked of the clusters themselves. Needs no running engine."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from twinlog.errors import ClusterError
from twinlog.model.ledger.stage_times import figures
from twinlog.model.moments import clock
from twinlog.surface.answers.sync_words import job_line
from twinlog.surface.cli.chosen_link import links_to_show
from twinlog.surface.cli.exposure_view import at_rest, headline
from twinlog.surface.cli.options import Clusters, ConfigFile, OptionalLink
from twinlog.surface.cli.output import Form, Output, print_facts, screen
from twinlog.surface.cli.words import duration, number

if TYPE_CHECKING:
    from twinlog.config.settings import LinkSettings
    from twinlog.model.health.states import LinkStatus

COLOURS = {"RUNNING": "green", "CATCHING_UP": "yellow"} | dict.fromkeys(
    ("DEGRADED", "FAULTED", "STALLED", "SOURCE_DOWN"), "red"
)
BETWEEN_LOOKS_S = 1.2
_WIDE: Final = 100
"""Columns of a terminal that hold most columns of the table."""
_UNBOUNDED: Final = 1000
"""Whoever asks for `wide` gets all of them."""
_NARROW: Final = 68
"""A terminal below this would lose the names of the links to numbers."""
_MOOT: Final = "-"  # of a link that was switched: nothing is copied, on purpose
_TITLES: Final = (
    *("link", "state", "lag", "behind", "at risk", "records/s", "faults"),
    *("MB/s", "topics", "parts", "records at risk", "engine"),
)


def status(
    *,
    link: OptionalLink = None,
    config: ConfigFile,
    clusters: Clusters = None,
    partitions: Annotated[bool, typer.Option("--partitions", "-p", help="Every partition, not only the sums.")] = False,
    output: Form = Output.TABLE,
) -> None:
    """Show state, lag, throughput and faults of links, and what would be lost if a source vanished now.

    Exit code 1 when a link is not healthy or an objective of the settings is not kept.
    """
    show_status(links_to_show(link, config, clusters), output, partitions=partitions)


def show_status(links: tuple[LinkSettings, ...], output: Output, *, partitions: bool) -> None:
    """Look at these links and tell; exit code 1 when one is not well."""
    looked = asyncio.run(look_at(links))
    if output.for_programs:
        from twinlog.surface.answers.status import status_of

        print_facts([status_of(link, s).model_dump() for link, s in looked], output)
    else:
        _print(looked, partitions, output)
    healthy = {"RUNNING", "CATCHING_UP"}
    if any(isinstance(s, ClusterError) or s.state not in healthy or _broken(s) for _, s in looked):
        raise typer.Exit(1)


def _broken(status_: LinkStatus) -> bool:
    return status_.exposure is not None and bool(status_.exposure.broken)


async def look_at(links: tuple[LinkSettings, ...]) -> list[tuple[LinkSettings, LinkStatus | ClusterError]]:
    """All links side by side; one that cannot be seen does not hide the others."""
    return list(await asyncio.gather(*(_look_twice(link) for link in links)))


async def _look_twice(link: LinkSettings) -> tuple[LinkSettings, LinkStatus | ClusterError]:
    """Two looks, for the rates between them."""
    from twinlog.service import observer

    observers = observer(link)
    try:
        first = await observers.look()
        if first.source_trouble is not None:
            return link, first  # nothing has a rate, and the second look would wait for the source again
        await asyncio.sleep(BETWEEN_LOOKS_S)
        return link, await observers.look()
    except ClusterError as error:
        return link, error


def _at_risk(status_: LinkStatus) -> str:
    """How old what is not copied is. A link that was switched copies nothing on purpose."""
    if status_.state == "SWITCHED":
        return _MOOT
    exposure = status_.exposure
    return duration(None if exposure is None else exposure.age_of(exposure.total))


def _records_at_risk(status_: LinkStatus) -> str:
    """How many records are not copied; a range where the source does not answer."""
    if status_.state == "SWITCHED":
        return _MOOT
    exposure = status_.exposure
    if exposure is None:
        return number(None)
    if exposure.live:
        return number(exposure.total.records)
    loss = exposure.loss
    if loss.at_least is None or loss.at_most is None:
        return number(None)
    return f"{loss.at_least:,}" if loss.at_least == loss.at_most else f"{loss.at_least:,}..{loss.at_most:,}"


def summary(looked: list[tuple[LinkSettings, LinkStatus | ClusterError]], width: int) -> Table:
    """One row per link. A narrow terminal gets fewer columns, not shorter numbers."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    shown: tuple[str, ...] = _TITLES if width >= _UNBOUNDED else _TITLES[:10] if width >= _WIDE else _TITLES[:7]
    if width < _NARROW:
        shown = ("link", "state", "lag", "faults")
    for title in shown:
        left = title in {"link", "state", "engine"}
        table.add_column(title, justify="left" if left else "right", no_wrap=title != "link")
    for link, status_ in looked:
        if isinstance(status_, ClusterError):
            table.add_row(link.name, Text("UNKNOWN", "red"), *["unknown"] * (len(table.columns) - 2))
            continue
        cells: tuple[str | Text, ...] = (
            link.name,
            Text(status_.state, COLOURS.get(status_.state, "dim")),
            _MOOT if status_.state == "SWITCHED" else number(status_.lag),
            _MOOT if status_.state == "SWITCHED" else number(status_.lag_seconds, " s"),
            _at_risk(status_),
            number(status_.records_per_second),
            Text(str(len(status_.faults)), "red" if status_.faults else ""),
            number(None if status_.bytes_per_second is None else status_.bytes_per_second / 1e6),
            str(status_.topics),
            str(len(status_.partitions)),
            _records_at_risk(status_),
            f"{status_.engine.host}:{status_.engine.pid}" if status_.engine else "none",
        )
        table.add_row(*(cell for title, cell in zip(_TITLES, cells, strict=True) if title in shown))
    return table


def _print(looked: list[tuple[LinkSettings, LinkStatus | ClusterError]], partitions: bool, output: Output) -> None:
    console = screen(output)
    console.print(summary(looked, _UNBOUNDED if output is Output.WIDE else console.width))
    for link, status_ in looked:
        _print_details(console, link, status_, partitions)
        if output is Output.WIDE and not isinstance(status_, ClusterError):
            _print_stages(console, status_)


def _print_stages(console: Console, status_: LinkStatus) -> None:
    """How long records took lately, in one line."""
    stages = figures(status_.stages)
    told = [f"{stage} {number(times.p50_ms)} / {number(times.p99_ms)}" for stage, times in stages.items()]
    says = f"{', '.join(told)} ms (p50 / p99)" if told else "nothing was copied in the last minutes"
    console.print(Text(f"{'latency':14}", "bold").append(says, "dim"))


def _print_chores(console: Console, status_: LinkStatus) -> None:
    """One line per sync job that did something, with what it could not do below it; the others in one line."""
    busy = {job.chore for job in status_.chores if job.trouble or job.findings or any(job.counts.values())}
    idle = [job.chore for job in status_.chores if job.chore not in busy]
    for chore in status_.chores:
        if chore.chore in idle:
            continue
        did = job_line(chore.chore, chore.counts)
        ago = max(0.0, (status_.now_ms - chore.at_ms) / 1000)
        line = Text(f"{chore.chore:14}", "bold").append(f"{did}, {ago:.0f} s ago", "dim")
        if chore.trouble is not None:
            line = Text(f"{chore.chore:14}", "bold").append(f"{chore.trouble}, {ago:.0f} s ago", "red")
        console.print(line, soft_wrap=True)
        for finding in chore.findings:
            console.print(Text(f"  {finding}", "yellow" if chore.found else "dim"), soft_wrap=True)
        if chore.found > len(chore.findings):
            console.print(Text(f"  and {chore.found - len(chore.findings):,} more", "yellow"))
    if idle:
        console.print(Text(f"{'nothing to do':14}", "bold").append(", ".join(idle), "dim"), soft_wrap=True)


def _seen_now(link: LinkSettings, status_: LinkStatus) -> Iterator[str]:
    """What this command met itself."""
    from twinlog.errors.clusters import likely_remedy
    from twinlog.model.health.states import silent_seconds, source_down_since

    since = source_down_since(status_)
    if since is not None:
        heard = f"the engine last heard it at {clock(since)}" if since else "no engine has ever heard it"
        yield f"SOURCE_DOWN: {link.source} does not answer; {heard}"
    if status_.source_trouble:
        yield f"seen now: {status_.source_trouble}"
        if remedy := likely_remedy(link.source, status_.source_trouble):
            yield f"try: {remedy}"
        if since is None and status_.source_seen_ms is not None:
            yield f"only from here: the engine heard {link.source} at {clock(status_.source_seen_ms)}"
    silent, engine = silent_seconds(status_), status_.engine
    if engine is None:
        yield "no engine has run this link yet. Start it with `twinlog run`."
    elif silent is not None:
        yield f"the engine on {engine.host} (pid {engine.pid}) is silent for {duration(silent)}."


def _said_before(status_: LinkStatus) -> Iterator[str]:
    """What its engine said, and when."""
    engine = status_.engine
    if engine is None:
        return
    if engine.took_from and status_.state != "SWITCHED":
        ended = "; it has stopped since" if engine.phase == "stopped" else ""
        here = f"the engine on {engine.host} (pid {engine.pid})"
        yield f"{here} took this link from {engine.took_from} at {clock(engine.since_ms)}{ended}."
    if engine.trouble and not status_.rests:
        yield f"the engine said at {clock(engine.at_ms)}: {engine.trouble}"


def _print_details(console: Console, link: LinkSettings, status_: LinkStatus | ClusterError, partitions: bool) -> None:
    if isinstance(status_, ClusterError):
        console.print(Text(link.name, "red").append(f": {status_}\n  try: {status_.remedy_text()}", ""), soft_wrap=True)
        return
    if status_.control.held or status_.control.bytes_per_second is not None or status_.control.schedule:
        from twinlog.surface.cli.live_control import told

        console.print(Text(f"{link.name}: ordered: {told(status_.control)}", "yellow"), soft_wrap=True)
    if status_.rests:
        console.print(Text(at_rest(link, status_), "yellow"), soft_wrap=True)
    for line in _seen_now(link, status_):
        console.print(Text(f"{link.name}: ").append(line, "red"), soft_wrap=True)
    for line in _said_before(status_):
        console.print(Text(f"{link.name}: ").append(line, "yellow"), soft_wrap=True)
    for fault in status_.faults:
        console.print(Text(f"{fault.code}  {fault.says}", "red"), soft_wrap=True)
        console.print(Text(f"  try: {fault.remedy}"), soft_wrap=True)
    if status_.exposure is not None and (not status_.exposure.live or status_.exposure.broken):
        console.print(headline(status_.exposure), soft_wrap=True)
        for topic in status_.exposure.broken:
            seen = f"{duration(topic.seconds)} against {topic.rpo_seconds} s"
            console.print(Text(f"{topic.topic}: objective {topic.objective} is not kept: {seen}", "red"))
    _print_chores(console, status_)
    for part in status_.partitions:
        if part.held_back:
            console.print(Text(f"{part.partition}: {part.held_back}", "yellow"))
    if partitions:
        table = Table()
        counts = ("source next", "source end", "lag", "target next", "records", "skipped", "returned", "dropped")
        titles = ("partition", "into", *counts, "state")
        for title in titles:
            table.add_column(title, justify="left" if title in {"partition", "into", "state"} else "right")
        for p in status_.partitions:
            state = p.fault.code if p.fault else "ok"
            cells = (
                p.source_next,
                p.source_end,
                p.lag,
                p.target_next,
                p.records,
                p.skipped,
                p.returned,
                p.dropped + p.refused,
            )
            table.add_row(str(p.partition), p.remote, *(number(cell) for cell in cells), state)
        console.print(table)
