"""What `twinlog reset-offsets` was asked for, in the options of kafka-consumer-groups, and the plan that it shows."""

from __future__ import annotations

from pathlib import Path

import typer
from rich.table import Table

from twinlog.errors import UsageError
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.groups.offset_reset import (
    Destination,
    Reset,
    ToListed,
    ToTime,
    parse_duration,
    parse_topic,
    read_csv,
    write_csv,
)
from twinlog.model.names import TopicPartition
from twinlog.model.start import AtTime, parse_start
from twinlog.surface.cli.output import Output, print_facts, screen


def destinations(
    given: dict[str, Destination | None], listed: dict[str, ToListed] | None, groups: list[str] | None
) -> dict[str, Destination]:
    """Where each group goes: said once, by an option or by a file. Raises UsageError."""
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


def listed_in(path: Path | None, groups: list[str] | None) -> dict[str, ToListed] | None:
    """The positions that a CSV file lists. Raises UsageError."""
    if path is None:
        return None
    try:
        rows = read_csv(path.read_text(encoding="utf-8"), groups[0] if groups and len(groups) == 1 else None)
    except OSError as error:
        raise UsageError(f"{path}: it cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from error
    by_group: dict[str, dict[TopicPartition, int]] = {}
    for row in rows:
        if not groups or row.group in groups:
            by_group.setdefault(row.group, {})[row.partition] = row.offset
    if not by_group:
        raise UsageError(f"{path}: it lists no position of {', '.join(groups or ()) or 'any group'}")
    return {name: ToListed(offsets) for name, offsets in by_group.items()}


def at_time(text: str) -> ToTime:
    """A time of --to-datetime. Raises UsageError."""
    try:
        start = parse_start(text)
    except ValueError:
        start = None
    if not isinstance(start, AtTime):
        raise UsageError(f"--to-datetime: {text!r} is not a time such as 2026-11-15T04:03:00.000")
    return ToTime(start.ms)


def so_long_ago(text: str) -> ToTime:
    """A time of --by-duration. Raises UsageError."""
    try:
        return ToTime(SYSTEM_CLOCK.now_ms() - parse_duration(text))
    except ValueError as error:
        raise UsageError(f"--by-duration: {error}") from error


def topics_of(texts: list[str]) -> dict[str, tuple[int, ...] | None]:
    """Topics of --topic, with their partitions. Raises UsageError."""
    try:
        return dict(parse_topic(text) for text in texts)
    except ValueError as error:
        raise UsageError(f"--topic: {error}") from error


def show_plan(plan: list[Reset], form: str, *, several: bool, done: bool) -> None:
    """Tell the plan in the form that was asked for."""
    if form == "csv":
        typer.echo(write_csv(plan, with_group=several), nl=False)
        for reset in plan:
            if reset.note:
                typer.echo(f"{reset.group} {reset.partition}: {reset.note}", err=True)
        return
    output = Output(form)
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
