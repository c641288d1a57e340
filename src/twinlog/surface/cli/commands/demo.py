"""`twinlog demo`: the main job on servers of this machine, and the proof. Two stories: a mirror, and pipelines."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from twinlog.errors import UsageError
from twinlog.surface.cli.effects import DryRun, would


class StoryName(StrEnum):
    """Which story is told."""

    MIRROR = "mirror"
    PIPELINES = "pipelines"


def demo(
    story: Annotated[
        StoryName, typer.Argument(help="mirror: two clusters and a killed engine; pipelines: MySQL to Elasticsearch.")
    ] = StoryName.MIRROR,
    *,
    rate: Annotated[int, typer.Option(min=1, max=50_000, help="Records a second.")] = 2_000,
    seconds: Annotated[int, typer.Option(min=2, max=3_600, help="How long it mirrors before the kill.")] = 15,
    keep: Annotated[bool, typer.Option("--keep", help="Leave clusters and engine running at the end.")] = False,
    dry_run: DryRun = False,
) -> None:
    """Mirror between two local clusters, kill the engine in the middle, prove that every record arrived once.

    `twinlog demo pipelines` copies a table to Elasticsearch instead: a column is added, a bad record is parked,
    repaired and replayed. --rate and --seconds are for the mirror. Exit code 0 only if the proof holds.
    """
    if story is StoryName.PIPELINES:
        _pipelines(keep, dry_run)
        return
    if dry_run:
        end = "left running" if keep else "stopped and deleted"
        would(
            "east, west: two clusters of one broker each would be started in a new folder of the temporary files",
            f"east->west: an engine would mirror {rate:,} records/s for {seconds} s, be killed and started again",
            f"all records would be compared on both sides; then everything would be {end}",
        )
        return
    from twinlog.local.demo.story import Wishes
    from twinlog.surface.cli.demo_stage import play

    play(Wishes(rate, seconds, keep))


def _pipelines(keep: bool, dry_run: bool) -> None:
    if keep:
        raise UsageError("--keep is for the mirror; the servers of this story are stopped at the end")
    if dry_run:
        would(
            "Kafka, MariaDB and Elasticsearch would be started in a new folder of the temporary files",
            "a table would be copied to an index, changed, and a bad record repaired",
            "then everything would be stopped and deleted",
        )
        return
    from twinlog.surface.cli.pipelines_stage import play_pipelines

    play_pipelines()
