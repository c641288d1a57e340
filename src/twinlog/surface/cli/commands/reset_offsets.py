"""`twinlog reset-offsets`: give consumer groups other positions, in the words of kafka-consumer-groups."""

from __future__ import annotations

import asyncio
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from twinlog.errors import UsageError
from twinlog.surface.cli.completion import complete_groups, complete_topics
from twinlog.surface.cli.options import ClusterOption, ConfigFile

if TYPE_CHECKING:
    from twinlog.model.groups.offset_reset import Destination


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
    from twinlog.model.groups.offset_reset import ShiftBy, ToCurrent, ToEarliest, ToLatest, ToOffset
    from twinlog.surface.cli.offset_wishes import (
        at_time,
        destinations,
        listed_in,
        show_plan,
        so_long_ago,
        topics_of,
    )

    listed = listed_in(from_file, group)
    given: dict[str, Destination | None] = {
        "--to-datetime": None if to_datetime is None else at_time(to_datetime),
        "--by-duration": None if by_duration is None else so_long_ago(by_duration),
        "--to-offset": None if to_offset is None else ToOffset(to_offset),
        "--shift-by": None if shift_by is None else ShiftBy(shift_by),
        "--to-earliest": ToEarliest() if to_earliest else None,
        "--to-latest": ToLatest() if to_latest else None,
        "--to-current": ToCurrent() if to_current else None,
    }
    groups = destinations(given, listed, group)
    if listed is None and bool(topic) == all_topics:
        raise UsageError("reset-offsets: name the topics with --topic, or take --all-topics (not both)")
    if listed is not None and (topic or all_topics):
        raise UsageError("--from-file lists its topics itself; leave --topic and --all-topics out")
    topics = topics_of(topic) if topic else None
    from twinlog.config.resolve import load_file
    from twinlog.service import offset_resets

    resets = offset_resets(load_file(config).links, cluster)
    plan = asyncio.run(resets.plan(groups, topics))
    if execute and not export:
        asyncio.run(resets.apply(plan))
    show_plan(plan, (Form.CSV if export else output).value, several=len(groups) > 1, done=execute and not export)
    if not any(reset.after is not None for reset in plan):
        raise typer.Exit(1)
