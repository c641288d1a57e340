"""`twinlog reset-offsets`: give consumer groups other positions, in the words of kafka-consumer-groups."""

from __future__ import annotations

import asyncio
import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from twinlog.errors import UsageError
from twinlog.model.names import TopicPartition
from twinlog.model.offset_reset import (
    Destination,
    Reset,
    ShiftBy,
    ToCurrent,
    ToEarliest,
    ToLatest,
    ToListed,
    ToOffset,
    ToTime,
    parse_duration,
    parse_topic,
    read_csv,
    write_csv,
)
from twinlog.model.start import AtTime, parse_start
from twinlog.surface.cli.completion import complete_groups, complete_topics
from twinlog.surface.cli.options import ClusterOption, ConfigFile
from twinlog.surface.cli.output import Output, print_facts, screen


class Form(StrEnum):
    """How the plan is shown: as every answer, or as CSV."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    CSV = "csv"


def reset_offsets(
    *,
    cluster: ClusterOption,
    config: ConfigFile,
    group: Annotated[
        list[str] | None,
        typer.Option(help="The group; may be given several times.", autocompletion=complete_groups),
    ] = None,
    topic: Annotated[
        list[str] | None,
        typer.Option(
            help="`orders`, or `orders:0,2` for some partitions; may be repeated.", autocompletion=complete_topics
        ),
    ] = None,
    all_topics: Annotated[bool, typer.Option("--all-topics", help="Every topic the group has positions in.")] = False,
    to_datetime: Annotated[
        str | None, typer.Option(help="First record of that time, e.g. 2026-11-15T04:03; without a zone it is UTC.")
    ] = None,
    by_duration: Annotated[str | None, typer.Option(help="So long ago: PnDTnHnMnS, e.g. PT15M.")] = None,
    to_offset: Annotated[int | None, typer.Option(min=0, help="This offset in each partition.")] = None,
    shift_by: Annotated[int | None, typer.Option(help="So many offsets forward, or backward if negative.")] = None,
    to_earliest: Annotated[bool, typer.Option("--to-earliest", help="The first record there is.")] = False,
    to_latest: Annotated[bool, typer.Option("--to-latest", help="Behind the last record.")] = False,
    to_current: Annotated[bool, typer.Option("--to-current", help="Where the group is; to export it.")] = False,
    from_file: Annotated[
        Path | None, typer.Option(help="CSV: topic,partition,offset, or group,topic,partition,offset.")
    ] = None,
    execute: Annotated[bool, typer.Option("--execute/--dry-run", help="Write the plan, or only show it.")] = False,
    export: Annotated[bool, typer.Option("--export", help="Show the plan as CSV, for --from-file.")] = False,
    output: Annotated[Form, typer.Option("--output", "-o", help="table, wide, json, yaml or csv")] = Form.TABLE,
) -> None:
    """Plan new positions of consumer groups on one cluster, and with --execute write them.

    Without --execute nothing is changed. Only groups without active members are touched. A position outside of the
    log is moved to its nearest end, and the plan says so. To put a group back after a failover exercise:
    `--to-current --export` before it, `--from-file` after it.
    """
    listed = _listed(from_file, group)
    given: dict[str, Destination | None] = {
        "--to-datetime": None if to_datetime is None else _time(to_datetime),
        "--by-duration": None if by_duration is None else _ago(by_duration),
        "--to-offset": None if to_offset is None else ToOffset(to_offset),
        "--shift-by": None if shift_by is None else ShiftBy(shift_by),
        "--to-earliest": ToEarliest() if to_earliest else None,
        "--to-latest": ToLatest() if to_latest else None,
        "--to-current": ToCurrent() if to_current else None,
    }
    groups = _destinations(given, listed, group)
    if listed is None and bool(topic) == all_topics:
        raise UsageError("reset-offsets: name the topics with --topic, or take --all-topics (not both)")
    if listed is not None and (topic or all_topics):
        raise UsageError("--from-file lists its topics itself; leave --topic and --all-topics out")
    topics = _topics(topic) if topic else None
    from twinlog.config.resolve import load_file
    from twinlog.service import offset_resets

    resets = offset_resets(load_file(config).links, cluster)
    plan = asyncio.run(resets.plan(groups, topics))
    if execute and not export:
        asyncio.run(resets.apply(plan))
    _show(plan, Form.CSV if export else output, several=len(groups) > 1, done=execute and not export)
    if not any(reset.after is not None for reset in plan):
        raise typer.Exit(1)


def _destinations(
    given: dict[str, Destination | None], listed: dict[str, ToListed] | None, groups: list[str] | None
) -> dict[str, Destination]:
    chosen = [name for name, to in given.items() if to is not None] + (["--from-file"] if listed is not None else [])
    if len(chosen) != 1:
        said = f"not {' and '.join(chosen)}" if chosen else f"one of {', '.join([*given, '--from-file'])}"
        raise UsageError(f"reset-offsets: say once where to: {said}")
    if listed is not None:
        return dict(listed)
    if not groups:
        raise UsageError("reset-offsets: name the group with --group")
    (to,) = (to for to in given.values() if to is not None)
    return dict.fromkeys(groups, to)


def _listed(path: Path | None, groups: list[str] | None) -> dict[str, ToListed] | None:
    if path is None:
        return None
    try:
        rows = read_csv(path.read_text(encoding="utf-8"), groups[0] if groups and len(groups) == 1 else None)
    except OSError as error:
        raise UsageError(f"{path}: it cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from error
    found: dict[str, dict[TopicPartition, int]] = {}
    for row in rows:
        if not groups or row.group in groups:
            found.setdefault(row.group, {})[row.partition] = row.offset
    if not found:
        raise UsageError(f"{path}: it lists no position of {', '.join(groups or ()) or 'any group'}")
    return {name: ToListed(offsets) for name, offsets in found.items()}


def _time(text: str) -> ToTime:
    try:
        start = parse_start(text)
    except ValueError:
        start = None
    if not isinstance(start, AtTime):
        raise UsageError(f"--to-datetime: {text!r} is not a time such as 2026-11-15T04:03:00.000")
    return ToTime(start.ms)


def _ago(text: str) -> ToTime:
    try:
        return ToTime(int(time.time() * 1000) - parse_duration(text))
    except ValueError as error:
        raise UsageError(f"--by-duration: {error}") from error


def _topics(texts: list[str]) -> dict[str, tuple[int, ...] | None]:
    try:
        return dict(parse_topic(text) for text in texts)
    except ValueError as error:
        raise UsageError(f"--topic: {error}") from error


def _show(plan: list[Reset], form: Form, *, several: bool, done: bool) -> None:
    if form is Form.CSV:
        typer.echo(write_csv(plan, with_group=several), nl=False)
        for reset in plan:
            if reset.note:
                typer.echo(f"{reset.group} {reset.partition}: {reset.note}", err=True)
        return
    output = Output(form.value)
    if output.for_programs:
        rows = [
            {
                "group": reset.group,
                "topic": reset.partition.topic,
                "partition": reset.partition.partition,
                "offset": reset.before,
                "new_offset": reset.after,
                "note": reset.note or None,
            }
            for reset in plan
        ]
        print_facts({"executed": done, "resets": rows}, output)
    else:
        table = Table()
        for title in ("group", "topic", "partition", "offset", "new offset", "note"):
            table.add_column(title, justify="right" if "offset" in title or title == "partition" else "left")
        for reset in plan:
            before, after = ("-" if n is None else str(n) for n in (reset.before, reset.after))
            topic, partition = reset.partition
            table.add_row(reset.group, topic, str(partition), before, after, reset.note)
        screen(output).print(table)
        typer.echo("Written." if done else "Nothing was changed; --execute writes this plan.", err=True)
