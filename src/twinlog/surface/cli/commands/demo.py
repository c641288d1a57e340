"""`twinlog demo`: the main job on two clusters of this machine, an engine killed in the middle, and the proof."""

from __future__ import annotations

from typing import Annotated

import typer

from twinlog.surface.cli.effects import DryRun, would


def demo(
    rate: Annotated[int, typer.Option(min=1, max=50_000, help="Records a second.")] = 2_000,
    seconds: Annotated[int, typer.Option(min=2, max=3_600, help="How long it mirrors before the kill.")] = 15,
    keep: Annotated[bool, typer.Option("--keep", help="Leave clusters and engine running at the end.")] = False,
    dry_run: DryRun = False,
) -> None:
    """Mirror between two local clusters, kill the engine in the middle, prove that every record arrived once.

    Exit code 0 only if the proof holds.
    """
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
