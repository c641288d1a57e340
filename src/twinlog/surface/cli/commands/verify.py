"""`twinlog verify`: prove that both logs of a link are equal, or show where they are not."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from twinlog.errors import UsageError
from twinlog.machine.folders import open_private
from twinlog.model.start import AtTime, parse_start
from twinlog.model.wanted import Wanted
from twinlog.surface.cli.chosen_link import chosen_link
from twinlog.surface.cli.options import ConfigFile, LinkArgument, Master, SparkConf, spark_options
from twinlog.surface.cli.output import Form, Output, print_facts, screen

if TYPE_CHECKING:
    from twinlog.model.verify.report import VerifyReport
    from twinlog.verify.plan import Bound

_SHOWN = 20


def verify(
    link: LinkArgument,
    *,
    config: ConfigFile,
    topics: Annotated[str | None, typer.Option(help="Only source topics that match this regex as a whole.")] = None,
    first: Annotated[
        str | None, typer.Option("--from", help="From a source offset, or a time such as 2026-01-31T08:00Z.")
    ] = None,
    after: Annotated[str | None, typer.Option("--to", help="To before a source offset or a time.")] = None,
    sample: Annotated[str | None, typer.Option(help="Only a part, spread over all partitions: `1%`.")] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write the report here: JSON, or Markdown if it ends .md.")
    ] = None,
    master: Master = None,
    spark_conf: SparkConf = None,
    output: Form = Output.TABLE,
) -> None:
    """Read both clusters, compare every copied record with its original, and say what differs.

    Key, value, headers, timestamp, order and place are compared by the link's ledger; records that should not be on
    the target are found too. The link may run meanwhile: what is copied when the command starts is compared. Exit
    code 1 when anything differs or could not be compared.
    """
    from twinlog.service import SparkPlace, scratch_folder, verify_link
    from twinlog.surface.cli.progress import bars
    from twinlog.verify.plan import VerifyWish

    settings = chosen_link(link, config)
    wish = VerifyWish(Wanted("--topics", topics), _bound("--from", first), _bound("--to", after), _share(sample))
    if report is not None and not report.absolute().parent.is_dir():
        raise UsageError(f"{report.parent}: no such folder for the report")
    options = spark_options(spark_conf)
    scratch = scratch_folder()
    try:
        with bars() as bar:
            task = bar.add_task("starting", total=None, detail="")

            def show(what: str, done: int, total: int) -> None:
                detail = f"{done:,}/{total:,}" if total else ""
                bar.update(task, description=what, completed=done, total=total or None, detail=detail)

            verified = verify_link(settings, wish, SparkPlace(master, options), scratch, show)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    if report is not None:
        text = verified.as_markdown() if report.suffix == ".md" else json.dumps(verified.as_json(), indent=2) + "\n"
        with open_private(report, "w") as out:
            out.write(text)
    if output.for_programs:
        print_facts(verified.as_json(), output)
    else:
        _print(verified, output)
    if not verified.equal:
        raise typer.Exit(1)


def _bound(option: str, text: str | None) -> Bound | None:
    """An offset, or a time; whole numbers of up to twelve digits are offsets, longer ones milliseconds."""
    if text is None:
        return None
    from twinlog.verify.plan import AtOffset

    if text.isascii() and text.isdigit() and len(text) <= 12:
        return AtOffset(int(text))
    try:
        start = parse_start(text)
    except ValueError as error:
        raise UsageError(f"{option}: {text!r} is neither an offset nor a time such as 2026-01-31T08:00:00Z") from error
    if not isinstance(start, AtTime):
        raise UsageError(f"{option}: {text!r} is neither an offset nor a time; leave the option out for everything")
    return start


def _share(text: str | None) -> float | None:
    if text is None:
        return None
    number, percent = text.strip().removesuffix("%"), text.strip().endswith("%")
    try:
        share = float(number) / (100 if percent else 1)
    except ValueError:
        share = 0.0
    if not 0 < share <= 1:
        raise UsageError(f"--sample: {text!r} is not a share such as 1% or 0.01")
    return share


def _print(verify_report: VerifyReport, output: Output) -> None:
    console = screen(output)
    console.soft_wrap = True
    shown = None if output is Output.WIDE else _SHOWN
    for partition, difference in verify_report.differences[:shown]:
        console.print(f"{partition}: {difference}", style="red", markup=False)
    more = len(verify_report.differences[:shown])
    if more < len(verify_report.differences):
        console.print(f"… and {len(verify_report.differences) - more} more; `--report FILE` lists them", style="red")
    for trouble in verify_report.troubles[:shown]:
        console.print(f"could not be compared: {trouble}", style="red", markup=False)
    for excluded in verify_report.excluded[:shown]:
        size = "" if excluded.offsets is None else f"{excluded.offsets:,} offsets: "
        console.print(f"not comparable: {excluded.thing}: {size}{excluded.reason}", style="yellow", markup=False)
    left = len(verify_report.excluded) - len(verify_report.excluded[:shown])
    if left:
        console.print(f"… and {left} more; `--report FILE` lists them", style="yellow")
    for count, meaning in verify_report.aside():
        console.print(f"set aside: {count:,} records: {meaning}", style="yellow", markup=False)
    read = (verify_report.count("source_bytes") + verify_report.count("target_bytes")) / 1e6
    console.print(
        f"{verify_report.partitions} partitions of {verify_report.topics} topics, {read:,.1f} MB read of both sides in "
        f"{verify_report.took_s:.1f} s; {verify_report.count('unopened'):,} records were compared as whole batches"
    )
    console.print(verify_report.verdict(), style="bold green" if verify_report.equal else "bold red", markup=False)
