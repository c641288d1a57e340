"""`twinlog advise`: why a link is slow, what to set, and what this machine could carry, from measurements."""

from __future__ import annotations

import asyncio
import difflib
import os
import shutil
import signal
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from twinlog.errors import UsageError
from twinlog.surface.cli.chosen_link import chosen_link
from twinlog.surface.cli.effects import DryRun, Yes, would
from twinlog.surface.cli.options import ConfigFile, LinkArgument
from twinlog.surface.cli.output import Form, Output, painted, print_facts
from twinlog.surface.cli.words import duration, number, size

if TYPE_CHECKING:
    from twinlog.config.settings import LinkSettings
    from twinlog.doctor.advice.capacity import Capacity
    from twinlog.doctor.advice.settings import Advice


def advise(  # noqa: PLR0917  options of a command
    link: LinkArgument,
    config: ConfigFile,
    seconds: Annotated[float, typer.Option("--seconds", min=1, max=3600, help="How long the link is measured.")] = 10,
    capacity: Annotated[bool, typer.Option("--capacity", help="Also what this machine could carry.")] = False,
    apply: Annotated[bool, typer.Option("--apply", help="Write the advice for the settings file into it.")] = False,
    sweep: Annotated[
        str | None, typer.Option("--sweep", help="Try values of a setting, e.g. `tasks.max=1,2,4,8`.")
    ] = None,
    sweep_bytes: Annotated[
        int, typer.Option("--sweep-bytes", min=1_000_000, max=100_000_000_000, help="Size of the load.")
    ] = 200_000_000,
    sweep_seconds: Annotated[
        float, typer.Option("--sweep-seconds", min=1, max=3600, help="Most time for one value.")
    ] = 30,
    sweep_partitions: Annotated[
        int, typer.Option("--sweep-partitions", min=1, max=1000, help="Partitions of the load's topic.")
    ] = 16,
    plot: Annotated[Path | None, typer.Option("--plot", help="Write the sweep as a picture (SVG).")] = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    output: Form = Output.TABLE,
) -> None:
    """Measure a link and say which end or resource it waits for, with the figures, and what to set.

    The link is observed twice; both clusters are asked about quotas and round trips. Processor time is known when the
    engine runs on this machine. Advice for the kernel and for brokers is printed as commands, which are never run.
    --apply shows the difference and asks before it changes the settings file; a running service follows the file.

    --sweep measures something else: it writes a load of its own to a topic of its own on the source, copies it once for
    each value of one setting, and names the knee. Time and bytes are bounded, and everything is deleted at the end.
    """
    if sweep is not None:
        bounds = (sweep_bytes, sweep_seconds, sweep_partitions)
        _sweep(link, config, sweep, bounds, plot, dry_run=dry_run, yes=yes, output=output)
        return
    from twinlog.doctor.advice.bottleneck import bottleneck
    from twinlog.doctor.advice.capacity import capacity as estimate
    from twinlog.doctor.advice.settings import advices
    from twinlog.service.advising import measure_link

    seen = asyncio.run(measure_link(chosen_link(link, config), seconds))
    limit = bottleneck(seen)
    advised = advices(seen, limit)
    could = estimate(seen) if capacity else None
    if output.for_programs:
        told = {"link": link, "seconds": round(seen.seconds, 1), "bottleneck": asdict(limit)}
        told["advice"] = [asdict(advice) for advice in advised]
        if could is not None:
            told["capacity"] = asdict(could)
        print_facts(told, output)
    else:
        typer.echo(painted(f"{link}: {limit.sentence}", bold=True))
        typer.echo("  " + ", ".join(limit.figures))
        for line in (*_advice_lines(advised), *(_capacity_lines(could) if could is not None else ())):
            typer.echo(line)
    if apply:
        _apply(config, link, advised, dry_run=dry_run, yes=yes)


def _sweep(
    link: str,
    config: Path,
    asked: str,
    bounds: tuple[int, float, int],
    plot: Path | None,
    *,
    dry_run: bool,
    yes: bool,
    output: Output,
) -> None:
    from twinlog.drill.sweep import SweepWish
    from twinlog.service import SparkPlace, scratch_folder
    from twinlog.service.actions import sweep_setting
    from twinlog.surface.cli.sweep_view import print_sweep, sweep_svg

    setting, _, values = asked.partition("=")
    chosen, tried = chosen_link(link, config), [value.strip() for value in values.split(",") if value.strip()]
    if not tried or not setting.strip():
        raise UsageError(f"--sweep {asked}: allowed is SETTING=VALUE,VALUE…, e.g. tasks.max=1,2,4,8")
    total, seconds, partitions = bounds
    links = tuple((value, _with(config, link, setting.strip(), value)) for value in tried)
    said = (
        f"{size(total)} to a topic of its own on {chosen.source}, copied {len(tried) + 1} times to {chosen.target}, at "
        f"most {duration(seconds)} each; all of it is deleted at the end"
    )
    if dry_run:
        would(f"{link}: would write {said}")
        return
    if not yes and not typer.confirm(f"{link}: write {said}?", err=True):
        raise typer.Abort
    if plot is not None and not plot.absolute().parent.is_dir():
        raise UsageError(f"{plot.parent}: no such folder for the picture")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ended like Ctrl-C: what was made is deleted
    wish, scratch = SweepWish(setting.strip(), links, total, seconds, partitions), scratch_folder()
    try:
        swept = sweep_setting(chosen, wish, SparkPlace(), scratch, lambda line: typer.echo(line, err=True))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    if plot is not None:
        plot.write_text(sweep_svg(swept), encoding="utf-8")
    if output.for_programs:
        print_facts(swept.as_json(), output)
    else:
        print_sweep(swept, output)


def _with(config: Path, link: str, setting: str, value: str) -> LinkSettings:
    """The link with one setting changed. Raises SettingsInvalid for a value that is none."""
    from twinlog.config.resolve import read_file, resolve
    from twinlog.config.text.catalogue import SUPPORTED

    if setting not in {key.name for key in SUPPORTED}:
        raise UsageError(f"--sweep: {setting} is no setting of a link; `twinlog validate --all` lists them")
    text = read_file(config) + f"\n{link}.{setting} = {value}\n".encode("latin-1")
    return next(settings for settings in resolve(text, str(config), (), os.environ).links if settings.name == link)


def _advice_lines(advised: tuple[Advice, ...]) -> Iterator[str]:
    if not advised:
        yield "Nothing to change was found."
    for advice in advised:
        yield painted(f"{advice.setting}: {advice.present} -> {advice.better}", "cyan")
        yield f"  why: {advice.why}"
        yield f"  seen: {advice.evidence}"
        yield f"  effect: {advice.effect}"
        if advice.command:
            yield f"  try: {advice.command}"


def _capacity_lines(could: Capacity) -> Iterator[str]:
    from twinlog.doctor.advice.capacity import ENOUGH_PARTITIONS

    yield painted("Capacity of this machine, estimated", bold=True)
    if could.why:
        yield f"  {could.why}"
    most = "unknown" if could.bytes_per_second is None else f"{could.bytes_per_second / 1e6:,.1f} MB/s"
    yield f"  at most {number(could.records_per_second)} records/s, {most} (78 % of the processor)"
    for hours, took in could.catch_up_s.items():
        never = took is None and could.records_per_second is not None
        yield f"  time to catch up after an outage of {hours} h: {'never caught up' if never else duration(took)}"
    yield f"  cores to add, to make up for a day within a day: {number(could.cores_to_add)}"
    memory = could.memory_per_1000_partitions
    told = f"unknown: the link has fewer than {ENOUGH_PARTITIONS}" if memory is None else size(memory)
    yield f"  memory per 1000 partitions, as of now: {told}"


def _apply(config: Path, link: str, advised: tuple[Advice, ...], *, dry_run: bool, yes: bool) -> None:
    from twinlog.config.resolve import resolve
    from twinlog.doctor.advice.file_changes import changed

    before = config.read_text(encoding="latin-1")
    after = changed(before, link, advised)
    if after == before:
        typer.echo(f"{config}: there is no advice for the file; it stays as it is.", err=True)
        return
    resolve(after.encode("latin-1"), str(config), (), os.environ)  # what would not be valid is not written
    for line in difflib.unified_diff(
        before.splitlines(), after.splitlines(), str(config), str(config), lineterm="", n=1
    ):
        typer.echo(line, err=True)
    if dry_run:
        would(f"change {config} as shown")
        return
    if not yes and not typer.confirm(f"Change {config}?", err=True):
        raise typer.Abort
    config.write_text(after, encoding="latin-1")
    typer.echo(f"{config}: changed; a running service follows within seconds.", err=True)
